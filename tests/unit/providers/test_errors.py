"""Refusals of providers are read for what they mean."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.providers.errors import ErrorKind, ProviderError, classify
from tests.data import data_dir, read_jsonl

OVERFLOWS = [
    (
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9,301 tokens (9,101 in the messages, 200 in the functions). Please reduce the "
            "length of the messages or functions."
        ),
        8192,
        9301,
    ),
    (
        (
            "This model's maximum context length is 65,536 tokens. However, you requested 80,000 "
            "tokens (72000 in the messages, 8000 in the completion). Please reduce the length of "
            "the messages."
        ),
        65536,
        80000,
    ),
    (
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in"
            " 300123 tokens."
        ),
        272000,
        300123,
    ),
    ("prompt is too long: 1,213,462 tokens > 1,000,000 maximum", 1000000, 1213462),
    (
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, "
            "decrease input length or `max_tokens` and try again"
        ),
        200000,
        188240,
    ),
    (
        (
            "Unable to submit request because the input token count is 40000 but model only "
            "supports up to 32768. Reduce the input token count and try again."
        ),
        32768,
        40000,
    ),
    ("Input is too long for requested model.", None, None),
    (
        (
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update "
            "the input to try again."
        ),
        None,
        None,
    ),
    (
        ("The model returned the following errors: prompt is too long: 214000 tokens > 200000 maximum"),
        200000,
        214000,
    ),
    (
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096. "
            "Make sure that `max_model_len` is no smaller than the number of text tokens."
        ),
        4096,
        5000,
    ),
    (
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum "
            "context length is 4096 tokens and your request has 1000 input tokens (5000 > 4096 - "
            "1000)."
        ),
        4096,
        1000,
    ),
    ("Input prompt (5000 tokens) is too long and exceeds limit of 4096", 4096, 5000),
    (
        ("request (10234 tokens) exceeds the available context size (8192 tokens), try increasing it"),
        8192,
        10234,
    ),
    ("the input length exceeds the context length", None, None),
    ("prompt too long; exceeded max context length by 123 tokens", None, None),
    (
        (
            "Trying to keep the first 5000 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens, which is not enough."
        ),
        4096,
        5000,
    ),
    (
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length"
        ),
        32768,
        40000,
    ),
    (
        (
            "too many tokens: total number of tokens (prompt and prediction) cannot exceed 4081 -"
            " received 8000. Try using a shorter prompt or a smaller max_tokens value."
        ),
        4081,
        8000,
    ),
    (
        (
            "too many tokens: size limit exceeded by 1234 tokens. Try using shorter or fewer "
            "inputs. The limit for this model is 128000 tokens."
        ),
        128000,
        None,
    ),
    (
        (
            "Please reduce the length of the messages or completion. Current length is 9000 while"
            " limit is 8192"
        ),
        8192,
        9000,
    ),
    (
        (
            "This endpoint's maximum context length is 128000 tokens. However, you requested "
            "about 150023 tokens (149000 of text input, 1023 in the output). Please reduce the "
            "length of either one."
        ),
        128000,
        150023,
    ),
    (
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: "
            "5000 `inputs` tokens and 512 `max_new_tokens`"
        ),
        4097,
        5000,
    ),
    ("Input validation error: `inputs` must have less than 4096 tokens. Given: 5000", 4096, 5000),
    ("The prompt is too long: 140000, model maximum context length: 131071", 131071, 140000),
    ("prompt token count of 70123 exceeds the limit of 64000", 64000, 70123),
    ("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", 8192, 9000),
    ("Range of input length should be [1, 129024]", 129024, None),
    (
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        131072,
        537812,
    ),
    (
        ("the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model"),
        4096,
        5000,
    ),
    ("litellm.ContextWindowExceededError: OpenAIException", None, None),
]

OVERFLOWS += [
    ("Prompt exceeds max length", None, None),
    ("tokens in request more than max tokens allowed", None, None),
    (
        "The input (40112 tokens) is longer than the model's context length (32768 tokens).",
        32768,
        40112,
    ),
    (
        "Trying to keep the first tokens is greater than the context length (n_keep: 10978>= n_ctx: 4096)",
        4096,
        10978,
    ),
    ("Total tokens of image and text exceed max message tokens.", None, None),
    ("Input length 140000 exceeds the maximum length 131072", 131072, 140000),
    ("Prompt length (5000) exceeds maximum input length (4096)", 4096, 5000),
    ("max_tokens must be at least 1, got -2000.", None, None),
    ("Too many input tokens. Max input tokens: 8192, request input token count: 10000", 8192, 10000),
    (
        "The estimated number of tokens (5000) exceeded this model context window limit (4096).",
        4096,
        5000,
    ),
    ("Input too long. The maximum length is 4096 tokens", 4096, None),
    ("Input length 35000 exceeds the maximum allowed length of 32768 tokens.", 32768, 35000),
    ("max input tokens 98304 exceeded", 98304, None),
    ("the total length of input and output tokens 140000 > 131072", 131072, None),
    ("该模型最大上下文长度为 32768 个 token, 您的输入为 40000 个 token", 32768, None),
    ("输入长度超过模型最大长度限制 32768", 32768, None),
    (
        "You passed 40961 input tokens. However, the model's context length is only 40960",
        40960,
        40961,
    ),
    ("invalid params, context window exceeds limit (2013)", None, None),
    ("Please reduce the length of the messages. Current length is 10000 while limit is 8192", 8192, 10000),
    (
        "The number of tokens in the prompt exceeds the model's maximum context length of 32768.",
        32768,
        None,
    ),
]
IMAGES = [
    ("request contains 51 images, which exceeds the maximum of 50", 50),
    ("At most 8 image(s) may be provided in one request.", 8),
    ("Exceeded maximum number of images (50) allowed in the request.", 50),
    ("Too many images in request: 11 images provided, but the model supports a maximum of 10 images.", 10),
    ("The request contains too many images.", None),
    (
        "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
        None,
    ),
]
SIGNATURES = [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.3.content.0.thinking.signature: Field required",
    "messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified.",
    "Unable to submit request because Thought signature is not valid..",
    "Function call is missing a thought_signature in functionCall parts.",
    "Invalid thought signature.",
    "The encrypted content gAAA could not be verified. Reason: It could not be decrypted.",
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
    "Item with id 'rs_68' not found. Items are not persisted when `store` is set to false.",
    "Item with id 'msg_68' not found. Items are not persisted when `store` is set to false.",
    "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
    "messages.3.content.0.thinking.signature: Input should be a valid string",
    "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    "Could not decrypt the provided encrypted_content.",
    "Could not decode the compaction blob.",
    "Failed to decrypt reasoning content: invalid ciphertext",
    "Encrypted content is not supported with this model.",
    "Thinking signature verification failed",
    "messages[1].content[0].encrypted_index: invalid encrypted index",
    "Unable to verify reasoning_details signature",
    "Unable to verify thinking block signature",
    "[invalid_request_error] reasoning `encrypted_content` was not issued to this caller",
    "Encrypted content organization_id did not match the target organization.",
    "reasoning item rs_1 was made by a different account",
]
NO_SIGNATURES = [
    "Invalid signature for AWS request: The request signature we calculated does not match",
    "Function signature invalid: tool look is missing a description",
    "`thinking.budget_tokens`: Input should be greater than or equal to 1024",
    "Encrypted connection required",
    "Model gpt-5 belongs to another organization",
    "The block signature does not match: commit is not signed",
    "reasoning_effort is not supported with this model",
    "thinking is not supported by this model",
    "Unrecognized request argument supplied: reasoning",
    "The reasoning_content in the thinking mode must be passed back to the API.",
]
CHANCES = [
    ("E417: ctx 140,123/131,072", (131072, 140123)),
    ("the window of tokens is spent (140123/131072)", (131072, 140123)),
    ("it is over 131072: 140123", (131072, 140123)),
    ("at 12:3456 over the limit of port 131072:140123", None),
    ("sequence of 40000 does not fit in 32768", (32768, 40000)),
    ("payload of 150000 units is above 131072 units", (131072, 150000)),
    ("Invalid tool id 123456 in request 987654", None),
    ("seed: 123456 is greater than the maximum of 65535", None),
    ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", None),
    ("This request of 40112 tokens is larger than we serve: 32,768.", (32768, 40112)),
    ("input: 140000 > 131072", (131072, 140000)),
    ("max_tokens is too large: 6000. This model supports at most 4096 completion tokens", None),
    ("Invalid value for messages[1200] at 2026-11-29", None),
    ("The prompt is bad (request 12345)", None),
    ("the value 70000 is greater than 65536", None),
]
OTHERS: list[tuple[int | None, Any, ErrorKind]] = [
    (
        429,
        (
            "Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit "
            "30000, Used 28000, Requested 5000. Please try again in 6s."
        ),
        ErrorKind.RATE_LIMIT,
    ),
    (
        413,
        ("Request too large for model `llama-3.1-8b` on tokens per minute (TPM): Limit 6000, Requested 9000"),
        ErrorKind.RATE_LIMIT,
    ),
    (
        429,
        (
            "This request would exceed your organization's rate limit of 30,000 input tokens per "
            "minute. Please reduce the prompt length or the maximum tokens requested."
        ),
        ErrorKind.RATE_LIMIT,
    ),
    (429, "Too many tokens, please wait before trying again.", ErrorKind.RATE_LIMIT),
    (
        429,
        {"error": {"status": "RESOURCE_EXHAUSTED", "message": "Resource has been exhausted"}},
        ErrorKind.RATE_LIMIT,
    ),
    (429, "You exceeded your current quota, please check your plan and billing details.", ErrorKind.QUOTA),
    (
        402,
        (
            "This request requires more credits, or fewer max_tokens. You requested up to 64000 "
            "tokens, but can only afford 1234."
        ),
        ErrorKind.QUOTA,
    ),
    (400, "Your credit balance is too low to access the Anthropic API.", ErrorKind.QUOTA),
    (401, {"error": {"code": "invalid_api_key", "message": "Incorrect API key provided"}}, ErrorKind.AUTH),
    (400, "API key not valid. Please pass a valid API key.", ErrorKind.AUTH),
    (
        400,
        (
            "max_tokens is too large: 50000. This model supports at most 16384 completion tokens,"
            " whereas you provided 50000."
        ),
        ErrorKind.INVALID_REQUEST,
    ),
    (
        400,
        ("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku"),
        ErrorKind.INVALID_REQUEST,
    ),
    (400, "image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes", ErrorKind.INVALID_REQUEST),
    (
        400,
        "Invalid 'tools': array too long. Expected an array with maximum length 128",
        ErrorKind.INVALID_REQUEST,
    ),
    (400, {"error": {"code": "content_filter", "message": "filtered"}}, ErrorKind.CONTENT_FILTER),
    (
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        ErrorKind.OVERLOADED,
    ),
    (503, "The model is overloaded. Please try again later.", ErrorKind.OVERLOADED),
    (500, "Internal server error", ErrorKind.OVERLOADED),
    (504, "upstream request timeout", ErrorKind.TIMEOUT),
    (None, "Request timed out.", ErrorKind.TIMEOUT),
    (404, "The model `gpt-9` does not exist", ErrorKind.MODEL_NOT_FOUND),
    (None, "", ErrorKind.UNKNOWN),
]


@pytest.mark.parametrize(("message", "limit", "requested"), OVERFLOWS, ids=range(len(OVERFLOWS)))
def test_an_overflow_is_recognised_with_its_numbers(
    message: str, limit: int | None, requested: int | None
) -> None:
    error = classify(400, {"error": {"message": message, "type": "invalid_request_error"}})
    assert error == ProviderError(ErrorKind.CONTEXT_OVERFLOW, limit, requested)
    assert classify(None, message) == error


@pytest.mark.parametrize(("status", "error", "kind"), OTHERS, ids=range(len(OTHERS)))
def test_nothing_else_is_an_overflow(status: int | None, error: Any, kind: ErrorKind) -> None:
    assert classify(status, error).kind is kind


@pytest.mark.data
def test_every_documented_overflow_is_recognised_and_no_recorded_refusal_is_one() -> None:
    records = read_jsonl(data_dir("token_truth") / "provider_errors.jsonl")
    wrong = [
        record["error"]
        for record in records
        if (classify(record.get("status"), record["error"]).kind is ErrorKind.CONTEXT_OVERFLOW)
        != (record["kind"] == "documented_overflow_message")
    ]
    assert len(records) >= 20
    assert wrong == []


def test_numbers_beside_the_message_are_read() -> None:
    body = {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size",
            "n_prompt_tokens": 10234,
            "n_ctx": 8192,
        }
    }
    assert classify(400, body) == ProviderError(ErrorKind.CONTEXT_OVERFLOW, 8192, 10234)


@pytest.mark.parametrize("separator", ["", ",", ".", "_", " ", "\u00a0", "\u202f", "'"])
def test_a_limit_is_read_with_any_thousands_separator(separator: str) -> None:
    limit = f"1{separator}048{separator}576"
    error = classify(400, f"This model's maximum context length is {limit} tokens. However, it was more.")
    assert error.limit_tokens == 1048576


def test_a_number_of_many_digits_is_larger_than_any_window() -> None:
    read = classify(400, f"prompt is too long: {'9' * 4_000} tokens > 200000 maximum")
    assert read.limit_tokens == 200_000
    assert read.requested_tokens is not None
    assert read.requested_tokens > 10**20


def test_a_body_that_came_as_text_is_read_like_one_that_was_decoded() -> None:
    assert classify(None, '{"error": {"code": 429, "message": "slow down"}}').kind is ErrorKind.RATE_LIMIT


def test_what_the_model_wrote_is_not_what_the_provider_says() -> None:
    body = {"error": {"message": "Tool call validation failed", "failed_generation": "prompt is too long"}}
    assert classify(400, body).kind is ErrorKind.INVALID_REQUEST


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("Rate limit reached. Please try again in 250ms.", 0.25),
        ("Rate limit reached. Please try again in 1m30s.", 90.0),
        ("Rate limit is exceeded. Try again in 6 seconds.", 6.0),
        ({"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "34s"}]}}, 34.0),
        ({"error": {"message": "rate limit", "retry_after": 12}}, 12.0),
        ("rate limit", None),
    ],
)
def test_the_time_to_wait_is_read(error: Any, seconds: float | None) -> None:
    assert classify(429, error).retry_after_s == seconds


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=60),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["error", "message", "code", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(
    status=st.none() | st.integers(0, 999),
    error=st.text(max_size=400) | st.dictionaries(st.text(max_size=8), _JSON, max_size=4),
)
def test_any_refusal_is_read_without_raising(status: int | None, error: Any) -> None:
    read = classify(status, error)
    assert read.limit_tokens is None or read.limit_tokens > 0
    assert read.retry_after_s is None or read.retry_after_s >= 0


@pytest.mark.parametrize(("message", "most"), IMAGES)
def test_too_many_images_are_an_overflow_that_says_how_many_may_stay(message: str, most: int | None) -> None:
    error = classify(400, {"error": {"message": message}})
    assert error == ProviderError(ErrorKind.CONTEXT_OVERFLOW, limit_images=most)


@pytest.mark.parametrize("message", SIGNATURES)
def test_a_refused_signature_is_recognised(message: str) -> None:
    assert classify(400, {"error": {"message": message}}).kind is ErrorKind.SIGNATURE
    assert classify(None, message).kind is ErrorKind.SIGNATURE


@pytest.mark.parametrize("message", NO_SIGNATURES)
def test_a_refusal_of_another_signature_or_of_thinking_itself_is_none_of_sealed_content(message: str) -> None:
    assert classify(400, {"error": {"message": message}}).kind is ErrorKind.INVALID_REQUEST


@pytest.mark.parametrize(("message", "sizes"), CHANCES)
def test_an_unknown_refusal_that_names_two_sizes_gets_a_second_chance(
    message: str, sizes: tuple[int, int] | None
) -> None:
    error = classify(400, message)
    assert (error.kind, error.second_chance) == (ErrorKind.INVALID_REQUEST, sizes)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429])
def test_a_refusal_of_another_kind_gets_none(status: int) -> None:
    assert classify(status, "input of 140000 tokens is over the limit 131072").second_chance is None

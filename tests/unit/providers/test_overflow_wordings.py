"""Each provider's own wording of an overflow is read for its limit and the requested size."""

import pytest

from context.providers.errors import ErrorKind, classify

WORDINGS = [
    (
        (
            "Requested token count exceeds the model's maximum context length of 32768 "
            "tokens. You requested a total of 36000 tokens: 32000 tokens from the input "
            "messages and 4000 tokens for the completion. Please reduce the number of tokens "
            "in the input messages or the completion to fit within the limit."
        ),
        32768,
        32000,
    ),
    (
        (
            "You passed 9001 input tokens and requested 100 output tokens. However, the "
            "model's context length is only 8192 tokens, resulting in a maximum input length "
            "of 8092 tokens. Please reduce the length of the input prompt. "
            "(parameter=input_tokens, value=9001)"
        ),
        8192,
        9001,
    ),
    (
        (
            "Reached context length of 4096 tokens with model qwen2.5-7b, but this model does"
            " not currently support mid-generation context overflow because "
            "llama_memory_can_shift is 0. Try reloading with a larger context length or "
            "shortening the prompt/chat."
        ),
        4096,
        None,
    ),
    ("Prompt has 140000 tokens, but the model's context window is 131072 tokens", 131072, 140000),
    ("Exceeded max input tokens limit of 8192: 9000", 8192, 9000),
    ("Failed to process: n_ctx 8192 exceeded: n_tokens=9000", 8192, 9000),
    ("error: context window exceeded (9000/8192)", 8192, 9000),
    ("too many tokens: the prompt is 130000 tokens, model limit is 128000", 128000, 130000),
    ("The model returned the following errors: prompt: length: 225020, maximum 200000", 200000, 225020),
    ("Prompt contains 270000 tokens, which exceeds the limit of 262144", 262144, 270000),
    ("Input tokens length 135000 exceeds the maximum allowed 131072", 131072, 135000),
    ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000, None),
    ("The input token count exceeds the maximum number of tokens allowed 1048575.", 1048575, None),
    (
        (
            "Request payload size exceeds the limit: 20971520 bytes. Please use the File API "
            "to upload your files instead of sending inline."
        ),
        None,
        None,
    ),
    ("The total length of the input and max_tokens exceeds the model's maximum: 131072", 131072, None),
    ("Too many tokens overall: 33000 > 32768 for model mistral-small", 32768, 33000),
    ("Input length 40000 exceeds maximum allowed token size 32768", 32768, 40000),
    ("the total input length (300000) is above the maximum (262144)", 262144, 300000),
    ("User input tokens exceed the maximum number of tokens allowed: 150000 > 127072", 127072, 150000),
    ("Input tokens exceeded: 140000 tokens is more than 128000 limit for this endpoint", 128000, 140000),
    ("invalid request: messages token length 70000 is over max 64000", 64000, 70000),
    ("Too many tokens in prompt: 140000 > 131072", 131072, 140000),
    ("Input token length too long", None, None),
    ("Input length (70123 tokens) exceeds the maximum allowed length (65536 tokens).", 65536, 70123),
    (
        "The prompt (total length 40000) is too long to fit into the model (context length 32768).",
        32768,
        40000,
    ),
    ("The prompt exceeds the context window: 200001 tokens > 200000", 200000, 200001),
    ("Input is longer than the context window of the model", None, None),
    ("Conversation is too long for this model. Maximum tokens: 16384.", 16384, None),
    ("Total number of input tokens (14000) exceeds the model's limit of 8000", 8000, 14000),
    ("The conversation (9500 tokens) does not fit, the window has 8192", 8192, 9500),
    ("Your prompt is too long. Max: 100000 tokens", 100000, None),
    ("The message you submitted was too long, please submit something shorter.", None, None),
    ("Context length exceeded: model supports 32768 tokens, got 45000", 32768, 45000),
    ("Sum of prompt length (7000.0), query length (0) should not exceed max_num_tokens (6000)", 6000, 7000),
    ("Prompt length of 5000 is longer than the maximum of 4096", 4096, 5000),
    ("max_input_tokens exceeded: got 140000, limit 131072", 131072, 140000),
    ("The input prompt is too long (131073 tokens), the max supported is 131072", 131072, 131073),
    ("Token limit exceeded: input 50000, max 32768", 32768, 50000),
    ("Input is too long. Max length is 32000 tokens", 32000, None),
    ("inputs tokens exceed max context 32k", None, None),
    ("Number of tokens (45000) exceeds the limit for the model (40000)", 40000, 45000),
    ("cannot fit 9000 tokens in the 8192 token context", 8192, 9000),
    ("length of prompt_tokens (40000) must be less than max_seq_len (32768).", 32768, 40000),
    ("Requested tokens (40000) exceed context window of 32768", 32768, 40000),
    ("max tokens of 8192 exceeded", 8192, None),
    ("request exceeded max context length of the model 8192", 8192, None),
    ("用户输入 tokens 超过限制 32768", 32768, None),
    ("输入内容过长: 最大支持 8192 tokens", 8192, None),
    (
        (
            "5021: The estimated number of input and maximum output tokens (40000) exceeded this model "
            "context window limit (24000)."
        ),
        24000,
        40000,
    ),
]


@pytest.mark.parametrize(("message", "limit", "requested"), WORDINGS)
def test_an_overflow_names_its_limit_and_the_requested_size(
    message: str, limit: int | None, requested: int | None
) -> None:
    error = classify(400, {"error": {"message": message}})
    assert (error.kind, error.limit_tokens, error.requested_tokens) == (
        ErrorKind.CONTEXT_OVERFLOW,
        limit,
        requested,
    )


@pytest.mark.parametrize(
    "message",
    [
        "Number of request tokens has exceeded your daily limit of 100000. Requested 5000",
        "Too Many Requests: token quota 50000 per minute, used 60000",
        "max_completion_tokens must be less than or equal to 32768, got 64000",
        "`thinking.budget_tokens`: Input should be greater than or equal to 1024",
        "Invalid 'input': array too long. Expected an array with maximum length 2048, but got 3000.",
        "Invalid 'input[3].name': string too long. Expected a string with maximum length 64.",
        "output token limit exceeded: 9000 > 8192",
        "Invalid 'messages[3].content': string too long. Expected a maximum of 256000, but got 300000.",
        "The metadata has 90000 characters, at most 65536 are allowed.",
    ],
)
def test_a_limit_of_rates_output_or_fields_is_no_overflow(message: str) -> None:
    found = classify(None, message)
    assert found.kind is not ErrorKind.CONTEXT_OVERFLOW
    assert (found.limit_tokens, found.second_chance) == (None, None)


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("messages.0.content: too many images; max 20", 20),
        ("Too many images and documents: 101 + 0 > 100", 100),
        ("max images allowed is 4", 4),
        ("Too many images in request, max 8", 8),
        ("Too many images in request. Max is 500.", 500),
        ("The request has 12 images, but only 10 are allowed", 10),
        ("image count 25 exceeds limit 20", 20),
    ],
)
def test_a_refusal_of_images_names_how_many_are_taken(message: str, most: int) -> None:
    found = classify(400, {"error": {"message": message}})
    assert (found.kind, found.limit_images, found.limit_tokens) == (ErrorKind.CONTEXT_OVERFLOW, most, None)

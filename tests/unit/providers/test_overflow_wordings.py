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
    ("length of prompt_tokens (40000) must be less than max_seq_len (32768).", 32768, 40000),
    ("Requested tokens (40000) exceed context window of 32768", 32768, 40000),
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

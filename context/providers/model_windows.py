"""Advertised context windows of models, for installations without an imported price list."""

from functools import lru_cache

from context.providers.model_names import model_ids

_WINDOWS = """
    amazon/nova-lite              300000
    amazon/nova-micro             128000
    amazon/nova-premier          1000000
    amazon/nova-pro               300000
    amazon/nova-2                1000000
    anthropic/claude-             200000
    anthropic/claude-2            100000
    anthropic/claude-2.1          200000
    anthropic/claude-instant      100000
    anthropic/claude-fable-5     1000000
    anthropic/claude-haiku-5     1000000
    anthropic/claude-mythos      1000000
    anthropic/claude-opus-4-6    1000000
    anthropic/claude-opus-4-7    1000000
    anthropic/claude-opus-4-8    1000000
    anthropic/claude-opus-5      1000000
    anthropic/claude-sonnet-4-6  1000000
    anthropic/claude-sonnet-5    1000000
    deepseek/deepseek-chat        131072
    deepseek/deepseek-reasoner    131072
    deepseek/deepseek-v3.1        131072
    deepseek/deepseek-v3.2        131072
    deepseek/deepseek-v4         1000000
    google/gemini-2.0-flash      1048576
    google/gemini-2.5-flash      1048576
    google/gemini-2.5-pro        1048576
    google/gemini-3              1048576
    google/gemini-4              1048576
    google/gemma-2-                 8192
    google/gemma-3-               128000
    meta-llama/llama-3.1-         128000
    meta-llama/llama-3.2-         128000
    meta-llama/llama-3.3-         128000
    mistralai/mistral-7b           32000
    mistralai/mistral-large       128000
    mistralai/mistral-medium      128000
    mistralai/mistral-small        32000
    mistralai/mistral-nemo        128000
    mistralai/open-mistral-nemo   128000
    mistralai/codestral            32000
    mistralai/devstral            128000
    mistralai/mixtral-8x7b         32000
    mistralai/mixtral-8x22b        64000
    mistralai/pixtral             128000
    moonshotai/kimi-k2            131072
    moonshotai/kimi-k2-thinking   256000
    moonshotai/kimi-k2.           256000
    openai/chatgpt-4o             128000
    openai/gpt-3.5-turbo           16385
    openai/gpt-3.5-turbo-0613       4096
    openai/gpt-3.5-turbo-instruct   4096
    openai/gpt-4                    8192
    openai/gpt-4-32k               32768
    openai/gpt-4-0125             128000
    openai/gpt-4-1106             128000
    openai/gpt-4-turbo            128000
    openai/gpt-4.1               1047576
    openai/gpt-4.5                128000
    openai/gpt-4o                 128000
    openai/gpt-5                  272000
    openai/gpt-5-chat             128000
    openai/gpt-5.1-chat           128000
    openai/gpt-5.2-chat           128000
    openai/gpt-5.3-chat           128000
    openai/gpt-5.4                922000
    openai/gpt-5.4-mini           272000
    openai/gpt-5.4-nano           272000
    openai/gpt-5.5                922000
    openai/gpt-oss-               128000
    openai/o1                     200000
    openai/o1-mini                128000
    openai/o1-preview             128000
    openai/o3                     200000
    openai/o4-mini                200000
    qwen/qwen-max                  30720
    qwen/qwen-plus                129024
    qwen/qwen-3-                   32768
    qwen/qwen-3-coder             131072
    qwen/qwen-3-max               258048
    qwen/qwen-3.5-                262144
    x-ai/grok-3                   131072
    x-ai/grok-4                   256000
    x-ai/grok-code                256000
    z-ai/glm-4.5                  128000
    z-ai/glm-4.6                  200000
    z-ai/glm-4.7                  200000
    z-ai/glm-5                    200000
"""
"""Id prefix and tokens. If hosts differ, a number accepted by the usual hosts; an imported list is better."""

_BY_PREFIX = {
    prefix: int(tokens) for prefix, tokens in (line.split() for line in _WINDOWS.strip().splitlines())
}


@lru_cache(maxsize=4_096)
def known_window(model: str) -> int | None:
    """Find the window advertised by a model's maker.

    Args:
        model: The model's name at any host.

    Returns:
        Tokens; None if unknown, and for free models: their hosts cut windows freely.
    """
    ids = model_ids(model)
    if any(name.endswith(":free") for name in ids):
        return None
    found = [prefix for prefix in _BY_PREFIX if any(name.startswith(prefix) for name in ids)]
    return _BY_PREFIX[max(found, key=len)] if found else None

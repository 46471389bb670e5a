"""OpenAI's published counting rule for chat: exact for plain messages, by model and encoding."""

from collections.abc import Sequence

from context.tokens.count import REPLY_OVERHEAD
from context.tokens.ranks import EncodingName
from context.tokens.text import count_text
from context.tokens.tools import TOOLS_OVERHEAD, render_tools
from context.types import JsonObject

SYSTEM_SHARE = 3
"""Tokens shared between tool declarations and a system message: the wrapping is not billed twice."""

_OLDEST = "gpt-3.5-turbo-0301"


def encoding_of(model: str) -> EncodingName:
    """Name the encoding of an OpenAI model.

    Args:
        model: The model's name, with or without a host before it.

    Returns:
        cl100k_base for GPT-3.5 and the first GPT-4 models, o200k_base for all later models.
    """
    name = model.lower().rpartition("/")[2]
    old = name == "gpt-4" or name.startswith(("gpt-3", "gpt-4-", "gpt-4_"))
    return EncodingName.CL100K if old else EncodingName.O200K


def count_openai_chat(messages: Sequence[JsonObject], model: str, tools: Sequence[JsonObject] = ()) -> int:
    """Count a plain chat request exactly as billed by OpenAI.

    Args:
        messages: Messages with text values only: role, content, name.
        model: The model's name.
        tools: Tool definitions; with tools the count is close, not exact.

    Returns:
        Prompt tokens.
    """
    encoding = encoding_of(model)
    around, named = (4, -1) if model == _OLDEST else (3, 1)
    total = REPLY_OVERHEAD
    for message in messages:
        total += around + (named if message.get("name") else 0)
        total += sum(count_text(value, encoding) for value in message.values() if isinstance(value, str))
    if not tools:
        return total
    shared = SYSTEM_SHARE if any(message.get("role") == "system" for message in messages) else 0
    return total + count_text(render_tools(list(tools)), encoding) + TOOLS_OVERHEAD - shared

"""The canonical count of a message and of tool definitions: what is stored at intake and added up ever after."""

from context.tokens.pieces import json_text, pieces_of
from context.tokens.rates import canonical_media_tokens
from context.tokens.text import count_text
from context.types import JsonObject, Wire

MESSAGE_OVERHEAD = 3
"""Tokens around every message: its role and its ends."""

REPLY_OVERHEAD = 3
"""Tokens that open the reply, once a request."""

CALL_OVERHEAD = 8
"""Tokens around a tool call or a tool result; ids are cheap or free everywhere."""

TOOL_OVERHEAD = 8
"""Tokens around one tool definition."""

TOOLS_OVERHEAD = 12
"""Tokens around a list of tools that is not empty."""


def count_message(body: JsonObject, wire: Wire = Wire.OPENAI) -> int:
    """Count a message in the canonical count: o200k_base tokens of its texts, its media by rule, its wrapping.

    A data URL counts as an image, recording or document only where a part says so; pasted into a text, it is
    text, as providers bill it. Addresses are never opened. Shapes that are not known count as their JSON text.

    Args:
        body: The decoded message.
        wire: The format in which it is written.

    Returns:
        Tokens, >= 3. The reply's `REPLY_OVERHEAD` is not in it: add it once a request.
    """
    del wire
    pieces = pieces_of(body)
    total = MESSAGE_OVERHEAD + pieces.named + pieces.opaque_tokens
    total += CALL_OVERHEAD * (pieces.calls + pieces.results)
    total += sum(map(count_text, pieces.texts))
    return total + sum(map(canonical_media_tokens, pieces.media))


def count_tools(tools: list[JsonObject]) -> int:
    """Count tool definitions in the canonical count.

    Args:
        tools: Tool definitions in any wire format.

    Returns:
        Tokens, 0 for no tools.
    """
    if not tools:
        return 0
    return TOOLS_OVERHEAD + sum(TOOL_OVERHEAD + count_text(json_text(tool)) for tool in tools)

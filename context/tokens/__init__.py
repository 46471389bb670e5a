"""Token counts: stored once in two encodings, converted to each model's own tokens at every request."""

from context.tokens.calibration import (
    PLAIN,
    UNCALIBRATED,
    Calibration,
    Request,
    estimate,
    guarantee,
    observe,
    reported_input_tokens,
)
from context.tokens.families import ModelFamily, family_of
from context.tokens.message import (
    EMPTY,
    MESSAGE_OVERHEAD,
    REPLY_OVERHEAD,
    Count,
    count_message,
    count_openai_chat,
    measure_message,
    media_correction,
    total,
)
from context.tokens.text import EncodingName, count_text, estimate_tokens_by_length, load_encoding
from context.tokens.tools import NO_TOOLS, ToolsCount, count_tools, measure_tools

__all__ = [
    "EMPTY",
    "MESSAGE_OVERHEAD",
    "NO_TOOLS",
    "PLAIN",
    "REPLY_OVERHEAD",
    "UNCALIBRATED",
    "Calibration",
    "Count",
    "EncodingName",
    "ModelFamily",
    "Request",
    "ToolsCount",
    "count_message",
    "count_openai_chat",
    "count_text",
    "count_tools",
    "estimate",
    "estimate_tokens_by_length",
    "family_of",
    "guarantee",
    "load_encoding",
    "measure_message",
    "measure_tools",
    "media_correction",
    "observe",
    "reported_input_tokens",
    "total",
]

"""Token counts: one canonical count to store, translated into each model family's own tokens."""

from context.tokens.bounds import estimate, guarantee
from context.tokens.families import ModelFamily, family_of
from context.tokens.message import MESSAGE_OVERHEAD, REPLY_OVERHEAD, count_message, count_tools
from context.tokens.ranks import EncodingName, load_encoding
from context.tokens.text import count_text, estimate_tokens_by_length

__all__ = [
    "MESSAGE_OVERHEAD",
    "REPLY_OVERHEAD",
    "EncodingName",
    "ModelFamily",
    "count_message",
    "count_text",
    "count_tools",
    "estimate",
    "estimate_tokens_by_length",
    "family_of",
    "guarantee",
    "load_encoding",
]

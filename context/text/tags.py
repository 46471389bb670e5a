"""Tags that this product puts around texts, read and escaped."""

import re

from context.text.clip import one_line

WINDOW_TAGS = (
    "conversation_summary",
    "transcript",
    "previous_summary",
    "earlier_messages",
    "earlier_sessions",
    "recalled_messages",
    "prepared_artifact",  # and `prepared_artifacts`: a name counts with what goes on after it
    "stored_result",
    "untrusted",
)
"""Tags of blocks in a window or a summarizer's prompt; nobody else has a use for these names."""

PROMPT_TAGS = (
    "document",
    "focus",
    "catalog",
    "request",
    "background",
    "tools",
    "user_message",
    "candidate",
    "question",
)
"""Tags of blocks in single prompts, also words of ordinary markup, and therefore kept in quotes."""

_INVISIBLE = "\\s\u200b-\u200f\u2060\ufeff\u00ad"
_CONTROL = "\\||\uff5c|<[\\s/]*SYS|(?:start|end)_of_turn"
"""Beginnings of models' own control tokens after `<`: of Llama 2, Gemma, and DeepSeek with its wide bar."""


def _opening(names: str) -> re.Pattern[str]:
    return re.compile(rf"<(?=[{_INVISIBLE}/]*(?:{names}|{_CONTROL}))", re.IGNORECASE)


_SYSTEM = r"system\b|system-"
_WINDOW = "|".join(WINDOW_TAGS)
_OF_WINDOWS = _opening(rf"{_WINDOW}|{_SYSTEM}")
_OF_ALL = _opening(rf"{_WINDOW}|{_SYSTEM}|(?:{'|'.join(PROMPT_TAGS)})\b")


def escape_tags(text: str) -> str:
    """Disarm the tags of a window's blocks and models' control tokens.

    Args:
        text: Text of unknown origin.

    Returns:
        The text with the `<` of each such tag written as `&lt;`; all other markup stays.
    """
    return _OF_WINDOWS.sub("&lt;", text)


def escape_all_tags(text: str) -> str:
    """Disarm the tags of all blocks, blocks of single prompts included."""
    return _OF_ALL.sub("&lt;", text)


REGION_TAG = "prepared_artifacts"
ITEM_TAG = "prepared_artifact"

_ATTRIBUTE = str.maketrans({"<": "(", ">": ")", '"': "'", "&": "+"})


def disarm(text: str) -> str:
    """Take from a text the power to open or close a block of the window, of artifacts or any other.

    Args:
        text: Text of unknown origin.

    Returns:
        The text with the `<` of each such tag written as `&lt;`; all other markup stays.
    """
    return escape_tags(text)


def attribute(value: str, max_chars: int) -> str:
    """Write a text as the value of a tag's attribute: one line, no quotes, no brackets, bounded.

    Args:
        value: Text of unknown origin.
        max_chars: The most characters, >= 1.
    """
    return one_line(value.translate(_ATTRIBUTE), max_chars)

"""The tags that this product puts around texts: what no text inside of them may open or close."""

import re

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
"""Blocks of a window and of a summarizer's prompt; nobody else has a use for these names."""

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
"""Blocks of single prompts, which are words of ordinary markup too: they stay in what is quoted."""

_INVISIBLE = "\\s\u200b-\u200f\u2060\ufeff\u00ad"
_CONTROL = r"\||<[\s/]*SYS"
"""How models' own control tokens begin behind their `<`, such as those of Llama 2."""


def _opening(names: str) -> re.Pattern[str]:
    return re.compile(rf"<(?=[{_INVISIBLE}/]*(?:{names}|{_CONTROL}))", re.IGNORECASE)


_SYSTEM = r"system\b|system-"
_WINDOW = "|".join(WINDOW_TAGS)
_OF_WINDOWS = _opening(rf"{_WINDOW}|{_SYSTEM}")
_OF_ALL = _opening(rf"{_WINDOW}|{_SYSTEM}|(?:{'|'.join(PROMPT_TAGS)})\b")


def escape_tags(text: str) -> str:
    """Disarm what could open or close a block of a window, or stand for a model's control token.

    Args:
        text: Text of unknown origin.

    Returns:
        The text with the `<` of each such tag written as `&lt;`; all other markup stays.
    """
    return _OF_WINDOWS.sub("&lt;", text)


def escape_all_tags(text: str) -> str:
    """Disarm what could open or close any block that is written here, those of single prompts too."""
    return _OF_ALL.sub("&lt;", text)

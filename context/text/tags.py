"""Tags around texts: the tags of this product, and the thinking blocks of models."""

import re

from context.text.cut import one_line

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


_THINK = "(?:antml:)?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)"
THINK_TAG = re.compile(rf"(?<!`)<(/?)({_THINK})(?:\s[^<>]*)?>", re.IGNORECASE)
_OPEN = re.compile(rf"(?:\A|\n)[ \t]*<{_THINK}(?:\s[^<>]*)?>.*\Z", re.DOTALL | re.IGNORECASE)
_STRAY_CLOSE = re.compile(rf"\A.*(?<!`)</{_THINK}\s*>[ \t]*(?=\n|\Z)", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"\A.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)


def strip_thinking(text: str) -> str:
    """Remove thinking blocks: closed blocks, an unclosed block, a block without its start.

    Args:
        text: A model's words.

    Returns:
        The remaining words, ends trimmed.
    """
    if "<" not in text:
        return text.strip()
    text = _CHANNEL.sub("", _drop_closed_thinking(text))
    return _OPEN.sub("", _STRAY_CLOSE.sub("", text)).strip()


def _drop_closed_thinking(text: str) -> str:
    """Remove each block from the opening tag to the first closing tag of the same name, in one pass."""
    tags = list(THINK_TAG.finditer(text))
    closings: dict[str, list[re.Match[str]]] = {}
    for tag in reversed(tags):
        if tag[1]:
            closings.setdefault(tag[2].casefold(), []).append(tag)
    kept: list[str] = []
    position = 0
    for tag in tags:
        waiting = closings.get(tag[2].casefold(), [])
        while waiting and waiting[-1].start() < tag.end():
            waiting.pop()
        if not tag[1] and tag.start() >= position and waiting:
            kept.append(text[position : tag.start()])
            position = waiting[-1].end()
    return "".join(kept) + text[position:]

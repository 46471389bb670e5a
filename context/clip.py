"""Shortening of text with a note about the omitted part."""

import re

_DATA_URL = re.compile(r"data:[\w.+-]{1,60}/[\w.+-]{1,80}(?:;[\w=.-]{1,60}){0,4},[A-Za-z0-9+/=_-]{64,}")
_BASE64_RUN = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{512,}={0,2}")
_HEAD_SHARE = 2 / 3
_MARKER_ROOM = 40
_MAX_WORD_CHARS = 40


def clip(text: str, max_chars: int) -> str:
    """Keep the head and the tail of a text, with the length of the omitted middle between them.

    Args:
        text: Any text.
        max_chars: The most characters of the answer, >= 1.

    Returns:
        The whole text if short enough; else at most `max_chars` characters.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - _MARKER_ROOM
    if room < _MARKER_ROOM:
        return text[: max(max_chars - 1, 0)] + "…"
    head = int(room * _HEAD_SHARE)
    start, end = text[:head], text[len(text) - (room - head) :]
    start, end = _whole_words(start, start.rfind(" ")), _whole_words(end[::-1], end[::-1].rfind(" "))[::-1]
    left_out = len(text) - len(start) - len(end)
    return f"{start} … [{left_out} characters left out] … {end}"


def _whole_words(text: str, last_space: int) -> str:
    """Cut at the end of a word if an end is near: half a name is worse than none."""
    is_near = last_space > 0 and len(text) - last_space <= _MAX_WORD_CHARS
    return (text[:last_space] if is_near else text).rstrip()


def one_line(text: str, max_chars: int) -> str:
    """Put a text on one line, whitespace joined, and clip it.

    Args:
        text: Any text.
        max_chars: The most characters of the answer, >= 1.

    Returns:
        One line without control characters.
    """
    return clip(" ".join(text.split()), max_chars)


def drop_encoded(text: str) -> str:
    """Replace embedded files, useless to a reader of words, by a short note.

    Args:
        text: Text, perhaps with data URLs or long base64 runs.

    Returns:
        The text with each embedded file replaced.
    """
    if "base64" in text or "data:" in text:
        text = _DATA_URL.sub("[encoded data left out]", text)
    return _BASE64_RUN.sub(lambda run: _encoded_note(run[0]), text)


def _encoded_note(run: str) -> str:
    is_prose_like = run.isdigit() or run.isalpha() or len(set(run)) < 24  # noqa: PLR2004 - base64 uses most of its 64 letters
    return run if is_prose_like else "[encoded data left out]"


def drop_blank_lines(text: str) -> str:
    """Drop blank lines and trailing whitespace."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())

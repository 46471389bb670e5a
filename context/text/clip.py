"""Clip texts to a number of characters, and never inside a grapheme."""

import re
import unicodedata

_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
"""Invisible characters of ordinary names in some scripts."""

_MAX_BACK = 64
"""Longest cluster kept whole, in code points; longer clusters exist only to break software."""


def floor_border(text: str, index: int) -> int:
    """Move a cut back to the nearest border between visible characters.

    Args:
        text: Any text.
        index: Position of the cut, 0 to the length.

    Returns:
        The border, at most 64 code points before the index; the index without a border so near.
    """
    return next(
        (near for near in range(index, max(index - _MAX_BACK, 0) - 1, -1) if is_border(text, near)), index
    )


def ceil_border(text: str, index: int) -> int:
    """Move a cut forward to the nearest border; the counterpart of `floor_border`."""
    stop = min(index + _MAX_BACK, len(text))
    return next((near for near in range(index, stop + 1) if is_border(text, near)), index)


def is_border(text: str, index: int) -> bool:
    """Say whether a cut here keeps accents, joined emoji, flags, syllables and line ends together."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < "\u0300" and after < "\u0300":
        return before + after != "\r\n"
    return not (
        _JOINER in {before, after}
        or unicodedata.category(after).startswith("M")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or (_is_conjoining_jamo(before) and _is_conjoining_jamo(after))
        or _splits_flag(text, index)
    )


def _is_conjoining_jamo(character: str) -> bool:
    return "\u1100" <= character <= "\u11ff"


def _splits_flag(text: str, index: int) -> bool:
    """Say whether an odd number of flag letters precedes the cut and another flag letter follows."""
    if not _is_flag_letter(text[index]):
        return False
    run = 0
    while run < min(index, _MAX_BACK) and _is_flag_letter(text[index - 1 - run]):
        run += 1
    return run % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


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


def name_on_one_line(name: str) -> str:
    """Put a name on one line without control characters, so that no name can pass as another's words."""
    return " ".join(printable(name).split())


def printable(text: str) -> str:
    """Put a blank for each control character, line breaks included; characters that join letters stay."""
    return "".join(char if char.isprintable() or char in _JOINERS else " " for char in text)


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


def plain_breaks(text: str) -> str:
    """Turn line breaks written as a backslash and an "n" into line breaks, if a text has more of such breaks.

    Args:
        text: Any text, such as a tool's output with a quoted text inside.

    Returns:
        The text; unchanged if most line breaks are real.
    """
    return text.replace("\\n", "\n") if text.count("\\n") > text.count("\n") else text

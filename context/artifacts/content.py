"""Facts read from a text's content alone: its id, and a preview of beginning and end."""

import hashlib
import re

from context.clip import drop_encoded
from context.graphemes import ceil_border, floor_border

ID_PREFIX = "art_"
PREVIEW_CHARS = 600
"""The most characters of a preview, by default."""

_ID = re.compile(rf"{ID_PREFIX}[0-9a-f]{{32}}")
_ID_HEX = 32
_HEAD_SHARE = 2 / 3
_MARKER_ROOM = 48
_LINE_SHARE = 0.3
"""Largest share of the room given up to move a cut to a line's end."""


def artifact_id_of(content: str) -> str:
    """Name a content: the same text always has the same id.

    Args:
        content: Any text; lone surrogates are taken as they are.

    Returns:
        `art_` and the first 32 hex digits of the SHA-256 of the UTF-8 bytes.
    """
    return ID_PREFIX + hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_HEX]


def is_artifact_id(value: object) -> bool:
    """Say whether a value has the shape of an artifact's id."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def count_lines(content: str) -> int:
    """Count the lines of a text: 0 for an empty text; a line break at the end opens no line."""
    return content.count("\n") + (not content.endswith("\n")) if content else 0


def preview_of(content: str, max_chars: int = PREVIEW_CHARS) -> str:
    """Show the beginning and the end of a text, cut at the end of a line or of a visible character.

    Args:
        content: Any text.
        max_chars: The most characters of the answer, >= 1.

    Returns:
        The whole text if short enough, without embedded files; else its head, a line with the omitted length,
        and its tail. The head alone if there is no room for three parts.
    """
    if len(content) <= max_chars:
        return drop_encoded(content)
    room = max_chars - _MARKER_ROOM
    if room < _MARKER_ROOM:
        return content[: floor_border(content, max_chars)]
    head_room = int(room * _HEAD_SHARE)
    head = _head(content, head_room)
    tail = _tail(content, room - head_room)
    left_out = len(content) - len(head) - len(tail)
    short_head, short_tail = drop_encoded(head), drop_encoded(tail)
    return f"{short_head.rstrip()}\n[... {left_out} characters left out ...]\n{short_tail.lstrip()}"


def _head(content: str, room: int) -> str:
    end = content.rfind("\n", int(room * (1 - _LINE_SHARE)), room + 1)
    return content[: end if end > 0 else floor_border(content, room)]


def _tail(content: str, room: int) -> str:
    start = len(content) - room
    line = content.find("\n", start - 1, start + int(room * _LINE_SHARE))
    return content[line + 1 if line >= 0 else ceil_border(content, start) :]

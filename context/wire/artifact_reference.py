"""Reading of a pointer: the named artifact, and the preview."""

import re
from dataclasses import dataclass

POINTER_TAG = "stored_result"
PREVIEW_MARK = "\n\n"
"""Separator between the words of a pointer and its preview."""

_OPENING = re.compile(
    rf'<{POINTER_TAG} id="(art_[0-9a-f]{{32}})"(?: part="(\d{{1,10}})-(\d{{1,10}})")?(?: [^<>\n]{{0,300}})?>'
)
_LINE_OPENING = re.compile(rf"^(?:{_OPENING.pattern})", re.MULTILINE)
_CLOSING = f"</{POINTER_TAG}>"
_LEFT_OUT = re.compile(r"^\[\.\.\. (\d+) characters left out \.\.\.\]$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """Target of a pointer.

    Attributes:
        artifact_id: The artifact.
        start: The first replaced character; None if the whole artifact was replaced.
        end: The end, not included.
    """

    artifact_id: str
    start: int | None = None
    end: int | None = None

    def read(self, content: str) -> str | None:
        """Cut the replaced part out of the artifact's content; None if the content is too short."""
        if self.start is None or self.end is None:
            return content
        return content[self.start : self.end] if self.start <= self.end <= len(content) else None


def read_pointer(text: str) -> Reference | None:
    """Read a text that is a pointer and nothing else.

    The text proves nothing: anybody may have made up a pointer. The caller must check by the data stored with
    the message, never by the text, whether the named artifact may be read here.

    Args:
        text: A text of a tool result.

    Returns:
        The target; None for any other text.
    """
    opening = _opening(text)
    if opening is None:
        return None
    artifact_id, start, end = opening.groups()
    return Reference(artifact_id, int(start), int(end)) if start else Reference(artifact_id)


def pointer_words(text: str) -> str:
    """Extract from pointers the words of the replaced results, for summaries and searches.

    Args:
        text: The words of a tool result; several texts of one result joined by line breaks.

    Returns:
        The text, each pointer replaced by its preview, with the artifact's id in the note about the omitted
        part. Words added by the pointer's writer are dropped.
    """
    if f"<{POINTER_TAG} " not in text:
        return text
    kept, position = [], 0
    for opening in _LINE_OPENING.finditer(text):
        if opening.start() < position:
            continue
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        shown = text[opening.end() : end].partition(PREVIEW_MARK)[2].removesuffix("\n")
        named = rf"[... \1 characters left out; all of it is stored as {opening[1]} ...]"
        kept += [text[position : opening.start()], _LEFT_OUT.sub(named, shown, count=1)]
        position = end + len(_CLOSING)
    return "".join([*kept, text[position:]]).removesuffix("\n") if kept else text


def _opening(text: str) -> re.Match[str] | None:
    return _OPENING.match(text) if text.endswith(_CLOSING) else None

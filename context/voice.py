# ruff: noqa: RUF001 - words in several scripts
"""Who speaks in a summary: notes tell of others, neither as somebody's own words nor as a conversation."""

import re
from collections.abc import Iterator, Sequence

from context.render import RenderedLine
from context.sections import read_lines

_LINE = re.compile(
    r"\s{0,3}(?P<bullet>(?:[-*•]|\d{1,3}[.)])\s+)?\[(?P<seq>\d{1,9})\]\s++(?P<speaker>[^\n:\[\]]{1,80}?)"
    r"(?::\s+|\s+calls\s+|\s+->\s+(?:ok|error):\s*)(?P<words>\S.*)\Z"
)
_ROLE = re.compile(
    r"(?:.*\()?(?:user|assistant|system|developer|tool|function|human|ai|model)\)?", re.IGNORECASE
)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_SOURCE = re.compile(r"\[\s*\d{1,9}[\d\s,;–-]*\]")
_FIRST_PERSON = re.compile(
    r"(?:I(?:['’](?:m|ve|ll|d))?\s+[a-z]|(?:[Ii]ch|[Yy]o|[Ee]u|[Ii]o|[Ii]k|[Яя])\s+\w|[Jj]e\s+\w|[Jj]['’]\w|我(?!们)|(?:私|僕|俺)[はが]"
    r"|(?:나는|저는|أنا|אני|मैं)\s)",
)
_SAID_CHARS = 40
"""So much of a message, from its start, tells that a line repeats it."""


def plays_conversation(summary: str, lines: Sequence[RenderedLine], previous: str = "") -> bool:
    """Tell whether a summary makes up lines of the conversation.

    Args:
        summary: The summary, cleaned.
        lines: The transcript that it takes in.
        previous: The summary before it, or "".

    Returns:
        True where a line that is no point says in a speaker's name what that message does not, or where a
        point tells of a message that does not exist yet.
    """
    last = max((line.seq for line in lines), default=None)
    if last is None:
        return False
    speakers = {line.speaker for line in lines}
    known = {line.strip() for line in previous.splitlines()}
    for line in _outside_code(summary):
        found = _LINE.match(line)
        if not found or line.strip() in known or not _is_speaker(found["speaker"], speakers):
            continue
        if int(found["seq"]) > last or not (found["bullet"] or _is_said(found, lines)):
            return True
    return False


def speaks_as_itself(summary: str) -> bool:
    """Tell whether half of a summary or more is the "I" of nobody: it would pass for a user's words.

    Args:
        summary: The summary, cleaned.

    Returns:
        True where such lines name neither a message nor a speaker; quotes do not count.
    """
    points = [line.item for line in read_lines("\n".join(_outside_code(summary))) if line.item]
    own = sum(1 for point in points if _FIRST_PERSON.match(point) and not _SOURCE.search(point))
    return own > 0 and own * 2 >= len(points)


def _outside_code(text: str) -> Iterator[str]:
    is_code = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield line


def _is_speaker(name: str, speakers: set[str]) -> bool:
    plain = name.strip("*_ ")
    return plain in speakers or _ROLE.fullmatch(plain) is not None


def _is_said(found: re.Match[str], lines: Sequence[RenderedLine]) -> bool:
    words = _plain(found["words"])[:_SAID_CHARS]
    of_message = (line for line in lines if line.seq == int(found["seq"]))
    return any(words in _plain(line.text) for line in of_message)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"'“”«»` ")

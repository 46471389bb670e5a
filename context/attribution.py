"""Who is credited in a summary: a point that is written like a line of the transcript names its speaker."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from context.render import LineKind, RenderedLine

_POINT = re.compile(
    r"(?P<start>\s*(?:[-*•·]\s+)?(?:\*\*)?\[\s*(?P<seq>\d{1,9})(?:\s?·[^\[\]\n]{1,30})?\s*\](?:\*\*)?\s*)"
    r"(?P<label>[^\s\[\]:][^\[\]:\n]{0,79}):(?=\s)"
)
_ROLE = re.compile(r"\s*\(\w+\)\Z")


@dataclass(frozen=True)
class Credited:
    """A summary whose points name who spoke.

    Attributes:
        text: The summary.
        mended: How many of its points named somebody else.
    """

    text: str
    mended: int = 0


def credit_speakers(summary: str, lines: Sequence[RenderedLine], previous: str = "") -> Credited:
    """Name in each point of the form "[12] Ana (user): …" whoever wrote message 12.

    Only that form is read: it claims to be the message's own line, and a name at another place may well be
    of somebody who is spoken about. A label that names no known speaker is left as it is.

    Args:
        summary: The summary, cleaned.
        lines: The transcript that it takes in.
        previous: The notes before it, whose own points say who wrote the messages that they cite.

    Returns:
        The summary; to credit it again changes nothing.
    """
    speakers = _speakers(lines, previous)
    known = {_name(label) for label in speakers.values()}
    mended = 0
    written: list[str] = []
    for text in summary.split("\n"):
        point = _POINT.match(text)
        right = speakers.get(int(point["seq"])) if point else None
        if point and right and _name(point["label"]) in known - {_name(right)}:
            mended += 1
            written.append(f"{point['start']}{right}{text[point.end('label') :]}")
        else:
            written.append(text)
    return Credited("\n".join(written), mended)


def read_credits(summary: str) -> Iterator[tuple[int, str, str]]:
    """Read the points that are written like lines of the transcript.

    Args:
        summary: A summary.

    Yields:
        The number of the message, the label of who spoke, and what is said.
    """
    for text in summary.split("\n"):
        if point := _POINT.match(text):
            yield int(point["seq"]), point["label"].strip(), text[point.end() + 1 :]


def _speakers(lines: Sequence[RenderedLine], previous: str) -> Mapping[int, str]:
    """Say who wrote which message; what was read counts before what older notes say of it."""
    told = {seq: label for seq, label, _ in read_credits(previous)}
    read = {line.seq: line.speaker for line in lines if line.kind is not LineKind.RESULT}
    return {**told, **read}


def _name(label: str) -> str:
    return _ROLE.sub("", label.strip()).casefold()

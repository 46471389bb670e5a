"""Attribution in a summary: a point in the form of a transcript line names the speaker."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from context.conversation.transcript import LineKind, RenderedLine

_POINT = re.compile(
    r"(?P<start>\s*(?:[-*•·]\s+)?(?:\*\*)?\[\s*(?P<seq>\d{1,9})(?:\s?·[^\[\]\n]{1,30})?\s*\](?:\*\*)?\s*)"
    r"(?P<label>[^\s\[\]:][^\[\]:\n]{0,79}):(?=\s)"
)
_ROLE = re.compile(r"\s*\(\w+\)\Z")


@dataclass(frozen=True)
class Credited:
    """A summary with corrected speakers.

    Attributes:
        text: The summary.
        mended: The number of points that named somebody else.
    """

    text: str
    mended: int = 0


def credit_speakers(summary: str, lines: Sequence[RenderedLine], previous: str = "") -> Credited:
    """Name the writer of message 12 in each point of the form "[12] Ana (user): …".

    No other form is read: this form claims to be the message's own line, and a name elsewhere may belong to
    a person spoken about. A label of no known speaker is left unchanged.

    Args:
        summary: The summary, cleaned.
        lines: The transcript covered by the summary.
        previous: The earlier notes; their points name the writers of the messages cited there.

    Returns:
        The summary; a second run changes nothing.
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
    """Read the points written like lines of the transcript.

    Args:
        summary: A summary.

    Yields:
        The number of the message, the label of the speaker, and the spoken text.
    """
    for text in summary.split("\n"):
        if point := _POINT.match(text):
            yield int(point["seq"]), point["label"].strip(), text[point.end() + 1 :]


def _speakers(lines: Sequence[RenderedLine], previous: str) -> Mapping[int, str]:
    """Map each message to its writer; the transcript takes precedence over older notes."""
    told = {seq: label for seq, label, _ in read_credits(previous)}
    read = {line.seq: line.speaker for line in lines if line.kind is not LineKind.RESULT}
    return {**told, **read}


def _name(label: str) -> str:
    return _ROLE.sub("", label.strip()).casefold()

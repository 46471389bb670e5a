"""A candidate statement of a summary."""

from dataclasses import dataclass

from context.conversation.transcript import RenderedLine
from context.summary.sections import Section


@dataclass(frozen=True)
class Point:
    """A candidate statement of a summary.

    Attributes:
        section: Section of the point.
        text: Line of the summary.
        score: Worth compared with other points of the section, >= 0.
        order: Place among the points: carried points below 0, new points by message.
        head: Label at the beginning of the text; points of a message and section may share the label.
        place: Index of the statement in the message, from 0.
        is_fact: True for data of a tool's output.
    """

    section: Section
    text: str
    score: float
    order: int
    head: str = ""
    place: int = 0
    is_fact: bool = False

    @property
    def body(self) -> str:
        """The text without the label."""
        return self.text[len(self.head) :]

    @classmethod
    def said(cls, line: RenderedLine, section: Section, statement: str, score: float, place: int) -> "Point":
        """Make a point from somebody's words."""
        head = f"{label_of(line)} "
        return cls(section, head + statement, score, line.seq, head, place)


def label_of(line: RenderedLine) -> str:
    """Label words like the transcript: "[3] Ana (user):", or "[3 · 8 May 2023] Ana (user):"."""
    return f"{line.number} {line.speaker}:"


def plain_numbers(text: str) -> str:
    """Write bracketed numbers of the conversation with round brackets: square brackets cite messages."""
    out = text
    for opening, closing in (("[", "("), ("]", ")")):
        out = out.replace(opening, closing) if _has_bracketed_number(text) else out
    return out


def _has_bracketed_number(text: str) -> bool:
    return any(part[:1].strip().isdigit() for part in text.split("[")[1:])

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
        tail: Citation at the end of the text, shared like the label.
        place: Index of the statement in the message, from 0.
        is_fact: True for data of a tool's output.
        is_spare: True for a row of a tool's plain output, told only in room that nothing else fills.
    """

    section: Section
    text: str
    score: float
    order: int
    head: str = ""
    tail: str = ""
    place: int = 0
    is_fact: bool = False
    is_spare: bool = False

    @property
    def is_data(self) -> bool:
        """True for anything of a tool's output."""
        return self.is_fact or self.is_spare

    @property
    def body(self) -> str:
        """The text without label and citation."""
        return self.text[len(self.head) : len(self.text) - len(self.tail)]

    @classmethod
    def said(cls, line: RenderedLine, section: Section, statement: str, score: float, place: int) -> "Point":
        """Make a point from somebody's words."""
        head = f"{label_of(line)} "
        return cls(section, head + statement, score, line.seq, head, place=place)


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

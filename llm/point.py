"""One thing that a summary could say."""

from dataclasses import dataclass

from context.render import RenderedLine
from context.sections import Section


@dataclass(frozen=True)
class Point:
    """One thing that a summary could say.

    Attributes:
        section: Where it would stand.
        text: The line as it would be written.
        score: What it is worth against the others of its section, >= 0.
        order: Place among the points: carried ones below 0, new ones by message.
        head: The label with which the text begins; points of one message and section may share it.
        place: Which statement of its message it is, from 0.
        is_fact: Whether it is data of a tool's output.
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
        """The text without its label."""
        return self.text[len(self.head) :]

    @classmethod
    def said(cls, line: RenderedLine, section: Section, statement: str, score: float, place: int) -> "Point":
        """Make a point of words that somebody said."""
        head = f"{label_of(line)} "
        return cls(section, head + statement, score, line.seq, head, place)


def label_of(line: RenderedLine) -> str:
    """Label words as the transcript does: "[3] Ana (user):", or "[3 · 8 May 2023] Ana (user):"."""
    return f"{line.number} {line.speaker}:"


def plain_numbers(text: str) -> str:
    """Write a bracketed number of the conversation with round brackets: square ones cite messages."""
    out = text
    for opening, closing in (("[", "("), ("]", ")")):
        out = out.replace(opening, closing) if _has_bracketed_number(text) else out
    return out


def _has_bracketed_number(text: str) -> bool:
    return any(part[:1].strip().isdigit() for part in text.split("[")[1:])

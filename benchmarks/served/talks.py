"""A conversation as it is posted, the questions put to it, and how an answer's window is graded."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from benchmarks.recall import plain
from context.conversation.transcript import RenderLimits, render_transcript
from context.recall.passages import Passage, make_passages
from context.shadow.facts import holds, texts_of
from context.tokens.text import count_text
from context.types import JsonObject, Message, Role, Wire
from context.wire import describe

WHOLE = RenderLimits(1_000_000, 1_000_000, 1_000_000, 1_000_000)
LEAST_WORDS = 4
"""A shorter stretch of a gold span ("Yeah .") stands everywhere, and proves nothing."""

PRESENT = 0.5
"""A span counts as there when so much of it is."""


@dataclass(frozen=True)
class Grade:
    """How much of the evidence a window shows.

    Attributes:
        share: The share of it, in [0, 1].
        present: The share of its pieces of which at least half is shown, in [0, 1].
        pieces: How many facts it has, where each of them counts; else 1.
    """

    share: float
    present: float
    pieces: int = 1

    @property
    def lost(self) -> float:
        """How many of its pieces are not shown."""
        return self.pieces * (1 - self.share)


class Gold(Protocol):
    """What a window must show for its question."""

    def grade(self, texts: Sequence[str]) -> Grade:
        """Look for it in the texts of a window."""


@dataclass(frozen=True)
class Turn:
    """One turn: the event as it is posted, and its words as a search over turns reads them."""

    event: JsonObject
    messages: tuple[Message, ...]
    text: str
    tokens: int


@dataclass(frozen=True)
class Ask:
    """A question, as the new message of a request, and what answers it."""

    ask_id: str
    message: JsonObject
    gold: Gold

    @property
    def question(self) -> str:
        """Its words."""
        return str(self.message["content"])


@dataclass(frozen=True)
class Talk:
    """A conversation with the questions that are put at its end.

    Attributes:
        name: Its own.
        turns: All that was said.
        asks: The questions.
        breaks: Where it is cut into sessions of one user: the number of turns before each next session, and
            before the questions, which are asked in a session of their own; empty where it is one session.
    """

    name: str
    turns: tuple[Turn, ...]
    asks: tuple[Ask, ...] = ()
    breaks: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        """All of its turns."""
        return sum(turn.tokens for turn in self.turns)

    def sessions_of(self, session_id: str) -> list[tuple[str, tuple[Turn, ...]]]:
        """Name its sessions and their turns, where the session of its questions has this id."""
        if not self.breaks:
            return [(session_id, self.turns)]
        edges = pairwise((0, *self.breaks))
        return [(f"{session_id}-{place}", self.turns[a:b]) for place, (a, b) in enumerate(edges)]

    @cached_property
    def passages(self) -> list[Passage]:
        """What recall would index of all turns."""
        messages = [message for turn in self.turns for message in turn.messages]
        return list(
            make_passages(
                render_transcript(messages, limits=WHOLE), turn_of=lambda seq: seq, count=count_text
            )
        )


def make_turns(events: Iterable[JsonObject]) -> tuple[Turn, ...]:
    """Number the messages of events as the log will."""
    made: list[Turn] = []
    last = 0
    for number, event in enumerate(events, 1):
        speaker = event.get("speaker")
        messages = tuple(
            read_message(body, seq, speaker=speaker) for seq, body in enumerate(event["messages"], last + 1)
        )
        last += len(messages)
        said = "\n".join(texts_of(messages))
        text = f"{speaker}: {said}" if speaker else said
        made.append(Turn({"turn_id": f"t{number}", **event}, messages, text, count_text(text)))
    return tuple(made)


def read_message(body: JsonObject, seq: int = 0, *, speaker: str | None = None) -> Message:
    """Wrap a message in OpenAI's form."""
    facts = describe(body, Wire.OPENAI)
    names = speaker if facts.role is Role.USER else None
    raw = json.dumps(body, ensure_ascii=False)
    return Message(seq, facts.role, 0, raw, facts.call_ids, facts.answer_ids, speaker=names)


def window_texts(messages: Sequence[JsonObject], *, new: int = 1) -> list[str]:
    """Read what a served window shows beside the new messages at its end: words, calls and results."""
    shown = messages[: len(messages) - new]
    return [text for body in shown for text in texts_of([read_message(body)])]


def _words(texts: Sequence[str]) -> str:
    """Write texts as plain words between spaces, so that whole words can be looked for."""
    return " " + plain("\n".join(texts)) + " "


@dataclass(frozen=True)
class AnswerGold:
    """Any of several answers, by its words in their order."""

    answers: tuple[str, ...]

    def grade(self, texts: Sequence[str]) -> Grade:
        """Say 1 or 0."""
        window = plain("\n".join(texts))
        found = float(any(plain(answer) in window for answer in self.answers))
        return Grade(found, found)


@dataclass(frozen=True)
class FactsGold:
    """Exact facts, each for itself, in whatever spelling the product takes for the same."""

    facts: tuple[str, ...]

    def grade(self, texts: Sequence[str]) -> Grade:
        """Count those that are there; all of them make the piece present."""
        found = holds(texts, self.facts)
        return Grade(sum(found) / len(found), float(all(found)), len(found))


@dataclass(frozen=True)
class SpanGold:
    """Stretches of the conversation: lists of passages with their tokens, by their plain words."""

    spans: tuple[Mapping[str, int], ...] = field(repr=False)

    @classmethod
    def of(cls, passages: Sequence[Passage], spans: Sequence[tuple[int, int]]) -> "SpanGold":
        """Take the passages of spans of messages, first and last; those of a word or two are left out."""
        return cls(tuple(_words_of(passages, first, last) for first, last in spans))

    def grade(self, texts: Sequence[str]) -> Grade:
        """Weigh what is shown by tokens."""
        window = _words(texts)
        shares = [
            (sum(tokens for words, tokens in span.items() if f" {words} " in window), sum(span.values()))
            for span in self.spans
        ]
        whole = sum(total for _, total in shares)
        present = [shown >= total * PRESENT for shown, total in shares if total]
        if not whole:
            return Grade(1.0, 1.0)
        return Grade(sum(shown for shown, _ in shares) / whole, sum(present) / len(present))


def _words_of(passages: Sequence[Passage], first: int, last: int) -> Mapping[str, int]:
    wanted = ((plain(p.text), p.tokens) for p in passages if first <= p.seq <= last)
    return {words: tokens for words, tokens in wanted if len(words.split()) >= LEAST_WORDS}

"""Questions and answers of a transcript: settled questions, and the words of the answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.point import label_of
from context.summary.extractive.statements import read_statements, shorten
from context.summary.foreign import split_foreign
from context.summary.pasted import drop_traces
from context.text.marker_words import Cue, find_cues, is_question
from context.text.terms import content_terms
from context.types import Role

_LOOKED_AT = 6
"""Number of others' messages after a question searched for the answer."""
_ANSWER_CHARS = 220
_LAST_WORDS = 3
_QUESTION_BYTES = 12
_LEAST_BYTES = 40


@dataclass(frozen=True)
class Spoken:
    """Words of a message, with the place among all words."""

    line: RenderedLine
    place: int

    @cached_property
    def statements(self) -> list[str]:
        """The statements of the words, in order; a trace pasted by a user is nobody's words."""
        is_users = self.line.role is Role.USER
        return read_statements(drop_traces(self.line.text) if is_users else self.line.text)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The statements of others in a user's words: of a pasted mail, or behind a taking back of orders."""
        _, foreign = split_foreign(self.line.text)
        return frozenset(read_statements(drop_traces(foreign))) if foreign else frozenset()


@dataclass(frozen=True)
class SpokenAnswer:
    """An answer to a question: label of the speaker and message, and the words."""

    label: str
    text: str


@dataclass(frozen=True)
class Talk:
    """The words of a transcript, in order.

    Attributes:
        spoken: Words of all messages except system messages.
        first: The first message.
        last: The last message.
        last_other: Place of the last words of anybody but the last speaker; -1 without others.
    """

    spoken: Sequence[Spoken]
    first: int
    last: int
    last_other: int

    @classmethod
    def of(cls, lines: Sequence[RenderedLine]) -> "Talk":
        """Read a transcript."""
        words = [line for line in lines if line.kind is LineKind.TEXT and line.role is not Role.SYSTEM]
        has_days = len({line.day for line in words if line.day}) > 1
        spoken = [
            Spoken(replace(line, opens_day=line.day is not None) if has_days else line, place)
            for place, line in enumerate(words)
        ]
        seqs = [line.seq for line in lines] or [0]
        last = words[-1].speaker if words else ""
        others = [place for place, line in enumerate(words) if line.speaker != last]
        return cls(spoken, min(seqs), max(seqs), max(others, default=-1))

    @cached_property
    def has_assistant(self) -> bool:
        """True when a model takes part."""
        return any(one.line.role is Role.ASSISTANT for one in self.spoken)

    @cached_property
    def first_by_user(self) -> Spoken | None:
        """The first words of a user longer than a greeting."""
        own = [one for one in self.spoken if one.line.role is Role.USER]
        long = (one for one in own[:_LOOKED_AT] if len(one.line.text.encode()) >= _LEAST_BYTES)
        return next(long, own[0] if own else None)

    @cached_property
    def objective_place(self) -> int:
        """Index of the statement with the wish in the user's first words; 0 without a wish."""
        said = self.first_by_user.statements[: 2 * _LOOKED_AT] if self.first_by_user else []
        return next((place for place, one in enumerate(said) if Cue.WISH in find_cues(one)), 0)

    @cached_property
    def last_by_user(self) -> Spoken | None:
        """The last words of a user."""
        return next((one for one in reversed(self.spoken) if one.line.role is Role.USER), None)

    def recency(self, seq: int) -> float:
        """Compute the position of a message in the transcript, in [0, 1]."""
        return (seq - self.first) / max(self.last - self.first, 1)

    def is_last(self, spoken: Spoken) -> bool:
        """Check whether nobody else speaks after the words."""
        return not self.is_settled(spoken)

    def is_settled(self, spoken: Spoken) -> bool:
        """Check whether another speaker, not only another role, speaks after the words."""
        if spoken.line.speaker != self.spoken[-1].line.speaker:
            return True
        return spoken.place < self.last_other or (self.last_other < 0 and self._went_on(spoken))

    def _went_on(self, spoken: Spoken) -> bool:
        """Check whether a lone speaker went on: without any answer, the last question may still be open."""
        return spoken.place < len(self.spoken) - _LAST_WORDS

    def asks_something(self, question: str) -> bool:
        """Tell a question from a sound: "Hmm?" asks nothing to stay open."""
        return len(question.encode()) >= _QUESTION_BYTES and bool(content_terms(question))

    def answer(self, asked: Spoken, question: str) -> SpokenAnswer | None:
        """Find the answer to a question: the following words of others closest to the question.

        Args:
            asked: The words with the question.
            question: The question itself.

        Returns:
            The closest words, or the first words if none is close; None without an answer.
        """
        terms = set(content_terms(question))
        if not self.asks_something(question):
            return None
        following = self.spoken[asked.place + 1 : asked.place + 1 + 2 * _LOOKED_AT]
        others = [one for one in following if one.line.speaker != asked.line.speaker][:_LOOKED_AT]
        best: tuple[int, SpokenAnswer] | None = None
        for other in others:
            for statement in other.statements[: 2 * _LOOKED_AT]:
                if is_question(statement):
                    continue
                shared = len(terms.intersection(content_terms(statement)))
                if best is None or shared > best[0]:
                    best = shared, SpokenAnswer(label_of(other.line), shorten(statement, _ANSWER_CHARS))
        return best[1] if best else None

"""The words of a transcript in their order: who speaks to whom, and which words answer a question."""

# ruff: noqa: RUF001 - punctuation of several scripts

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.statements import MOST_CHARS, read_statements, shorten
from context.summary.others_words import drop_traces, split_foreign
from context.text.marker_words import (
    WITHOUT_BLANKS,
    Cue,
    find_cues,
    is_question,
    is_small_talk,
    is_strong_rule,
    marks_of,
)
from context.text.terms import content_terms
from context.types import Role

_LOOKED_AT = 6
"""Number of others' messages after a question searched for the answer."""
_ANSWER_CHARS = 220
_LAST_WORDS = 3
_QUESTION_BYTES = 12
_LEAST_BYTES = 40
_FAR = 20
"""Number of messages after a question searched in a crowd."""
_PAIR, _CROWD_SHARE = 2, 0.1
_LEAST_BOND, _NAMES_ASKER, _WAS_ASKED, _NEXT = 2, 3, 2, 1
"""The least bond between question and answer in shared terms, and what names and the next place count for."""
_NAME_CHARS = 48
_MARKED_FIRST = re.compile(r"\s*@?([^\n,:;>，、：]{1,48}?)\s?[,:;>，、：]")
_BARE_FIRST = re.compile(r"\s*(@?)(\S{2,48})(?=\s)")
_MARKED_LAST = re.compile(r"[,，、]\s*@?([^\n,，、?？.!！]{1,40})[\s?？.!！]*\Z")


@dataclass(frozen=True)
class Spoken:
    """Words of a message, with the place among all words."""

    line: RenderedLine
    place: int

    @cached_property
    def statements(self) -> list[str]:
        """The statements of the words, in order; a trace pasted by a user is nobody's words."""
        if self.line.role is not Role.USER:
            return read_statements(self.line.text)
        return list(_whole_rules(read_statements(drop_traces(self.line.text))))

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
        """The first words of a user to an assistant with a wish, or else longer than a greeting."""
        own = [one for one in self.spoken if one.line.role is Role.USER][:_LOOKED_AT]
        wishes = (one for one in own if self.has_assistant and Cue.WISH in find_cues(one.line.text))
        long = (one for one in own if len(one.line.text.encode()) >= _LEAST_BYTES)
        return next(wishes, next(long, own[0] if own else None))

    @cached_property
    def objective_place(self) -> int | None:
        """Index of the wish in the user's first words, else of the first statement but a greeting."""
        said = self.first_by_user.statements[: 2 * _LOOKED_AT] if self.first_by_user else []
        wish = next((place for place, one in enumerate(said) if Cue.WISH in find_cues(one)), None)
        first = next((place for place, one in enumerate(said) if not is_small_talk(one)), None)
        return first if wish is None else wish

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
        """Tell a question from a sound or a courtesy: "Hmm?" and "How are you?" ask nothing to stay open."""
        is_long = len(question.encode()) >= _QUESTION_BYTES and bool(content_terms(question))
        return is_long and not is_small_talk(question)

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
        best: tuple[int, SpokenAnswer] | None = None
        least = _LEAST_BOND if self.is_crowd else 0
        answering = self._replies(asked, terms) or self._answering(asked, question)
        for other, bond in answering:
            for statement in other.statements[: 2 * _LOOKED_AT]:
                if is_question(statement):
                    continue
                shared = bond + len(terms.intersection(content_terms(statement)))
                if shared >= least and (best is None or shared > best[0]):
                    best = shared, SpokenAnswer(label_of(other.line), shorten(statement, _ANSWER_CHARS))
        return best[1] if best else None

    @cached_property
    def is_crowd(self) -> bool:
        """Tell whether people name whom they speak to, as where several conversations cross."""
        named = sum(one is not None for one in self._addressed)
        return len(set(self._speakers.values())) > _PAIR and named >= _CROWD_SHARE * len(self.spoken)

    def _answering(self, asked: Spoken, question: str) -> Iterator[tuple[Spoken, int]]:
        """Find the words that may answer, with the worth of names; words to somebody else answer nothing."""
        asker = asked.line.speaker
        sought = self._addressee(question, asker) or self._addressed[asked.place]
        following = self.spoken[
            asked.place + 1 : asked.place + 1 + (_FAR if self.is_crowd else 2 * _LOOKED_AT)
        ]
        others = [one for one in following if one.line.speaker != asker]
        for place, one in enumerate(others):
            named = self._addressed[one.place]
            is_sought = one.line.speaker == sought
            may_answer = named == asker or (named is None and place < _LOOKED_AT)
            if may_answer and (sought is None or is_sought):
                is_next = place == 0 and not self.is_crowd
                yield one, _NAMES_ASKER * (named == asker) + _WAS_ASKED * is_sought + _NEXT * is_next

    @cached_property
    def _is_pair(self) -> bool:
        """Tell whether two speak, with or without a model."""
        return len({one.line.speaker for one in self.spoken}) == _PAIR

    def _replies(self, asked: Spoken, terms: set[str]) -> list[tuple[Spoken, int]]:
        """Find the reply to a question in a talk of two: the very next that says something.

        A later reply answers only where the next one puts the question off, and only with words of it.
        """
        replies = list(self._runs_of_other(asked)) if self._is_pair else []
        if not replies or not _puts_off(replies[0]):
            return [(one, 0) for one in replies[:1]]
        is_bound = (len(terms.intersection(content_terms(one.line.text))) >= _LEAST_BOND for one in replies)
        later = (
            one for one, is_close in zip(replies, is_bound, strict=True) if is_close and not _puts_off(one)
        )
        return [(next(later, replies[0]), 0)]

    def _runs_of_other(self, asked: Spoken) -> Iterator[Spoken]:
        """Yield what the other of two says each time: a model's last words, or a person's first."""
        following = self.spoken[asked.place + 1 : asked.place + 1 + 2 * _LOOKED_AT]
        for speaker, said in groupby(following, key=lambda one: one.line.speaker):
            if speaker == asked.line.speaker:
                continue
            telling = [one for one in said if not all(map(is_question, one.statements))]
            if telling:
                yield telling[-1 if telling[0].line.role is Role.ASSISTANT else 0]

    @cached_property
    def _speakers(self) -> Mapping[str, str]:
        """The speaker of each name, and of each first name that only one has."""
        speakers = {one.line.speaker for one in self.spoken}
        whole = {name_of(speaker).casefold(): speaker for speaker in speakers}
        first = Counter(name.split()[0] for name in whole if name.strip())
        short = {name.split()[0]: who for name, who in whole.items() if name.strip()}
        return {name: who for name, who in short.items() if first[name] == 1} | whole

    @cached_property
    def _addressed(self) -> Sequence[str | None]:
        """The speaker named by each of the words as the one spoken to."""
        return [self._addressee(one.line.text, one.line.speaker) for one in self.spoken]

    def _addressee(self, text: str, speaker: str) -> str | None:
        """Find the one spoken to, in a message or in one of its questions."""
        for name, is_marked in _vocatives(text):
            who = self._speakers.get(name.casefold())
            is_nick = not name.isalpha() or not name[1:].islower()
            if who not in {None, speaker} and (is_marked or is_nick):
                return who
        return None


_CALLS_IT_A_RULE = re.compile(marks_of("called_rule", anywhere=WITHOUT_BLANKS))
_INSTEAD = re.compile(marks_of("instead", anywhere=WITHOUT_BLANKS))


def _whole_rules(statements: Iterable[str]) -> Iterator[str]:
    """Join a rule with the statement behind it that says what to do instead, or that it is a rule."""
    held = ""
    for statement in statements:
        folded = statement.casefold()
        says_instead = _INSTEAD.search(folded) is not None and is_strong_rule(held)
        is_rest = says_instead or _CALLS_IT_A_RULE.match(folded) is not None
        if held and is_rest and not is_question(held) and len(held) + len(statement) < MOST_CHARS:
            held = f"{held} {statement}"
            continue
        if held:
            yield held
        held = statement
    if held:
        yield held


def _puts_off(reply: Spoken) -> bool:
    """Tell whether words only promise to find out: "I will ask tonight", without any figure."""
    text = reply.line.text
    return Cue.OPEN in find_cues(text) and not any(map(str.isdigit, text))


def name_of(speaker: str) -> str:
    """The name in a transcript's label: "Ana" of "Ana (user)"."""
    return speaker.rpartition(" (")[0] or speaker


def _vocatives(text: str) -> Iterator[tuple[str, bool]]:
    """Find what may be a name of somebody spoken to, and whether a sign marks it."""
    if found := _MARKED_FIRST.match(text):
        yield found[1].strip(), True
    if found := _BARE_FIRST.match(text):
        yield found[2], bool(found[1])
    if found := _MARKED_LAST.search(text[-_NAME_CHARS:]):
        yield found[1].strip(), True


def label_of(line: RenderedLine) -> str:
    """Label words like the transcript: "[3] Ana (user):", or "[3 · 8 May 2023] Ana (user):"."""
    return f"{line.number} {line.speaker}:"

# ruff: noqa: RUF001 - tables of words in several scripts
"""Facts of windows, and a small conversation with known facts."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from context.text.exact_values import extract_identifiers, kept_identifiers, normal
from context.types import Message, Role
from context.wire.parts import PartKind, read_parts

_WORD = re.compile(r"(?<![\w/\\.@#$])[^\W\d_a-z][\w'’-]*(?![\w(=\[{<])(?!\.\w)")
"""A word with a possible capital, outside of paths, code and addresses."""

_QUOTED = re.compile(r"[“„«‹「『《〈](\w[^\n\"“”„«»‹›「」『』《》〈〉]{0,59})[”“»›」』》〉]")
"""Typographic quotes; names in plain quotes are found elsewhere, since code has plain quotes too."""
_MOST_QUOTED_WORDS = 5
_LEAST_LETTERS = 2
_MOST_CHARS = 160
_MOST_CAPITALS = 0.15
"""Share of capitalised words; above, only runs of several words are names, as common words have capitals."""
_LEAST_WORDS = 40
"""Of fewer words, no share is told."""
_JOINTS = frozenset({" ", "\u00a0", "\u202f"})
_OPENINGS = frozenset({"Pi", "Ps", "Pf", "Pd"})


class _Word(NamedTuple):
    """A capitalised word, with its end; the first word of a sentence is no evidence of a name."""

    text: str
    end: int
    is_first: bool


def names_of(text: str) -> tuple[str, ...]:
    """Find runs of capitalised words, and short quotes.

    A sentence's first word is part of a name only if capitalised inside another sentence. Scripts without
    capitals have quoted names only.

    Args:
        text: Any text.

    Returns:
        Each name once as written, without quotes; capitalised names first.
    """
    runs = list(_runs(text))
    proven = {word.text for run in runs for word in run if not word.is_first}
    capitals = sum(not word.is_first for run in runs for word in run)
    words = len(text.split())
    least = 2 if words >= _LEAST_WORDS and capitals > _MOST_CAPITALS * words else 1
    named = (_name(run, proven, least) for run in runs)
    return tuple(dict.fromkeys(name for name in (*named, *_quoted(text)) if name))


def _runs(text: str) -> Iterator[list[_Word]]:
    run: list[_Word] = []
    for match in _WORD.finditer(text):
        if not _is_capitalised(match[0]):
            continue
        joins = bool(run) and text[run[-1].end : match.start()] in _JOINTS
        word = _Word(match[0], match.end(), not joins and _begins_sentence(text, match.start()))
        if run and not joins:
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _is_capitalised(word: str) -> bool:
    """A capital and a small letter: words of capitals alone are shouts and abbreviations."""
    plain = re.split(r"['’]", word, maxsplit=1)[0]
    capital = unicodedata.category(word[0]) in {"Lu", "Lt"}
    return capital and len(plain) >= _LEAST_LETTERS and any(map(str.islower, plain))


def _begins_sentence(text: str, start: int) -> bool:
    """Tell whether a line, a sentence or a quote begins at the place; a comma ends no sentence."""
    place = start - 1
    while place >= 0 and (text[place] == " " or unicodedata.category(text[place]) in _OPENINGS):
        place -= 1
    if place < 0 or text[place].isspace():
        return True
    before = text[place]
    return unicodedata.category(before) in {"Po", "So", "Sm"} and "COMMA" not in unicodedata.name(before, "")


def _name(run: Sequence[_Word], proven: set[str], least: int) -> str | None:
    told = run[1:] if run[0].is_first and run[0].text not in proven else run
    name = " ".join(word.text for word in told)
    return name if len(told) >= least and len(name) <= _MOST_CHARS else None


def _quoted(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        name = match[1].strip().rstrip(".,;:!?")
        if len(name) >= _LEAST_LETTERS and len(name.split()) <= _MOST_QUOTED_WORDS:
            yield name


DIGEST_BYTES = 8
"""Digest length in bytes, enough to make collisions within a window very unlikely."""

MOST_FACTS = 4_000
"""Most facts of a window, newest first; older facts are ignored."""


@dataclass(frozen=True)
class Compared:
    """Facts of the served window.

    Attributes:
        both: Facts present in the other window too.
        lacking: Facts missing from the other window.
    """

    both: frozenset[str]
    lacking: frozenset[str]


@dataclass(frozen=True)
class Needs:
    """Facts used by a turn, and the tools called after reading the window."""

    facts: frozenset[str]
    tools: tuple[str, ...]


@dataclass(frozen=True)
class FactLoss:
    """Number of needed facts, and of lost facts among them; 0 <= lost <= needed."""

    needed: int
    lost: int


def texts_of(messages: Iterable[Message]) -> list[str]:
    """List the texts of messages in order, including calls and results."""
    kinds = {PartKind.TEXT, PartKind.CALL, PartKind.RESULT}
    return [part.text for message in messages for part in read_parts(message) if part.kind in kinds]


def names_in(text: str) -> tuple[str, ...]:
    """The facts in a text, each once: exact names, and names of people, places and products."""
    return tuple(dict.fromkeys([*extract_identifiers(text), *names_of(text)]))


def compare_facts(
    served: Sequence[str],
    other: Sequence[str],
    *,
    most: int = MOST_FACTS,
    find: Callable[[str], Sequence[str]] = names_in,
) -> Compared:
    """Find the facts of a window, and their presence in another window in any spelling.

    Args:
        served: Texts of the served window, oldest first.
        other: Texts of the other window.
        most: The most facts, >= 0; the newest count.
        find: `names_in`, or a cached version: windows of the same read share most texts.

    Returns:
        Facts as folded by `normal`.
    """
    newest = (name for text in reversed(served) for name in reversed(find(text)))
    names = dict.fromkeys(islice(newest, most))
    held = {normal(name) for text in other for name in find(text)}
    open_names = [name for name in names if normal(name) not in held]
    spelled = _spelled(other, open_names) if open_names else set()
    lacking = frozenset(normal(name) for name in open_names if name not in spelled)
    return Compared(frozenset(map(normal, names)) - lacking, lacking)


def _spelled(texts: Sequence[str], names: Sequence[str]) -> set[str]:
    """Find names spelled differently in texts; a purely alphabetic name must start at a word's beginning."""
    joined = "\n".join(texts)
    found = kept_identifiers(joined, names)
    plain = normal(joined)
    return {name for name in found if not _is_words(name) or _begins_word(normal(name), plain)}


def _is_words(name: str) -> bool:
    return all(letter.isalpha() or letter.isspace() for letter in name)


def _begins_word(name: str, text: str) -> bool:
    """Tell whether a name stands at the beginning of a word, with any ending."""
    return re.search(rf"(?<!\w){re.escape(name)}", text) is not None


def holds(texts: Sequence[str], facts: Sequence[str]) -> list[bool]:
    """Tell for each fact whether the texts have the fact, in any case, quotes and spacing."""
    kept = set(kept_identifiers("\n".join(texts), facts))
    return [fact in kept for fact in facts]


def needs_of(turn: Sequence[Message], *, new: int) -> Needs:
    """Read the facts used by a turn: the user's words, and names in the answer and its calls.

    Tool results are new to the turn and need no earlier source.

    Args:
        turn: The stored messages after the read, oldest first.
        new: Number of messages brought by the request itself, >= 0.
    """
    words: list[str] = []
    tools: list[str] = []
    for place, message in enumerate(turn):
        if message.role is Role.USER:
            words += [part.text for part in read_parts(message) if part.kind is PartKind.TEXT]
        elif message.role is Role.ASSISTANT and place >= new:
            parts = [part for part in read_parts(message) if part.kind in {PartKind.TEXT, PartKind.CALL}]
            words += [part.text for part in parts]
            tools += [part.name for part in parts if part.kind is PartKind.CALL and part.name]
    return Needs(frozenset(normal(name) for text in words for name in names_in(text)), tuple(tools))


def pack(facts: Iterable[str], salt: bytes) -> bytes:
    """Digest facts, sorted: enough to find a fact again, without readable text.

    Args:
        facts: Any texts.
        salt: The record's own salt, at most 16 bytes: a fact has different digests in different records.
    """
    return b"".join(sorted(_digest(fact, salt) for fact in set(facts)))


def count_loss(needed: Collection[str], *, both: bytes, lacking: bytes, salt: bytes) -> FactLoss:
    """Count the needed facts of a window, and the number missing from the other window."""
    held, lost = _unpack(both), _unpack(lacking)
    wanted = {_digest(fact, salt) for fact in needed}
    return FactLoss(len(wanted & (held | lost)), len(wanted & lost))


def count_blocked(tools: Sequence[str], *, hidden: bytes, salt: bytes) -> int:
    """Count the calls of tools hidden in the other window."""
    gone = _unpack(hidden)
    return sum(_digest(tool, salt) in gone for tool in tools)


def _unpack(packed: bytes) -> set[bytes]:
    return {packed[start : start + DIGEST_BYTES] for start in range(0, len(packed), DIGEST_BYTES)}


def _digest(fact: str, salt: bytes) -> bytes:
    data = fact.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, salt=salt).digest()


@dataclass(frozen=True)
class Planted:
    """A planted fact: its statement and its question.

    Attributes:
        said: The user's words with the fact.
        answer: The model's answer.
        fact: The exact words to keep.
        question: A question about the fact.
    """

    said: str
    answer: str
    fact: str
    question: str


PLANTED = (
    Planted(
        "The workshop has moved. Deliveries go to dock 14B from now on, the old gate is closed for good.",
        "Understood: deliveries go to the new dock. I shall put that on every order from now on.",
        "14B",
        "To which dock do deliveries go?",
    ),
    Planted(
        "Our order for the oak boards has the number WB-20931. Please watch it and tell me when it moves.",
        "I shall watch the order and tell you as soon as its state changes.",
        "WB-20931",
        "What is the number of the order for the oak boards?",
    ),
    Planted(
        "The customer must have the staircase by 2026-03-19, there is no later day. Plan from there.",
        "I have planned backwards from that day and left two days for the last coat of oil.",
        "2026-03-19",
        "By which day must the customer have the staircase?",
    ),
    Planted(
        "We agreed on a price of €18,450 for the whole staircase, oil and transport included. No more.",
        "Noted. I shall hold every cost against that sum and warn you before it is used up.",
        "€18,450",
        "Which price did we agree on?",
    ),
    Planted(
        "The drawings lie in plans/stair_final_v7.dxf, older files must never be used again.",
        "I shall use that file alone and leave the older drawings where they are.",
        "plans/stair_final_v7.dxf",
        "In which file are the right drawings?",
    ),
    Planted(
        "Bills go to accounts@holmgren-stairs.example, and never to my own address, I lose them there.",
        "Every bill goes to the accounts address from now on.",
        "accounts@holmgren-stairs.example",
        "Where do the bills go?",
    ),
    Planted(
        "The banister needs screws of 6.4 mm. The thinner ones broke twice, so please order no others.",
        "I have changed the list to the thicker screws and taken the thin ones off.",
        "6.4 mm",
        "Which screws does the banister need?",
    ),
    Planted(
        "The saw has thrown error E-7731 again, as it did in spring. The maker should send somebody to look.",
        "I have written to the maker, named the error and asked for a visit this week.",
        "E-7731",
        "Which error did the saw show?",
    ),
    Planted(
        "The insurance number for the transport is TRN-448-2207, the driver wants to see it at the ferry.",
        "I have put the number on the driver's sheet, at the top.",
        "TRN-448-2207",
        "What is the insurance number for the transport?",
    ),
    Planted(
        "Keep the moisture of the wood at 8.5 % or the treads will warp. Measure it every single morning.",
        "I shall ask for the measurement each morning and warn you when it leaves that mark.",
        "8.5 %",
        "At which moisture must the wood be kept?",
    ),
    Planted(
        "The stock list is at https://stock.holmgren-stairs.example/oak and is newer than the printed one.",
        "I shall read the list there before each order.",
        "https://stock.holmgren-stairs.example/oak",
        "Where is the stock list?",
    ),
    Planted(
        "The permit of the city has the mark BV-2025/611. Nobody may close the street without it.",
        "I have added the mark of the permit to the plan for the day of the crane.",
        "BV-2025/611",
        "Which mark has the permit of the city?",
    ),
)
"""The facts, in the order of the conversation."""

_BETWEEN = (
    (
        (
            "How is the sanding going? The boys said that it takes longer than they had thought, and "
            "I would like to know whether we must call somebody else in, or whether they get it done "
            "alone."
        ),
        (
            "They are through with the lower half and have started on the upper one. It goes slowly "
            "because the grain turns at the bend, but they see no need of help, and I agree with them"
            " after a look at it."
        ),
    ),
    (
        (
            "Remind me what we said about the colour of the oil. My wife thinks that it was the light"
            " one, and I remember the dark one, so one of us must be wrong and I would rather know "
            "before we open a can."
        ),
        (
            "You had looked at both, and wanted to decide with the customer in the room. Nothing is "
            "settled yet. I suggest that we put a sample of each on a piece of waste and show them "
            "both in daylight."
        ),
    ),
    (
        (
            "The apprentice asked for a free afternoon next week. Is there anything that speaks "
            "against it? He has worked well, and I should like to let him go if nothing important "
            "falls on that day."
        ),
        (
            "Nothing speaks against it as far as the plan goes. The boards will not have come by "
            "then, and what is left to sand can wait until the morning after without moving anything "
            "else."
        ),
    ),
)
"""Filler talk between two facts."""


def planted_turns() -> list[tuple[str, str]]:
    """Write the conversation: each fact in its own turn, followed by ordinary talk."""
    turns = []
    for place, planted in enumerate(PLANTED):
        turns.append((planted.said, planted.answer))
        turns += [_BETWEEN[(place + step) % len(_BETWEEN)] for step in range(2)]
    return turns

"""Facts of two windows: which one holds what, and which of it a turn then needed. Only digests leave here."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from context.contents import PartKind, read_parts
from context.identifiers import extract_identifiers, kept_identifiers, normal
from context.shadow.names import names_of
from context.types import Message, Role

DIGEST_BYTES = 8
"""Long enough that two facts of one window are as good as never one."""

MOST_FACTS = 4_000
"""A window's newest facts; those before them are not looked at."""


@dataclass(frozen=True)
class Compared:
    """What the window that was served holds of facts.

    Attributes:
        both: Facts that the other window holds as well.
        lacking: Facts that it lacks.
    """

    both: frozenset[str]
    lacking: frozenset[str]


@dataclass(frozen=True)
class Needs:
    """Facts that a turn went by, and the tools that it called after the window was read."""

    facts: frozenset[str]
    tools: tuple[str, ...]


@dataclass(frozen=True)
class Loss:
    """How many facts were needed, and how many of them were lost; 0 <= lost <= needed."""

    needed: int
    lost: int


def texts_of(messages: Iterable[Message]) -> list[str]:
    """What messages say, calls and results included, in their order."""
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
    """Find the facts of a window, and which of them another window holds, in whatever spelling.

    Args:
        served: The texts of the window, oldest first.
        other: The texts of the other one.
        most: The most facts, >= 0; the newest count.
        find: `names_in`, or the same with a memory: windows of one read share most of their texts.

    Returns:
        Facts as `normal` folds them.
    """
    newest = (name for text in reversed(served) for name in reversed(find(text)))
    names = dict.fromkeys(islice(newest, most))
    held = {normal(name) for text in other for name in find(text)}
    open_names = [name for name in names if normal(name) not in held]
    spelled = _spelled(other, open_names) if open_names else set()
    lacking = frozenset(normal(name) for name in open_names if name not in spelled)
    return Compared(frozenset(map(normal, names)) - lacking, lacking)


def _spelled(texts: Sequence[str], names: Sequence[str]) -> set[str]:
    """Those that texts hold in another spelling; within a word, a name that is letters alone is none."""
    joined = "\n".join(texts)
    found = kept_identifiers(joined, names)
    plain = normal(joined)
    return {name for name in found if not _is_words(name) or _begins_word(normal(name), plain)}


def _is_words(name: str) -> bool:
    return all(letter.isalpha() or letter.isspace() for letter in name)


def _begins_word(name: str, text: str) -> bool:
    """Whether a name stands at a word's beginning, whatever ending it has there."""
    return re.search(rf"(?<!\w){re.escape(name)}", text) is not None


def holds(texts: Sequence[str], facts: Sequence[str]) -> list[bool]:
    """Say of each fact whether texts hold it, whatever its case, quotes and spacing."""
    kept = set(kept_identifiers("\n".join(texts), facts))
    return [fact in kept for fact in facts]


def needs_of(turn: Sequence[Message], *, new: int) -> Needs:
    """Read what a turn went by: what its user says, and what the answer and the calls after it name.

    What tools return is news to the turn, and was needed from nowhere.

    Args:
        turn: The stored messages that followed the read, oldest first.
        new: How many of them the request brought itself, >= 0.
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
    """Digest facts, sorted: enough to find one again, and nothing that could be read.

    Args:
        facts: Any texts.
        salt: Of this record alone, at most 16 bytes: the same fact looks different in every record.
    """
    return b"".join(sorted(_digest(fact, salt) for fact in set(facts)))


def count_loss(needed: Collection[str], *, both: bytes, lacking: bytes, salt: bytes) -> Loss:
    """Count the needed facts that a window held, and those of them that the other one lacks."""
    held, lost = _unpack(both), _unpack(lacking)
    wanted = {_digest(fact, salt) for fact in needed}
    return Loss(len(wanted & (held | lost)), len(wanted & lost))


def count_blocked(tools: Sequence[str], *, hidden: bytes, salt: bytes) -> int:
    """Count the calls of tools that would have been hidden."""
    gone = _unpack(hidden)
    return sum(_digest(tool, salt) in gone for tool in tools)


def _unpack(packed: bytes) -> set[bytes]:
    return {packed[start : start + DIGEST_BYTES] for start in range(0, len(packed), DIGEST_BYTES)}


def _digest(fact: str, salt: bytes) -> bytes:
    data = fact.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, salt=salt).digest()

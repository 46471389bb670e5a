"""Facts in two windows: shared facts, lacking facts, and later need. Only digests are stored."""

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
class Loss:
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


def count_loss(needed: Collection[str], *, both: bytes, lacking: bytes, salt: bytes) -> Loss:
    """Count the needed facts of a window, and the number missing from the other window."""
    held, lost = _unpack(both), _unpack(lacking)
    wanted = {_digest(fact, salt) for fact in needed}
    return Loss(len(wanted & (held | lost)), len(wanted & lost))


def count_blocked(tools: Sequence[str], *, hidden: bytes, salt: bytes) -> int:
    """Count the calls of tools hidden in the other window."""
    gone = _unpack(hidden)
    return sum(_digest(tool, salt) in gone for tool in tools)


def _unpack(packed: bytes) -> set[bytes]:
    return {packed[start : start + DIGEST_BYTES] for start in range(0, len(packed), DIGEST_BYTES)}


def _digest(fact: str, salt: bytes) -> bytes:
    data = fact.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, salt=salt).digest()

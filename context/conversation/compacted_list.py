"""A caller's history that a provider has compacted: what of the stored history the list stands for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context.conversation.compare import message_key
from context.errors import InvalidInputError
from context.types import Message, Role
from context.wire.parts import PartKind, read_parts


@dataclass(frozen=True)
class CompactedList:
    """The part of a compacted history to compare with the stored history.

    Attributes:
        given: The given messages to compare: what follows the turn of a stored compaction, or the new
            messages with a new compaction, whose window is named.
        places: Indexes of the stored messages to compare with, in the order of the list.
        offset: Index of the first given message in the caller's list; None for a new compaction.
    """

    given: Sequence[Message]
    places: Sequence[int]
    offset: int | None


def read_compacted(stored: Sequence[Message], given: Sequence[Message]) -> CompactedList | None:
    """Find what a compacted history stands for; O(n).

    Clients drop messages before a compaction, keep the words of users only, or put the compaction before the
    newest turns. The newest compaction of the list counts.

    Args:
        stored: The stored history, whole, with large results put back.
        given: The caller's history.

    Returns:
        The messages to compare; None for a history that holds everything, compacted or not.

    Raises:
        InvalidInputError: A message before a new compaction is not stored, and a stored one follows.
    """
    at = max((place for place, message in enumerate(given) if message.compaction), default=-1)
    if at < 0:
        return None
    key = message_key(given[at])
    known = next((p for p in range(len(stored) - 1, -1, -1) if _is_same(stored[p], key)), None)
    if known is not None:
        return None if at >= known else _of_known(stored, given, at, known)
    return None if at >= len(stored) else _of_new(stored, given, at)


def _is_same(message: Message, key: str) -> bool:
    return bool(message.compaction) and message_key(message) == key


def _of_known(stored: Sequence[Message], given: Sequence[Message], at: int, known: int) -> CompactedList:
    """Compare from the compaction on; messages of its window may follow, and come earlier in the log."""
    seqs = {message.seq: place for place, message in enumerate(stored)}
    window = [seqs[seq] for seq in stored[known].compaction if seq in seqs]
    behind = window[window.index(known) :] if known in window else [known]
    places = [*behind, *range(known + 1, len(stored))]
    same = _end_of_head([stored[place] for place in places], given[at:])
    return CompactedList(given[at + same :], places[same:], at + same)


def _end_of_head(stored: Sequence[Message], given: Sequence[Message]) -> int:
    """Count the equal messages up to the next words of a user: they end the turn of the compaction."""
    heads = [
        next((place for place, one in enumerate(side) if place and one.starts_turn), len(side))
        for side in (stored, given)
    ]
    keys = [list(map(message_key, side[:end])) for side, end in zip((stored, given), heads, strict=True)]
    return heads[0] if keys[0] == keys[1] else 0


def _of_new(stored: Sequence[Message], given: Sequence[Message], at: int) -> CompactedList:
    kept, fresh = _match_words(stored, given[:at])
    rest = given[at + 1 :]
    keys, tail = list(map(message_key, rest)), list(map(message_key, stored))
    most = min(len(rest), len(stored))
    again = next((size for size in range(most, 0, -1) if keys[:size] == tail[len(tail) - size :]), 0)
    behind = [message.seq for message in stored[len(stored) - again :]] if again else []
    before = [stored[place].seq for place in kept]
    window = (*before, *range(-len(fresh), 1), *behind)
    compaction = replace(given[at], compaction=window)
    return CompactedList([*fresh, compaction, *rest[again:]], [], None)


def _match_words(stored: Sequence[Message], lead: Sequence[Message]) -> tuple[list[int], Sequence[Message]]:
    """Find the messages before a compaction in the log, in order; the last ones may be new.

    Raises:
        InvalidInputError: A new message stands before a stored one.
    """
    keys = list(map(words_key, stored))
    kept: list[int] = []
    after = 0
    for place, message in enumerate(lead):
        key = words_key(message)
        found = next((index for index in range(after, len(keys)) if keys[index] == key), None)
        if found is None:
            rest = set(map(words_key, lead[place:]))
            if any(key in rest for key in keys[after:]):
                raise InvalidInputError(
                    f"messages[{place}]",
                    "is not stored, and a stored message follows it before the compaction; sync the whole "
                    "history once, then the compacted one",
                )
            return kept, lead[place:]
        kept.append(found)
        after = found + 1
    return kept, []


def words_key(message: Message) -> tuple[Role, str]:
    """Write the words of a message alike in every shape: providers hand words back with ids and states."""
    parts = read_parts(message)
    if not parts or any(part.kind is not PartKind.TEXT for part in parts):
        return message.role, message_key(message)
    return message.role, "\n".join(part.text for part in parts)


def repeats_all_words(stored: Sequence[Message], lead: Sequence[Message]) -> bool:
    """Tell whether messages before a compaction are all words of users stored so far, handed back."""
    said = [words_key(message) for message in stored if message.starts_turn]
    return bool(said) and [words_key(message) for message in lead] == said

"""Comparison of a stored history with a caller's list: unchanged, edited, removed or compacted."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

from context.conversation.erasing import check_replacement
from context.conversation.turns import parse_turn_boundaries
from context.errors import InvalidInputError
from context.types import JsonObject, Message, Role
from context.wire.parts import PartKind, read_parts

MOST_EDITED_TURNS = 20
"""Most turns edited in place; with more edits, the rest of a history is stored anew."""

_LEAST_OVERLAP = 2
"""Fewest messages of a cut history that prove its place."""

_TEXT_KINDS = frozenset({"text", "input_text", "output_text"})
_UNSAID = "cache_control"


@dataclass(frozen=True)
class HistoryDiff:
    """Steps from a stored history to a given history.

    Unchanged and edited turns, followed by the given messages from `new_from` on, are the given history.

    Attributes:
        edited: Turns edited in place: the range of the stored messages, and the range of the given messages.
        removed: Ranges of the stored messages to remove, each a whole turn.
        new_from: Index of the first given message to append.
        unchanged_turns: Number of turns equal in both.
    """

    edited: Sequence[tuple[range, range]] = ()
    removed: Sequence[range] = ()
    new_from: int = 0
    unchanged_turns: int = 0

    @property
    def keeps_all(self) -> bool:
        """True if every stored message stays as it is."""
        return not (self.edited or self.removed)


def compare_histories(stored: Sequence[Message], given: Sequence[Message]) -> HistoryDiff:
    """Find the steps from a stored history to a given history; O(n).

    The stored log has an order for ever, so that a new turn before a stored turn stores the rest anew.

    Args:
        stored: The stored history, whole, with large results put back.
        given: The caller's history, at least one message.
    """
    old_keys, new_keys = list(map(message_key, stored)), list(map(message_key, given))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old_keys, new_keys, strict=False)))
    old_edges = [*parse_turn_boundaries(stored), len(stored)]
    if same == len(stored):
        return HistoryDiff(new_from=same, unchanged_turns=len(old_edges) - 1)
    new_edges = [*parse_turn_boundaries(given), len(given)]
    start = max(edge for edge in {*old_edges} & {*new_edges} if edge <= same)
    olds = [range(*edges) for edges in pairwise(old_edges) if edges[0] >= start]
    news = [range(*edges) for edges in pairwise(new_edges) if edges[0] >= start]
    before = len(old_edges) - 1 - len(olds)
    return _align(_Side(stored, old_keys, olds), _Side(given, new_keys, news), start, before)


@dataclass(frozen=True)
class _Side:
    """A history with its keys, and the turns to align."""

    messages: Sequence[Message]
    keys: Sequence[str]
    turns: Sequence[range]

    def key(self, turn: range) -> tuple[str, ...]:
        return tuple(self.keys[turn.start : turn.stop])


def _align(old: _Side, new: _Side, start: int, unchanged: int) -> HistoryDiff:
    """Walk over the stored turns: keep, edit or remove each; the given turns left over are new."""
    later_old, later_new = Counter(map(old.key, old.turns)), Counter(map(new.key, new.turns))
    edited: list[tuple[range, range]] = []
    removed: list[range] = []
    taken = 0
    for place, turn in enumerate(old.turns):
        key = old.key(turn)
        later_old[key] -= 1
        wanted = new.turns[taken] if taken < len(new.turns) else None
        wanted_key = new.key(wanted) if wanted else ()
        if wanted and key == wanted_key:
            unchanged += 1
        elif later_new[key] > 0 or len(edited) == MOST_EDITED_TURNS:
            removed += old.turns[place:]
            break
        elif wanted and not later_old[wanted_key] and _fits(old, turn, new, wanted):
            edited.append((turn, wanted))
        else:
            removed.append(turn)
            continue
        later_new[wanted_key] -= 1
        taken += 1
    new_from = new.turns[taken].start if taken < len(new.turns) else max(len(new.messages), start)
    return HistoryDiff(edited, removed, new_from, unchanged)


def _fits(old: _Side, old_turn: range, new: _Side, new_turn: range) -> bool:
    """Tell whether each message of a turn can be replaced where it stands."""
    if len(old_turn) != len(new_turn):
        return False
    try:
        for before, after in zip(old_turn, new_turn, strict=True):
            if old.keys[before] != new.keys[after]:
                check_replacement(old.messages[before], new.messages[after], "messages")
    except InvalidInputError:
        return False
    return True


def message_key(message: Message) -> str:
    """Write a message so that equal content has equal text, whoever wrote the message.

    Clients write absent members as null or leave the members out, write one text as a string or as a block,
    and move marks of a cache from message to message.
    """
    return json.dumps(_said(message.body), sort_keys=True, ensure_ascii=False)


def _said(body: JsonObject) -> JsonObject:
    said = _without_unsaid(body)
    content = said.get("content")
    if isinstance(content, list):
        blocks = [_without_unsaid(block) if isinstance(block, dict) else block for block in content]
        said["content"] = blocks[0]["text"] if len(blocks) == 1 and _is_text(blocks[0]) else blocks
    return said


def _without_unsaid(body: JsonObject) -> JsonObject:
    return {name: value for name, value in body.items() if value not in (None, [], "") and name != _UNSAID}


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and set(block) == {"type", "text"} and block["type"] in _TEXT_KINDS


def count_known(stored: Sequence[Message], given: Sequence[Message]) -> int | None:
    """Count the first messages of a whole history that the stored history holds already; O(n).

    The stored history is the beginning of the given history. Or a client drops its oldest messages: then the
    end of the stored history is the beginning. Or the stored history begins later, after a reset: then the
    newest place of the stored history in the given history counts.

    Args:
        stored: The newest stored messages, oldest first, with large results put back.
        given: The caller's history.

    Returns:
        The number of known messages; None if the histories differ.
    """
    old, new = list(map(message_key, stored)), list(map(message_key, given))
    if old == new[: len(old)]:
        return len(old)
    overlap = _match(new, old)[-1]
    if overlap >= _LEAST_OVERLAP:
        return overlap
    ends = [place for place, matched in enumerate(_match(old, new), 1) if matched == len(old)]
    return ends[-1] if ends else None


def _match(pattern: Sequence[str], text: Sequence[str]) -> list[int]:
    """Return the longest beginning of a pattern that ends at each place of a text."""
    borders, states, state = [0], [], 0
    for word in pattern[1:]:
        while state and word != pattern[state]:
            state = borders[state - 1]
        state += word == pattern[state]
        borders.append(state)
    state = 0
    for word in text:
        while state and (state == len(pattern) or word != pattern[state]):
            state = borders[state - 1]
        state += word == pattern[state]
        states.append(state)
    return states


def leading_system(messages: Sequence[Message]) -> int:
    """Count the system messages at the head of a history: they instruct a request, and are no history."""
    return sum(1 for _ in takewhile(lambda message: message.role is Role.SYSTEM, messages))


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

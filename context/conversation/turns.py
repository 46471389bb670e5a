"""Turns, the atoms of every cut, and a history of turns ready to send: mended and in order."""

from bisect import bisect_right
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from context.conversation.tool_calls import (
    NO_CALL,
    PairFaultKind,
    PairRepair,
    answered_calls,
    find_pair_faults,
    match_answers,
    place_answers,
    repair_pairs,
)
from context.errors import InvalidInputError
from context.tokens.message import recounted
from context.types import Message, Role


@dataclass(frozen=True)
class Turn:
    """One turn of a history.

    A turn is unfinished while one of its calls lacks a result. The newest turn is also unfinished while
    nothing has answered the user's words or the last result: the model still has to read the result. An
    earlier turn of words alone, or with a result at its end, is finished, since the conversation went on.

    Attributes:
        start: Index of the first message.
        stop: Index after the last message.
        first_seq: Place of the first message in the log.
        last_seq: Place of the last message in the log.
        tokens: Total cost of the messages.
        finished: True if the turn waits for nothing.
        abandoned: True if the turn is unfinished and a later turn was answered to its end: the open call was
            given up, since providers refuse a request with an open call inside.
    """

    start: int
    stop: int
    first_seq: int
    last_seq: int
    tokens: int
    finished: bool
    abandoned: bool = False


def parse_turn_boundaries(messages: Sequence[Message]) -> list[int]:
    """Find the starts of the turns; O(n).

    A turn starts with the words of a user, except between a call and its result: an interjection there
    belongs to the same turn. Messages before the first words of a user belong to the first turn.

    Args:
        messages: A history in order.

    Returns:
        The index of each turn's first message, ascending from 0; empty for an empty history.
    """
    return _boundaries(messages, match_answers(messages))


def split_turns(messages: Sequence[Message]) -> list[Turn]:
    """Split a history into its turns; O(n).

    Args:
        messages: A history in order.

    Returns:
        The turns, oldest first; together the whole history.
    """
    owners = match_answers(messages)
    answered = answered_calls(messages, owners)
    edges = [*_boundaries(messages, owners), len(messages)]
    turns: list[Turn] = []
    went_on = False
    for start, stop in reversed(list(pairwise(edges))):
        calls = ((index, call_id) for index in range(start, stop) for call_id in messages[index].call_ids)
        settled = all(call in answered for call in calls)
        closed = settled and _is_answered(messages[start:stop])
        finished = settled and (closed or stop < len(messages))
        turns.append(_turn(messages, start, stop, finished=finished, abandoned=went_on and not finished))
        went_on = went_on or closed
    return turns[::-1]


def count_eligible(turns: Sequence[Turn]) -> int:
    """Count the oldest turns ready for a summary: all before the first turn still waiting for something.

    Args:
        turns: The turns of a history, oldest first.

    Returns:
        The number of turns, 0 to all.
    """
    return sum(1 for _ in takewhile(lambda turn: turn.finished or turn.abandoned, turns))


def safe_boundaries(messages: Sequence[Message]) -> list[int]:
    """List the cuts that split no turn and leave something on the left; O(n).

    Args:
        messages: A history in order.

    Returns:
        Indexes, ascending, each > 0. The end of the history is included if the last turn is finished.
    """
    turns = split_turns(messages)
    ends = [turn.stop for turn in turns]
    return ends if turns and turns[-1].finished else ends[:-1]


def snap_to_boundary(boundaries: Sequence[int], target_index: int) -> int:
    """Snap a target to the nearest boundary at or before it, or else to the first boundary after it.

    Args:
        boundaries: The result of `safe_boundaries`.
        target_index: The wanted cut; any integer.

    Returns:
        One of the boundaries; 0 when there is none.
    """
    if not boundaries:
        return 0
    return boundaries[max(bisect_right(boundaries, target_index) - 1, 0)]


def find_safe_boundary(messages: Sequence[Message], target_index: int) -> int:
    """Snap a target cut to a turn boundary, cutting less rather than more; O(n).

    An earlier turn still waiting for a result does not stop a later cut; `count_eligible` tells whether the
    turn may be summarized.

    Args:
        messages: A history in order.
        target_index: The wanted cut; an index outside counts as 0 or as the length.

    Returns:
        The cut such that `messages[:cut]` and `messages[cut:]` both consist of whole turns: the nearest such
        cut at or before the target, else the first after, else 0. The length is a cut only if the last turn
        is finished.
    """
    return snap_to_boundary(safe_boundaries(messages), target_index)


def split_steps(messages: Sequence[Message]) -> list[range]:
    """Split messages into the smallest groups with every call beside its results; O(n).

    Args:
        messages: A turn, or any history, in order.

    Returns:
        Index ranges, ascending and without gaps; parallel calls and all their results share a range.
    """
    held = _held(len(messages), match_answers(messages))
    edges = [index for index, pairs in enumerate(held) if not pairs]
    return [range(start, stop) for start, stop in pairwise(edges)]


def start_of_continued(messages: Sequence[Message], first_new: int) -> int:
    """Find the start of the turn continued by new messages; O(n).

    New messages continue the turn before them if one of them answers a call of that turn, or if none of them
    brings words of a user: only those begin a turn. Instructions alone continue nothing.

    Args:
        messages: Stored messages, then new messages, in order.
        first_new: Index of the first new message.

    Returns:
        The index of the continued turn's first message; `first_new` if the new messages begin a turn.
    """
    new = messages[first_new:]
    begins = any(one.starts_turn for one in new) or all(one.role is Role.SYSTEM for one in new)
    if begins and not any(one.answer_ids for one in new):
        return first_new
    owners = match_answers(messages)
    is_answer = any(owner != NO_CALL and owner < first_new for found in owners[first_new:] for owner in found)
    if begins and not is_answer:
        return first_new
    return max((start for start in _boundaries(messages, owners) if start <= first_new), default=first_new)


def open_turn_of(tail: Sequence[Message], new: Sequence[Message]) -> Sequence[Message]:
    """Return the stored messages of the turn continued by new messages; empty if a new turn begins."""
    return tail[start_of_continued([*tail, *new], len(tail)) :]


def opening_of(turn: Sequence[Message]) -> list[Message]:
    """Return the messages of a turn before its first call, known to the turn's first request."""
    return list(takewhile(lambda message: not message.call_ids and not message.answer_ids, turn))


def newest_step(turn: Sequence[Message]) -> Sequence[Message]:
    """Return the messages from the last call on, new to the turn's next request; without a call, all."""
    calling = [place for place, message in enumerate(turn) if message.call_ids]
    return turn[calling[-1] :] if calling else turn


def _boundaries(messages: Sequence[Message], owners: Sequence[tuple[int, ...]]) -> list[int]:
    if not messages:
        return []
    held = _held(len(messages), owners)
    starts = [index for index, message in enumerate(messages) if message.starts_turn]
    return [0, *(start for start in starts[1:] if not held[start])]


def _held(length: int, owners: Sequence[tuple[int, ...]]) -> list[int]:
    """Count the pairs split by every cut from 0 to the length."""
    change = [0] * (length + 2)
    for index, found in enumerate(owners):
        for owner in found:
            if owner != NO_CALL:
                change[owner + 1] += 1
                change[index + 1] -= 1
    return list(accumulate(change))[: length + 1]


def _is_answered(turn: Sequence[Message]) -> bool:
    """Say whether the model spoke after the user's words and the last result; instructions are no answer."""
    last = next((message for message in reversed(turn) if message.role is not Role.SYSTEM), None)
    return last is not None and last.role is Role.ASSISTANT


def _turn(messages: Sequence[Message], start: int, stop: int, *, finished: bool, abandoned: bool) -> Turn:
    return Turn(
        start=start,
        stop=stop,
        first_seq=messages[start].seq,
        last_seq=messages[stop - 1].seq,
        tokens=sum(messages[index].tokens for index in range(start, stop)),
        finished=finished,
        abandoned=abandoned,
    )


NOT_STORED = 0
"""The `seq` of a message brought by the request."""


@dataclass(frozen=True)
class History:
    """The messages available to a window.

    Attributes:
        torn: The oldest messages, parts of a turn whose beginning was not read.
        turns: Whole stored turns, oldest first.
        ending: The messages always sent, in order: the stored messages of the turn continued by the new
            messages, then the new messages.
        repairs: The repairs to the stored messages.
    """

    torn: Sequence[Message]
    turns: Sequence[Sequence[Message]]
    ending: Sequence[Message]
    repairs: Sequence[PairRepair]

    @property
    def new(self) -> list[Message]:
        """The messages brought by the request."""
        return [message for message in self.ending if message.seq == NOT_STORED]

    @property
    def open_turn(self) -> list[Message]:
        """The stored messages of the turn continued by the new messages."""
        return [message for message in self.ending if message.seq != NOT_STORED]

    @property
    def stored_seqs(self) -> list[int]:
        """The seqs of all sendable stored messages, ascending."""
        turns = (message.seq for turn in self.turns for message in turn)
        return sorted({*turns, *(message.seq for message in self.open_turn)})


def read_history(tail: Sequence[Message], new: Sequence[Message], *, partial: bool = False) -> History:
    """Join stored and new messages into one sendable history.

    Args:
        tail: The newest stored messages, oldest first, without a gap.
        new: The messages of the request, at least one; `seq` is 0.
        partial: True if older messages were not read, so that the first turn may be torn.

    Returns:
        The history, with the tokens of edited messages counted anew.

    Raises:
        InvalidInputError: There is no new message, or a new message answers a call made by nobody, or makes
            a call answered by nobody.
    """
    if not new:
        raise InvalidInputError("messages", "at least one new message is needed")
    whole_from = _end_of_torn(tail) if partial else 0
    given = [*tail[whole_from:], *new]
    mended, repairs = repair_pairs(given)
    _refuse_broken_news(repairs)
    first_new = next(index for index, message in enumerate(mended) if message.seq == NOT_STORED)
    split = start_of_continued(mended, first_new)
    edges = [*parse_turn_boundaries(mended[:split]), split]
    known = frozenset(map(id, given))
    turns = [_placed(mended[start:stop], known) for start, stop in pairwise(edges)]
    return History(tail[:whole_from], turns, _placed(mended[split:], known), repairs)


def _refuse_broken_news(repairs: Sequence[PairRepair]) -> None:
    own = next((repair for repair in repairs if repair.seq == NOT_STORED), None)
    if own is not None:
        raise InvalidInputError(
            "messages",
            f"the new messages have a broken tool call ({own.kind}, id {own.call_id[:80]!r}); "
            "send each call with its result",
            call_id=own.call_id[:200],
            fault=own.kind,
        )


def _placed(turn: Sequence[Message], known: AbstractSet[int]) -> list[Message]:
    """Put a turn's answers behind their calls, and count the edited messages.

    Only now: words between a call and its result would begin a turn after an earlier move.
    """
    placed = place_answers(turn) if any(message.answer_ids for message in turn) else turn
    return [message if id(message) in known else recounted(message) for message in placed]


def _end_of_torn(tail: Sequence[Message]) -> int:
    """Find the start of whole turns: at words of a user, after all results with unread calls."""
    start = next((index for index, message in enumerate(tail) if message.starts_turn), len(tail))
    rest = tail[start:]
    orphans = {
        fault.index for fault in find_pair_faults(rest) if fault.kind is PairFaultKind.RESULT_WITHOUT_CALL
    }
    for first, after in pairwise([*parse_turn_boundaries(rest), len(rest)]):
        if orphans.isdisjoint(range(first, after)):
            return start + first
    return len(tail)

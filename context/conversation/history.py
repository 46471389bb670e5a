"""History of stored and new messages, ready to send: mended, in order, in whole turns."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from context.conversation.tool_pairs import (
    PairFaultKind,
    PairRepair,
    find_pair_faults,
    place_answers,
    repair_pairs,
)
from context.conversation.turns import parse_turn_boundaries, start_of_continued
from context.errors import InvalidInputError
from context.tokens.message_counts import recounted
from context.types import Message

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

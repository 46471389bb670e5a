"""The raw turns of a window, newest first, and blocks of recall in the room beside."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from context.recall.offer import RecallOffer, RecallStatus
from context.tokens import Count, count_text
from context.tokens.message import count_of
from context.types import Message, Wire
from context.window.certify import Taken
from context.window.ending import Cost, last_steps, shorten_turn, without_steps
from context.window.types import Recalled, recall_message

FRAME_TOKENS = 50
"""Upper bound of tokens of the label, the tags and the message around recalled blocks."""

_CHOICES = 3


@dataclass(frozen=True)
class RecallChooser:
    """Chooser of an offer's blocks for a window.

    Attributes:
        offer: The passages found.
        wire: The format of the window.
        price: Upper bound of a count in the model's own tokens.
        rate: Approximate price of a canonical token.
    """

    offer: RecallOffer
    wire: Wire
    price: Callable[[Count], int]
    rate: float

    def choose(self, kept: Recalled, most: int, shown_from: int | None = None) -> Recalled:
        """Choose blocks with a cost of at most `most`, including the frame.

        Args:
            kept: The earlier choice, with the cap and reach to keep.
            most: The most cost, in the model's own tokens.
            shown_from: The session's first raw message in the window; None if all passages are older.
        """
        offer = self.offer
        kept = replace(kept, not_indexed=offer.not_indexed(shown_from))
        tokens = int(most / self.rate) - FRAME_TOKENS
        for _ in range(_CHOICES):
            if tokens <= 0:
                break
            blocks = offer.choose(
                before_seq=shown_from,
                max_tokens=tokens,
                facts=offer.limits.facts_of(most),
                roomy=kept.roomy,
                count=count_text,
            )
            if not blocks:
                break
            if blocks is kept.blocks and kept.cost <= most:
                return kept
            message = recall_message(blocks, self.wire)
            cost = self.price(count_of([message]))
            if cost <= most:
                return replace(kept, blocks=blocks, message=message, cost=cost, status=RecallStatus.SHOWN)
            tokens -= int((cost - most) / self.rate) + 1
        is_found = offer.is_near(shown_from, 0.0)
        why = self._why_nothing(most, is_found=is_found, is_behind=kept.not_indexed > 0)
        return replace(kept, blocks=(), message=None, cost=0, status=why)

    def _why_nothing(self, most: int, *, is_found: bool, is_behind: bool) -> RecallStatus:
        """Return the reason for an empty recall, as far as known before any choice."""
        offer = self.offer
        if offer.status is not None or offer.limits.is_skipped:
            return offer.status or RecallStatus.SKIPPED
        if most < min(offer.limits.tokens, FRAME_TOKENS * 2) and is_found:
            return RecallStatus.DOES_NOT_FIT
        return RecallStatus.NOT_INDEXED_YET if is_behind else RecallStatus.NOTHING_FOUND


SECOND_TURN_SHARE = 0.25
"""Largest share of the room for the newest two turns to stay raw before anything else."""

LOW_WATER = 0.35
"""Share of the room that is filled anew once raw turns no longer fit, so that few requests cut them."""

OLDEST_SHARE = 1 / 8
"""Share of the room for the oldest turn of a window that hides earlier ones: its last steps."""


class RawTurns:
    """Finished turns available to a window, and those taken so far, newest first.

    Where the beginning is steady, a cut is deep and rare, since each cut takes the request out of a
    provider's cache. After a cut the oldest turn shows its last steps alone, in every request alike.
    """

    def __init__(
        self,
        turns: Sequence[Sequence[Message]],
        cost: Cost,
        price: Callable[[Count], int],
    ) -> None:
        """Take no turn yet.

        Args:
            turns: Whole stored turns, oldest first.
            cost: Prices messages in the model's tokens.
            price: Bounds a count in the model's tokens.
        """
        self._turns = [Taken(turn) for turn in turns]
        self._cost, self._price, self._room = cost, price, 0
        self.taken: list[Taken] = []
        self.cost = 0

    def keep_steady(self, room: int) -> None:
        """Keep the beginning steady in a room, > 0: that beside the fixed parts."""
        self._room = room

    def hide_earlier(self) -> None:
        """Show the oldest turn as that of a window that hides earlier ones."""
        if self._room and self._turns:
            self._turns[0] = self._as_oldest(self._turns[0])

    def reset(self) -> None:
        """Take no turn again."""
        self.taken, self.cost = [], 0

    @property
    def messages(self) -> list[Message]:
        """The messages taken, in order."""
        return [message for turn in reversed(self.taken) for message in turn.messages]

    @property
    def first_seq(self) -> int | None:
        """The first message taken."""
        return next((message.seq for message in self.taken[-1].messages), None) if self.taken else None

    @property
    def rest_cost(self) -> int:
        """Bound the cost of the turns not taken."""
        return self._price(count_of(_joined(self._rest)))

    @property
    def _rest(self) -> Sequence[Taken]:
        return self._turns[: len(self._turns) - len(self.taken)]

    def take_last(self, left: int) -> int:
        """Take the newest turn, shortened rather than lost, and the turn before if both are short."""
        room = left
        for turn in reversed(self._turns[-2:]):
            cost = self._cost(turn.messages)
            if self.taken and self.cost + cost > room * SECOND_TURN_SHARE:
                break
            fits = cost <= left
            taken = replace(turn, cost=cost) if fits else shorten_turn(turn.messages, left, self._cost)
            if taken is None:
                break
            left -= self._add(taken)
        return left

    def take_noted(self, most: int) -> bool:
        """Take the newest turn without its steps, since notes tell the results; say whether it fits."""
        taken = without_steps(self._turns[-1].messages, self._cost)
        if taken.cost <= most:
            self._add(taken)
        return bool(self.taken)

    def take_rest(self, left: int) -> int:
        """Take all older turns, or the newest: up to the low water mark where the beginning is steady."""
        if self.taken and self.taken[0].is_shortened and len(self._turns) > 1:
            return left
        room, whole = left + self.cost, _joined(self._turns)
        if self._price(count_of(whole)) <= room and (cost := self._cost(whole)) <= room:
            self.taken, self.cost = self._turns[::-1], cost
            return room - cost
        self.take_newest((int(room * LOW_WATER) if self._room else room) - self.cost)
        return room - self.cost

    def take_newest(self, room: int) -> None:
        """Take further turns, newest first, until one does not fit."""
        for turn in reversed(self._rest):
            cost = self._cost(turn.messages)
            if cost > room:
                break
            room -= self._add(replace(turn, cost=cost))
        if self._room and self.taken and self._rest:
            before = self.taken.pop()
            self.cost -= before.cost
            self._add(self._as_oldest(before))

    def give_back(self, tokens: int) -> int:
        """Leave out the oldest turns until so many tokens are free, the newest shortened rather than lost."""
        before, gone = self.cost, 0
        while self.taken and gone < tokens:
            oldest = self.taken.pop()
            cost = self._cost(oldest.messages)
            newest = self._turns[-1].messages
            shorter = None if self.taken else shorten_turn(newest, cost - (tokens - gone), self._cost)
            if shorter is not None:
                self.taken.append(shorter)
                break
            gone += cost
        self.cost = self._cost(self.messages)
        return before - self.cost

    def _as_oldest(self, turn: Taken) -> Taken:
        return last_steps(turn.messages, int(self._room * OLDEST_SHARE), self._cost)

    def _add(self, taken: Taken) -> int:
        self.taken.append(taken)
        self.cost += taken.cost
        return taken.cost


def _joined(turns: Sequence[Taken]) -> list[Message]:
    return [message for turn in turns for message in turn.messages]

"""What a request must send of the conversation: its new messages, after the turn that they go on with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from context.certify import Taken
from context.history import NOT_STORED
from context.message_counts import recounted
from context.tokens import count_message
from context.trim import Trim, trim_open_turn
from context.types import Message

TRIM_ATTEMPTS = 4
"""How often a turn is shortened again because it costs more in the outgoing format than in its own."""

Cost = Callable[[Sequence[Message]], int]


@dataclass(frozen=True)
class Ending:
    """The end of a window, in the order in which it is sent.

    Attributes:
        stored: The stored turn that goes on; empty where none does.
        new: The new messages; a cut names its message by its index among them.
        messages: Both, in order.
    """

    stored: Taken
    new: Taken
    messages: Sequence[Message] = ()

    @property
    def cost(self) -> int:
        """What it costs in the model's tokens."""
        return self.stored.cost + self.new.cost

    @property
    def parts(self) -> dict[str, int]:
        """Name what it costs, as an error does: a turn that goes on is one part with its new messages."""
        if self.stored.messages or any(message.answer_ids for message in self.new.messages):
            return {"open_turn": self.cost}
        return {"new_messages": self.cost}


def fit_ending(messages: Sequence[Message], room: int, cost: Cost) -> Ending:
    """Price what must be sent, and shorten the results of a turn that goes on where it is too large.

    Args:
        messages: The new messages, after the stored ones of the turn they go on with.
        room: What they may cost, in the model's tokens.
        cost: Prices messages in the model's tokens.

    Returns:
        The messages as they fit; where they fit in no way, as short as they can be.
    """
    ending = _priced(messages, (), cost)
    if ending.cost <= room or not any(message.answer_ids for message in messages):
        return ending
    rate = max(ending.cost / max(sum(message.tokens for message in messages), 1), 0.01)
    budget, shortest = int(room / rate), ending
    for _ in range(TRIM_ATTEMPTS):
        result = trim_open_turn(messages, max(budget, 1), count_stored)
        shorter = list(result.messages)
        for trim in result.trims:
            shorter[trim.index] = recounted(shorter[trim.index])
        shortest = _priced(shorter, result.trims, cost)
        if shortest.cost <= room:
            break
        budget -= int((shortest.cost - room) / rate) + 1
    return shortest


def _priced(messages: Sequence[Message], trims: Sequence[Trim], cost: Cost) -> Ending:
    stored = [message for message in messages if message.seq != NOT_STORED]
    new = [place for place, message in enumerate(messages) if message.seq == NOT_STORED]
    places = {place: own for own, place in enumerate(new)}
    added = [message for message in messages if message.seq == NOT_STORED]
    return Ending(
        Taken(stored, cost(stored) if stored else 0, [one for one in trims if one.index not in places]),
        Taken(
            added,
            cost(added),
            [replace(one, index=places[one.index]) for one in trims if one.index in places],
        ),
        messages,
    )


def count_stored(message: Message) -> int:
    """Count a message as stored ones are counted."""
    return count_message(message.body, message.wire)

"""Turns that must be sent although too large: the end of a request, and the newest finished turn."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from context.certificate import Exclusion
from context.conversation.turns import NOT_STORED, split_steps
from context.tokens import count_message
from context.tokens.message import recounted
from context.types import Message, Role
from context.window.certify import Taken
from context.window.trim import PORTION, Trim, TrimmedTurn, trim_open_turn, trim_turn
from context.window.types import new_message
from context.wire.edit import is_reasoning_item

TRIM_ATTEMPTS = 4
"""Most further shortenings of a turn with a higher cost in the outgoing format."""

NOTE = "[Earlier steps of this turn are left out here: they took more room than there is.]"
"""Note in place of omitted steps, as words of a user."""

Cost = Callable[[Sequence[Message]], int]


@dataclass(frozen=True)
class Ending:
    """The end of a window, in the order of sending.

    Attributes:
        stored: The stored turn that goes on; empty without any.
        new: The new messages; a cut names its message by the index among them.
        messages: Both, in order.
        left_out: The steps of the turn without room.
    """

    stored: Taken
    new: Taken
    messages: Sequence[Message] = ()
    left_out: Sequence[Exclusion] = ()

    @property
    def cost(self) -> int:
        """Cost of the end in the model's tokens."""
        return self.stored.cost + self.new.cost

    @property
    def parts(self) -> dict[str, int]:
        """Name the costs for an error: an open turn is one part with its new messages."""
        if self.stored.messages or any(message.answer_ids for message in self.new.messages):
            return {"open_turn": self.cost}
        return {"new_messages": self.cost}


def fit_ending(messages: Sequence[Message], room: int, cost: Cost) -> Ending:
    """Price the end, and shorten an open turn if too large.

    Results are shortened first, the oldest before newer results. If all results at their shortest are still
    too much, the oldest steps go, calls and results together; the words of users and the latest step stay.

    Args:
        messages: The new messages, after the stored messages of the same turn.
        room: The largest cost, in the model's tokens.
        cost: Prices messages in the model's tokens.

    Returns:
        The messages as they fit; if they fit in no way, as short as possible.
    """
    everything = list(range(len(messages)))
    ending = _priced(messages, everything, messages, (), cost)
    if ending.cost <= room or not any(message.answer_ids for message in messages):
        return ending
    stored = max(sum(message.tokens for message in messages), 1)
    budget, shortest = int(room * stored / max(ending.cost, 1)), ending
    for _ in range(TRIM_ATTEMPTS):
        kept = keep_steps(messages, max(budget, 1))
        result = trim_open_turn([messages[place] for place in kept], max(budget, 1), count_stored)
        shortest = _priced(messages, kept, _recount(result), result.trims, cost)
        if shortest.cost <= room:
            break
        budget = min(int(room * result.tokens / shortest.cost), budget - 1)
    return shortest


def last_steps(turn: Sequence[Message], room: int, cost: Cost) -> Taken:
    """Leave out the oldest steps of a finished turn until the turn fits, calls and results together.

    The words of users, the latest step and the answer stay in any case; so does all of a turn out of order.

    Args:
        turn: The stored messages of the turn.
        room: The wanted cost, in the model's tokens.
        cost: Prices messages in the model's tokens.
    """
    left, gone = cost(turn), set[int]()
    seqs = [message.seq for message in turn]
    for step in _older_steps(turn) if turn[0].starts_turn and seqs == sorted(seqs) else ():
        if left <= room:
            break
        gone.update(step)
        left -= cost([turn[place] for place in step])
    kept = [place for place in range(len(turn)) if place not in gone]
    ending = _priced(turn, kept, [turn[place] for place in kept], (), cost)
    if not gone:
        return Taken(turn, left)
    opening = [turn[place] for place in kept if place < max(gone)]
    return Taken(ending.messages, cost(ending.messages), left_out=ending.left_out, opening=opening)


def shorten_turn(messages: Sequence[Message], room: int, cost: Cost) -> Taken | None:
    """Shorten the results of a finished turn until the turn fits; leave out steps too if needed.

    Older steps go first, as in an open turn, then all steps; the words of users and the answer stay.

    Args:
        messages: The stored messages of the turn.
        room: The largest cost, in the model's tokens.
        cost: Prices messages in the model's tokens.

    Returns:
        The turn as it fits; None if the turn fits in no way.
    """
    shorter = _shorten_results(messages, room, cost)
    if shorter is not None or room <= 0:
        return shorter
    kept = fit_ending(messages, room, cost)
    price = cost(kept.messages)
    shorter = Taken(kept.messages, price, kept.stored.trims, kept.left_out)
    shorter = shorter if price <= room else without_steps(messages, cost)
    return shorter if shorter.cost <= room else None


def without_steps(turn: Sequence[Message], cost: Cost) -> Taken:
    """Leave the words of users and the answer of a finished turn; all of a turn without an answer.

    Args:
        turn: The stored messages of the turn.
        cost: Prices messages in the model's tokens.
    """
    *steps, last = split_steps(turn)
    is_answered = len(last) == 1 and not turn[last.start].call_ids and not turn[last.start].answer_ids
    words = [place for step in steps for place in step if _is_words_of_others(turn[place])]
    kept = [*words, *last] if is_answered else list(range(len(turn)))
    short = _priced(turn, kept, [turn[place] for place in kept], (), cost)
    return Taken(short.messages, cost(short.messages), left_out=short.left_out)


def _shorten_results(messages: Sequence[Message], room: int, cost: Cost) -> Taken | None:
    rate = max(cost(messages) / max(sum(message.tokens for message in messages), 1), 0.01)
    budget = int(room / rate)
    for _ in range(TRIM_ATTEMPTS):
        result = trim_turn(messages, budget, count_stored) if budget > 0 else None
        if result is None:
            return None
        shorter = _recount(result)
        price = cost(shorter)
        if price <= room:
            return Taken(shorter, price, result.trims)
        budget -= int((price - room) / rate) + 1
    return None


def _recount(result: TrimmedTurn) -> list[Message]:
    """Count the shortened messages anew."""
    cut = {trim.index for trim in result.trims}
    return [recounted(one) if place in cut else one for place, one in enumerate(result.messages)]


def shortest_tokens(messages: Sequence[Message]) -> int:
    """Return the least size of an open turn, in stored tokens."""
    if not any(message.answer_ids for message in messages):
        return sum(message.tokens for message in messages)
    kept = [messages[place] for place in keep_steps(messages, 1)]
    return trim_open_turn(kept, 1, count_stored).tokens


def keep_steps(messages: Sequence[Message], budget_tokens: int) -> list[int]:
    """Choose the steps of a turn to keep if even the shortest results are too much.

    The omitted part is a multiple of a share of the room, for the sake of a provider's cache.

    Args:
        messages: The turn so far, the new messages included.
        budget_tokens: The token budget of the turn, > 0.

    Returns:
        The indexes of the messages that stay, ascending.
    """
    shortest = trim_open_turn(messages, 1, count_stored).messages
    least = [
        (short if whole.answer_ids else whole).tokens for short, whole in zip(shortest, messages, strict=True)
    ]
    over = sum(least) - budget_tokens
    if over <= 0:
        return list(range(len(messages)))
    portion = max(int(budget_tokens * PORTION), 1)
    to_free = -(-over // portion) * portion
    gone: set[int] = set()
    for step in _older_steps(messages):
        if to_free <= 0:
            break
        gone.update(step)
        to_free -= sum(least[place] for place in step)
    return [place for place in range(len(messages)) if place not in gone]


def _older_steps(messages: Sequence[Message]) -> Iterator[range]:
    """Yield the droppable steps, oldest first: no words of users, and not the latest call with its results.

    A step of reasoning goes together with the next step.
    """
    steps: list[range] = []
    for step in split_steps(messages):
        follows = bool(steps) and all(is_reasoning_item(messages[place]) for place in steps[-1])
        start = steps.pop().start if follows else step.start
        steps.append(range(start, step.stop))
    answering = [place for place, step in enumerate(steps) if any(messages[one].answer_ids for one in step)]
    for step in steps[: answering[-1]] if answering else ():
        if not any(_is_words_of_others(messages[place]) for place in step):
            yield step


def _is_words_of_others(message: Message) -> bool:
    """Tell whether a user or the platform says something."""
    return message.starts_turn or message.role is Role.SYSTEM


def _priced(
    given: Sequence[Message],
    kept: Sequence[int],
    messages: Sequence[Message],
    trims: Sequence[Trim],
    cost: Cost,
) -> Ending:
    """Price a turn with only some messages kept, each perhaps shortened."""
    own, is_new = _own_places(given), [message.seq == NOT_STORED for message in given]
    shown = list(messages)
    gone = sorted(set(range(len(given))).difference(kept))
    if gone:
        at = sum(place < gone[0] for place in kept)
        body = {"role": "user", "content": NOTE}
        shown.insert(at, new_message(body, Role.USER, wire=messages[0].wire))
    stored = [message for message in shown if message.seq != NOT_STORED]
    added = [message for message in shown if message.seq == NOT_STORED]
    named = [replace(one, index=own[kept[one.index]]) for one in trims]
    return Ending(
        Taken(stored, cost(stored) if stored else 0, [one for one in named if one.seq != NOT_STORED]),
        Taken(added, cost(added), [one for one in named if one.seq == NOT_STORED]),
        shown,
        [_left_out(given, own, run, cost) for run in _runs(own, gone, is_new)],
    )


def _own_places(given: Sequence[Message]) -> list[int]:
    """Number the messages: new messages from 0, stored messages by their place in the log."""
    places, new = [], 0
    for message in given:
        places.append(message.seq if message.seq != NOT_STORED else new)
        new += message.seq == NOT_STORED
    return places


def _runs(own: Sequence[int], gone: Collection[int], is_new: Sequence[bool]) -> Iterator[list[int]]:
    """Yield runs of neighbours in the log, stored and new messages apart."""
    order = sorted(range(len(own)), key=lambda place: (is_new[place], own[place]))
    for (is_gone, _), run in groupby(order, key=lambda place: (place in gone, is_new[place])):
        if is_gone:
            yield list(run)


def _left_out(given: Sequence[Message], own: Sequence[int], run: Sequence[int], cost: Cost) -> Exclusion:
    is_new = given[run[0]].seq == NOT_STORED
    first, last = own[run[0]] + is_new, own[run[-1]] + is_new
    what = f"{'new ' if is_new else ''}messages {first}-{last}"
    return Exclusion(what, "does-not-fit", cost([given[place] for place in run]))


def count_stored(message: Message) -> int:
    """Count a message like stored messages."""
    return count_message(message.body, message.wire)

"""Taking messages out of a log: what must go with them, so that no call and no result is left alone."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from context.artifacts.toolcalls import read_calls
from context.errors import InvalidInputError
from context.message_counts import recounted
from context.pair_bodies import is_reasoning_item, without_answers, without_calls
from context.pairing import NO_CALL, match_answers
from context.types import Message, Role


@dataclass(frozen=True)
class Removal:
    """What goes.

    Attributes:
        gone: The messages that go whole, by seq.
        calls: The calls that are taken out of messages that stay, by seq.
        answers: The results that are taken out of messages that stay, by seq.
    """

    gone: frozenset[int] = frozenset()
    calls: dict[int, frozenset[str]] = field(default_factory=dict)
    answers: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def trimmed(self) -> list[int]:
        """The messages that lose a part, ascending."""
        return sorted({*self.calls, *self.answers})


def plan_removal(
    messages: Sequence[Message], targets: Collection[int], *, turn_of: Mapping[int, int]
) -> Removal:
    """Find what goes with messages that are erased; O(n).

    The other half of a pair goes too: the result of a call, the call of a result. Words beside it stay, and
    so do parallel calls with their results. A reasoning item and the item that it led to go together: a
    provider refuses either without the other. One answer of a model made both, so they are of one turn, and
    nothing of another turn goes for them.

    Args:
        messages: A stretch of a log in its order, with the calls and results that belong to the targets.
        targets: The messages to erase, by seq; those that are not in the stretch are passed over.
        turn_of: The index of each message's turn, by seq.
    """
    owners = match_answers(messages)
    turns = [turn_of[message.seq] for message in messages]
    gone = _with_reasoning(
        messages, turns, {i for i, message in enumerate(messages) if message.seq in targets}
    )
    calls: defaultdict[int, set[str]] = defaultdict(set)
    answers: defaultdict[int, set[str]] = defaultdict(set)
    for index, found in enumerate(owners):
        for owner, call_id in zip(found, messages[index].answer_ids, strict=True):
            if owner == NO_CALL or (index in gone) == (owner in gone):
                continue
            if index in gone:
                calls[messages[owner].seq].add(call_id)
            else:
                answers[messages[index].seq].add(call_id)
    return Removal(
        frozenset(messages[index].seq for index in gone),
        {seq: frozenset(ids) for seq, ids in calls.items()},
        {seq: frozenset(ids) for seq, ids in answers.items()},
    )


def _with_reasoning(messages: Sequence[Message], turns: Sequence[int], targets: set[int]) -> set[int]:
    gone = set(targets)
    for group in _reasoned(messages, turns):
        if not targets.isdisjoint(group):
            gone.update(group)
    return gone


def _reasoned(messages: Sequence[Message], turns: Sequence[int]) -> Iterator[range]:
    """Reasoning items in a row, each time with the item of the same turn that they led to."""
    start = 0
    for index, message in enumerate(messages):
        if turns[index] != turns[start]:
            start = index
        if is_reasoning_item(message):
            continue
        if start < index and message.role is Role.ASSISTANT:
            yield range(start, index + 1)
        start = index + 1


def trim(message: Message, removal: Removal) -> Message | None:
    """Take out of a message what a removal says.

    Args:
        message: One of `removal.trimmed`.
        removal: What goes.

    Returns:
        The message, counted anew; None where nothing is left of it that could be sent.
    """
    rest = without_calls(message, removal.calls.get(message.seq, frozenset()))
    if rest is not None:
        rest = without_answers(rest, removal.answers.get(message.seq, frozenset()))
    return None if rest is None else recounted(rest)


def check_replacement(old: Message, new: Message, field_name: str) -> None:
    """Refuse other words for a message that would change its place in the conversation.

    Args:
        old: The message as it is stored.
        new: What would take its place, in the same wire format.
        field_name: What the message is called in the request.

    Raises:
        InvalidInputError: Its role is another one, or it makes or answers other calls or calls other tools.
    """
    if new.role is not old.role:
        raise InvalidInputError(
            f"{field_name}.role", f"must stay {str(old.role)!r}: an edit changes words, not who says them"
        )
    for ids, kept, what in (
        (new.call_ids, old.call_ids, "make exactly the tool calls"),
        (new.answer_ids, old.answer_ids, "answer exactly the tool calls"),
    ):
        if sorted(ids) != sorted(kept):
            names = ", ".join(repr(name[:80]) for name in kept) or "none"
            raise InvalidInputError(
                field_name,
                f"must {what} of the stored message: {names}; erase the message to be rid of them",
                call_ids=[name[:200] for name in kept],
            )
    tools = {call.call_id: call.name for call in read_calls([old]).values()}
    for call in read_calls([new]).values():
        if call.name != tools.get(call.call_id, call.name):
            raise InvalidInputError(
                field_name,
                f"the call {call.call_id[:80]!r} must stay one of the tool {tools[call.call_id][:80]!r}: its "
                "result is that tool's",
                call_id=call.call_id[:200],
            )

"""Removal of messages from a log, together with calls and results that would be left alone."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from context.conversation.tool_calls import NO_CALL, match_answers, read_calls
from context.errors import InvalidInputError
from context.tokens.message import recounted
from context.types import Message, Role
from context.wire.edit import is_reasoning_item, without_answers, without_calls


@dataclass(frozen=True)
class Removal:
    """A planned removal.

    Attributes:
        gone: The messages to remove whole, by seq.
        calls: The calls to cut out of remaining messages, by seq.
        answers: The results to cut out of remaining messages, by seq.
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
    """Find everything to remove along with erased messages; O(n).

    The other half of a pair goes too: the result of a call, the call of a result. Words beside a pair stay,
    and so do parallel calls with their results. A reasoning item goes together with the item after the
    reasoning, because a provider refuses either alone. One answer of a model made both items, so both belong
    to one turn, and nothing of another turn is removed.

    Args:
        messages: A stretch of a log in order, with the calls and results that belong to the targets.
        targets: The messages to erase, by seq; seqs outside the stretch are passed over.
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
    """Yield runs of reasoning items, each with the following item of the same turn."""
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
    """Cut the calls and results of a removal out of a message.

    Args:
        message: One of `removal.trimmed`.
        removal: The removal.

    Returns:
        The message, counted anew; None if nothing sendable is left.
    """
    rest = without_calls(message, removal.calls.get(message.seq, frozenset()))
    if rest is not None:
        rest = without_answers(rest, removal.answers.get(message.seq, frozenset()))
    return None if rest is None else recounted(rest)


def check_replacement(old: Message, new: Message, field_name: str) -> None:
    """Refuse a replacement that would change a message's place in the conversation.

    Args:
        old: The message as stored.
        new: The replacement, in the same wire format.
        field_name: The name of the message in the request.

    Raises:
        InvalidInputError: The role differs, or the new message makes or answers other calls or calls other
            tools.
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

"""Tool calls and results: read in few words, paired, and repaired where a pair is broken."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from context.text.cut import clip, drop_encoded, one_line
from context.text.sanitize import decode_inner
from context.types import Message, Role
from context.wire.edit import is_reasoning_item, number_occurrences, only_answers, without
from context.wire.formats import format_of
from context.wire.parts import PartKind, read_parts


@dataclass(frozen=True)
class ToolCall:
    """One tool call as made by its message.

    Attributes:
        call_id: The id.
        name: The tool.
        arguments: The arguments: JSON text, or any other text written by a model.
    """

    call_id: str
    name: str
    arguments: str = ""


def read_calls(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """List the calls of messages by id; of equal ids the last counts.

    Args:
        messages: Messages of any wire format, in order.

    Returns:
        The calls; calls without an id are left out.
    """
    return {
        part.call_id: ToolCall(part.call_id, part.name, part.text)
        for message in messages
        if message.call_ids
        for part in read_parts(message)
        if part.kind is PartKind.CALL and part.call_id
    }


NO_CALLS: Mapping[str, ToolCall] = {}


def render_arguments(arguments: str, argument_chars: int, all_chars: int) -> str:
    """Write a call's arguments as `key="value"`, each value clipped.

    Args:
        arguments: JSON text, or any other text written by a model.
        argument_chars: The most characters of one argument, >= 1.
        all_chars: The most characters of all, >= 1.

    Returns:
        One line.
    """
    try:
        values: Any = decode_inner(arguments) if arguments else {}
    except (ValueError, RecursionError):
        values = arguments
    if not isinstance(values, Mapping):
        return one_line(drop_encoded(str(values)), all_chars)
    pairs = (f"{key}={_argument(value, argument_chars)}" for key, value in values.items())
    return clip(", ".join(pairs), all_chars)


def _argument(value: Any, max_chars: int) -> str:
    if isinstance(value, str):
        return f'"{one_line(drop_encoded(value), max_chars)}"'
    return one_line(json.dumps(value, ensure_ascii=False), max_chars)


NO_CALL = -1
"""Marker for an answer without a call."""


class PairFaultKind(StrEnum):
    """Ways in which a tool call and its result fail to be one pair."""

    CALL_WITHOUT_RESULT = "call-without-result"
    RESULT_WITHOUT_CALL = "result-without-call"
    DUPLICATE_RESULT = "duplicate-result"
    DUPLICATE_CALL_ID = "duplicate-call-id"


_OF_CALLS = frozenset({PairFaultKind.CALL_WITHOUT_RESULT, PairFaultKind.DUPLICATE_CALL_ID})


@dataclass(frozen=True)
class PairFault:
    """One broken pair.

    Attributes:
        kind: The fault.
        index: Index of the message at fault.
        call_id: The id with no partner, or too many.
        occurrence: Number among equal ids within the message, 0 for the first.
    """

    kind: PairFaultKind
    index: int
    call_id: str
    occurrence: int = 0


@dataclass(frozen=True)
class PairRepair:
    """Content removed by a repair.

    Attributes:
        kind: The repaired fault.
        seq: The message concerned.
        call_id: The call whose remains were removed.
        message_dropped: True if nothing else was left of the message.
    """

    kind: PairFaultKind
    seq: int
    call_id: str
    message_dropped: bool


def match_answers(messages: Sequence[Message]) -> list[tuple[int, ...]]:
    """Find for every answer the message with its call; O(n).

    Later turns use ids again, so an answer belongs to the most recent earlier open call with its id.

    Args:
        messages: A history in order.

    Returns:
        For every message, as many indexes as answers; `NO_CALL` for an answer without a call.
    """
    open_calls: defaultdict[str, list[int]] = defaultdict(list)
    owners: list[tuple[int, ...]] = []
    for index, message in enumerate(messages):
        if message.answer_ids:
            waiting = [open_calls[call_id] for call_id in message.answer_ids]
            owners.append(tuple(calls.pop() if calls else NO_CALL for calls in waiting))
        else:
            owners.append(())
        for call_id in message.call_ids:
            open_calls[call_id].append(index)
    return owners


def answered_calls(messages: Sequence[Message], owners: Sequence[tuple[int, ...]]) -> set[tuple[int, str]]:
    """Collect the calls with a result, as (index of the message, call id).

    Args:
        messages: A history in order.
        owners: The result of `match_answers` for the history.
    """
    return {
        (owner, call_id)
        for message, found in zip(messages, owners, strict=True)
        for owner, call_id in zip(found, message.answer_ids, strict=True)
        if owner != NO_CALL
    }


def find_pair_faults(messages: Sequence[Message]) -> list[PairFault]:
    """Name everything that keeps calls and results from being pairs; O(n).

    An id used twice in one message counts as one call: the first.

    Args:
        messages: A history in order.

    Returns:
        The faults in the order of the messages; empty when all pairs are whole.
    """
    if not any(message.call_ids or message.answer_ids for message in messages):
        return []
    owners = match_answers(messages)
    answered = answered_calls(messages, owners)
    faults = _result_faults(messages, owners) + _call_faults(messages, answered)
    return sorted(faults, key=lambda fault: fault.index)


def pairs_intact(messages: Sequence[Message]) -> bool:
    """Say whether every call has exactly one result and every result its call."""
    return not find_pair_faults(messages)


def repair_pairs(messages: Sequence[Message]) -> tuple[list[Message], list[PairRepair]]:
    """Make a history with broken pairs sendable without inventing anything.

    Results without a call and calls without a result are removed; a message goes when nothing else is left.
    Whole pairs are not touched, and a second repair finds nothing to do. The tokens of an edited message stay
    unchanged: an upper bound until counted again.

    Args:
        messages: A history in order.

    Returns:
        The sendable history, and the removed content in the order of the messages.
    """
    faults: defaultdict[int, list[PairFault]] = defaultdict(list)
    for fault in find_pair_faults(messages):
        faults[fault.index].append(fault)
    rests = {index: _without_faults(messages[index], found) for index, found in faults.items()}
    going_on = _going_on(messages, rests)
    kept: list[Message] = []
    repairs: list[PairRepair] = []
    for index, message in enumerate(messages):
        if index not in rests:
            kept.append(message)
            continue
        rest = rests[index]
        if rest is None:
            if index not in going_on:
                repairs += _drop_reasoning(kept, message, faults[index][0])
        else:
            kept.append(rest)
        repairs += [
            PairRepair(fault.kind, message.seq, fault.call_id, rest is None) for fault in faults[index]
        ]
    return kept, repairs


def place_answers(messages: Sequence[Message]) -> list[Message]:
    """Move every answer to its call, past words in between; O(n).

    Chat completions and Anthropic messages refuse a request with anything between a call and its result.
    Responses items stay in place, unless two open calls share an id. A history in order comes back unchanged.

    Args:
        messages: A history in order.

    Returns:
        The same messages; only answers apart from their call have moved. One message with answers to several
        calls with words between them becomes several messages, each with the tokens of the whole.
    """
    messages = _one_place_each(messages)
    tangled = _tangled_calls(messages)
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    roots: list[int] = []
    for index, found in enumerate(match_answers(messages)):
        call = max(found, default=NO_CALL)
        movable = call != NO_CALL and (not format_of(messages[call].wire).is_list_of_items or call in tangled)
        (waiting[call] if movable else roots).append(index)
    order = []
    pending = roots[::-1]
    while pending:
        index = pending.pop()
        order.append(messages[index])
        pending += reversed(waiting[index])
    return order


def _tangled_calls(messages: Sequence[Message]) -> set[int]:
    """Find calls still open while another call with the same id was made."""
    tangled: set[int] = set()
    open_calls: defaultdict[str, list[int]] = defaultdict(list)
    for index, message in enumerate(messages):
        for call_id in message.answer_ids:
            if open_calls[call_id]:
                open_calls[call_id].pop()
        for call_id in message.call_ids:
            if open_calls[call_id]:
                tangled.update((*open_calls[call_id], index))
            open_calls[call_id].append(index)
    return tangled


def _one_place_each(messages: Sequence[Message]) -> Sequence[Message]:
    """Divide messages with results for several places."""
    if all(len(message.answer_ids) <= 1 for message in messages):
        return messages
    owners = match_answers(messages)
    answering: defaultdict[int, set[int]] = defaultdict(set)
    for index, found in enumerate(owners):
        for caller in found:
            answering[caller].add(index)
    divided: list[Message] = []
    for index, (message, found) in enumerate(zip(messages, owners, strict=True)):
        callers = sorted(set(found) - {NO_CALL})
        together = len(callers) <= 1 or (
            _are_one(messages[callers[0] : callers[-1] + 1], message)
            and all(answering[between] <= {index} for between in range(callers[0], callers[-1]))
        )
        divided += [message] if together else _divide(message, found, callers)
    return divided


def _are_one(callers: Sequence[Message], answer: Message) -> bool:
    """Say whether calling messages can go out as one message with all the calls of one answer."""
    same = all(one.role is Role.ASSISTANT and one.wire is answer.wire for one in callers)
    return same and len(set(answer.answer_ids)) == len(answer.answer_ids)


def _divide(message: Message, found: Sequence[int], callers: Sequence[int]) -> list[Message]:
    """Make a message for each caller, the latest first like matched ids; the first keeps the words."""
    numbered = number_occurrences(message.answer_ids)
    answers = {
        caller: frozenset(one for one, owner in zip(numbered, found, strict=True) if owner == caller)
        for caller in callers
    }
    earlier = frozenset[tuple[str, int]]().union(*(answers[caller] for caller in callers[:-1]))
    rest = without(message, calls=frozenset(), answers=earlier)
    others = [only_answers(message, answers[caller]) for caller in reversed(callers[:-1])]
    return [rest, *others] if rest else others


def _result_faults(messages: Sequence[Message], owners: Sequence[tuple[int, ...]]) -> list[PairFault]:
    """Find results that answer nothing, or answer a call again."""
    faults = []
    called: set[str] = set()
    answered: set[tuple[int, str]] = set()
    for index, (message, found) in enumerate(zip(messages, owners, strict=True)):
        called.update(message.call_ids)
        for (call_id, occurrence), owner in zip(number_occurrences(message.answer_ids), found, strict=True):
            if (owner, call_id) in answered or (owner == NO_CALL and call_id in called):
                faults.append(PairFault(PairFaultKind.DUPLICATE_RESULT, index, call_id, occurrence))
            elif owner == NO_CALL:
                faults.append(PairFault(PairFaultKind.RESULT_WITHOUT_CALL, index, call_id, occurrence))
            else:
                answered.add((owner, call_id))
    return faults


def _call_faults(messages: Sequence[Message], answered: set[tuple[int, str]]) -> list[PairFault]:
    """Find unanswered calls, and ids used twice by one message."""
    faults = []
    for index, message in enumerate(messages):
        for call_id, occurrence in number_occurrences(message.call_ids):
            if occurrence:
                faults.append(PairFault(PairFaultKind.DUPLICATE_CALL_ID, index, call_id, occurrence))
            elif (index, call_id) not in answered:
                faults.append(PairFault(PairFaultKind.CALL_WITHOUT_RESULT, index, call_id))
    return faults


def _without_faults(message: Message, faults: Sequence[PairFault]) -> Message | None:
    """Remove exactly the calls and results at fault."""
    calls = {(fault.call_id, fault.occurrence) for fault in faults if fault.kind in _OF_CALLS}
    answers = {(fault.call_id, fault.occurrence) for fault in faults if fault.kind not in _OF_CALLS}
    return without(message, calls=calls, answers=answers)


def _going_on(messages: Sequence[Message], rests: Mapping[int, Message | None]) -> set[int]:
    """Find the removed messages that another item of the same response follows."""
    going_on: set[int] = set()
    removed = {index for index, rest in rests.items() if rest is None}
    for index in sorted(removed, reverse=True):
        after = messages[index + 1] if index + 1 < len(messages) else None
        if after is None or after.role is not Role.ASSISTANT or is_reasoning_item(after):
            continue
        if index + 1 not in removed or index + 1 in going_on:
            going_on.add(index)
    return going_on


def _drop_reasoning(kept: list[Message], dropped: Message, fault: PairFault) -> list[PairRepair]:
    """Remove reasoning items that led to a dropped call: Responses refuses such reasoning alone."""
    repairs: list[PairRepair] = []
    if not dropped.call_ids:
        return repairs
    while kept and is_reasoning_item(kept[-1]):
        repairs.insert(0, PairRepair(fault.kind, kept.pop().seq, fault.call_id, message_dropped=True))
    return repairs

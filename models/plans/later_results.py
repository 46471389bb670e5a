"""Outcomes of planned steps whose results come with a later turn, or with a later part of the turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text

from context.tool_plans.outcomes import match_outcomes, merge_outcomes, read_tool_ends
from context.types import Message
from models.conversations.history import load_oldest
from models.conversations.log import AcceptedTurn, NewTurn
from models.plans.outcome import announce_outcome, keep_outcomes, lock_plans
from models.scope import Scope

REACH = 20
"""Turns before a result in which its plan is looked for."""

MOST_MESSAGES = 500
"""Most messages of an exchange that are read for the outcomes of a plan."""

_PLANS = text(
    """
    select p.plan_id, t.first_seq, coalesce((
        select min(m.seq) - 1 from message m where m.tenant_id = t.tenant_id and m.session_id = t.session_id
            and m.seq > t.last_seq and m.role = 'user' and coalesce(cardinality(m.answer_ids), 0) = 0
    ), :last_seq) as end_seq
    from turn t join plan_history p using (tenant_id, session_id, turn_id)
    where t.tenant_id = :tenant_id and t.session_id = :session_id and p.status = 'ready'
        and t.turn_index between :turn_index - :reach and :turn_index and t.first_seq < :first_seq
    """
)
"""Plans of the last turns, each with the end of its exchange: there a user says something else."""

_OWNERS = text(
    """
    select seq, call_ids from message
    where tenant_id = :tenant_id and session_id = :session_id and seq < :first_seq
        and turn_index >= :turn_index - :reach and call_ids && cast(:call_ids as text[])
    order by seq
    """
)


def join_later_results(scope: Scope, stored: Sequence[tuple[NewTurn, AcceptedTurn]]) -> None:
    """Join results to open steps of plans of earlier turns, or of an earlier part of the same turn.

    A result belongs to the plan of the turn with its call. Calls and results of a turn without words of a
    user belong to the exchange before the turn. A step with an outcome keeps the outcome.

    Args:
        scope: The transaction that stores the turns, with the tenant; the sessions are locked.
        stored: New turns with their places, or the new messages of a turn with their own.
    """
    for turn, place in stored:
        late = _late_answers(turn.messages)
        if late or _goes_on(turn.messages):
            _join(scope, turn, place, late)


def _late_answers(messages: Sequence[Message]) -> set[str]:
    """The ids of answered calls that the messages did not make."""
    made: set[str] = set()
    late: set[str] = set()
    for message in messages:
        late.update(set(message.answer_ids) - made)
        made.update(message.call_ids)
    return late


def _goes_on(messages: Sequence[Message]) -> bool:
    """Tell whether a result comes before any words of a user."""
    first = next((message for message in messages if message.answer_ids or message.starts_turn), None)
    return first is not None and not first.starts_turn


def _join(scope: Scope, turn: NewTurn, place: AcceptedTurn, late: set[str]) -> None:
    about = {
        "session_id": turn.session_id,
        "turn_index": place.turn_index,
        "first_seq": place.first_seq,
        "last_seq": place.last_seq,
        "reach": REACH,
    }
    plans = scope.execute(_PLANS, **about).all()
    if not plans:
        return
    announce_outcome(scope)
    owners = _owners(scope, about, late)
    known = lock_plans(scope, sorted(plan.plan_id for plan in plans))
    begins = sorted({plan.first_seq for plan in plans} | {place.last_seq + 1})
    for plan_id, first_seq, end_seq in plans:
        steps = known[plan_id]["steps"] if plan_id in known else ()
        open_orders = {step["order"] for step in steps if not step.get("outcome")}
        end = min(end_seq, next(begin for begin in begins if begin > first_seq) - 1)
        new = _of_exchange(turn.messages, place.first_seq, owners, range(first_seq, end + 1))
        if open_orders and any(message.answer_ids for message in new):
            bounds = {"after_seq": first_seq - 1, "up_to_seq": min(end, place.first_seq - 1)}
            before = load_oldest(scope, turn.session_id, **bounds, most=MOST_MESSAGES)
            found = match_outcomes(steps, read_tool_ends([*before, *new]))
            merged = merge_outcomes(steps, [one for one in found if one.order in open_orders])
            keep_outcomes(scope, plan_id, merged, turn_id=turn.turn_id, at=turn.completed_at)


def _owners(scope: Scope, about: Mapping[str, Any], late: set[str]) -> dict[str, int]:
    """Find the seq of the newest message with each call."""
    rows = scope.execute(_OWNERS, **about, call_ids=sorted(late))
    return {call_id: row.seq for row in rows for call_id in late.intersection(row.call_ids)}


def _of_exchange(
    messages: Sequence[Message], first_seq: int, owners: Mapping[str, int], exchange: range
) -> list[Message]:
    """Select the new messages within an exchange, and those with a result of a call there."""
    return [
        message
        for seq, message in enumerate(messages, first_seq)
        if seq in exchange or any(owners.get(call_id) in exchange for call_id in message.answer_ids)
    ]

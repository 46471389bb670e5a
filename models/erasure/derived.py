"""Data derived from a session's words beside summaries: index, readings, plans, decisions, work."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, delete, func, literal, text

from context.focus import normalise
from models.artifacts.plan import drop_session_plans
from models.artifacts.sealing import key_forms
from models.artifacts.summary import SummaryKey, open_focus
from models.due_work.queue import WorkKind
from models.due_work.waiting import forget_refusals
from models.encryption.keys import TextUnavailableError
from models.erasure.log import Receipt
from models.ledger.call import forget_calls
from models.plans.outcome import note_erased_plans
from models.plans.plan import Plan
from models.scope import Scope

WITH_THE_SESSION = (
    "artifact_use",
    "chat_prefix",
    "limit_sighting",
    "summary_part",
    "summary",
    "recall_passage",
    "recall_term",
    "recall_progress",
    "preflight_decision",
    "preflight_session",
    "message",
    "turn",
)
"""Tables with rows deleted and counted together with a session."""

_KEYED_OTHERWISE = [kind.value for kind in WorkKind if not kind.by_session]

_REVOKE = text(
    """
    update due_work set state = 'ready', lease = null, lease_until = null,
        due_at = greatest(now(), rests_until), attempts = greatest(attempts - 1, 0),
        last_outcome = 'begun anew: what it read was changed'
    where tenant_id = :tenant_id and key = :session_id and kind <> all(:others) and state = 'running'
    returning kind
    """
)


def revoke_work(scope: Scope, session_id: str, receipt: Receipt) -> None:
    """Revoke the leases on the work of a session: data held in the workers' memory is out of date.

    The workers can store nothing any more, finished chunks included, and the work begins again at once. The
    caller holds the session's row: a worker with a lease waits for no more than the key of the row.
    """
    asked = {"session_id": session_id, "others": _KEYED_OTHERWISE}
    kinds = scope.execute(_REVOKE, **asked).scalars()
    receipt.asked |= {(WorkKind(kind), session_id) for kind in kinds}
    forget_refusals(scope, WorkKind.SUMMARIZE, session_id)


_REWIND = text(
    """
    with gone as (
        delete from recall_passage
        where tenant_id = :tenant_id and session_id = :session_id and seq >= :from_seq
        returning start_seq, start, keys
    ), lost as (
        select start_seq, key, count(*) as times from gone, unnest(keys) key group by start_seq, key
    ), counted as (
        update recall_term term set passages = term.passages - lost.times from lost
        where term.tenant_id = :tenant_id and term.session_id = :session_id
            and term.start_seq = lost.start_seq and term.key = lost.key
    ), removed as (
        select start_seq, count(*) as passages, min(start) as first from gone group by start_seq
    ), rewound as (
        update recall_progress p set through_seq = :from_seq - 1,
            passages = p.passages - coalesce(removed.passages, 0),
            tokens = coalesce(removed.first, p.tokens)
        from recall_progress was left join removed on removed.start_seq = was.start_seq
        where was.tenant_id = :tenant_id and was.session_id = :session_id and was.through_seq >= :from_seq
            and p.tenant_id = was.tenant_id and p.session_id = was.session_id and p.start_seq = was.start_seq
        returning 1
    )
    select (select count(*) from gone), (select count(*) from rewound)
    """
)
_UNUSED_TERMS = text(
    "delete from recall_term where tenant_id = :tenant_id and session_id = :session_id and passages = 0"
)


def rewind_index(scope: Scope, session_id: str, *, from_seq: int) -> tuple[int, bool]:
    """Rewind a session's recall index to before a message: the index is read again from there.

    Returns:
        Number of deleted passages, and True if the index reached the message.
    """
    removed, rewound = scope.execute(_REWIND, session_id=session_id, from_seq=from_seq).one()
    if removed:
        scope.execute(_UNUSED_TERMS, session_id=session_id)
    return int(removed), bool(rewound)


_READINGS = text(
    "delete from artifact_summary where tenant_id = :tenant_id and session_id = :session_id "
    "returning artifact_id, focus_key, size_class, focus"
)
_USER_READINGS = text(
    "delete from artifact_summary where tenant_id = :tenant_id and user_id = :user_id "
    "returning artifact_id, focus_key, size_class, focus"
)
_BORROWED = text(
    "delete from artifact_summary where tenant_id = :tenant_id and origin = 'mined' "
    "and focus_key = any(:focus_keys)"
)
"""Questions of several sessions are foreseen for others, in the words of one session."""


def drop_readings(scope: Scope, session_id: str, receipt: Receipt) -> set[str]:
    """Delete the artifact summaries for a session's words, and the plans for the session's questions.

    Returns:
        The artifacts, for a new reading with the session's present words.
    """
    gone = scope.execute(_READINGS, session_id=session_id).all()
    _count_readings(scope, gone, receipt)
    receipt.count("artifact_plan", drop_session_plans(scope, session_id))
    return {row.artifact_id for row in gone}


def drop_readings_of_user(scope: Scope, user_id: str, receipt: Receipt) -> None:
    """Delete the artifact summaries for a user's words, in any session or without a session."""
    gone = scope.execute(_USER_READINGS, user_id=user_id).all()
    _count_readings(scope, gone, receipt)


def _count_readings(scope: Scope, gone: Sequence[Any], receipt: Receipt) -> None:
    """Count the deleted readings, and delete the mined readings with the same words."""
    receipt.count("artifact_summary", len(gone))
    if gone:
        keys = {form for row in gone for form in _forms(scope, row)}
        borrowed = scope.execute(_BORROWED, focus_keys=sorted(keys))
        receipt.count("artifact_summary", borrowed.rowcount)


def _forms(scope: Scope, gone: Any) -> set[str]:
    """Return every stored form of the key of a deleted question."""
    cells, key = scope.cells, SummaryKey(gone.artifact_id, gone.focus_key, gone.size_class, "")
    try:
        focus, _ = open_focus(cells, key, gone.focus, ())
        return {gone.focus_key, *key_forms(cells, gone.focus_key), *key_forms(cells, normalise(focus).key)}
    except TextUnavailableError:
        return {gone.focus_key}  # what is erased goes all the same


_OF_TURNS = text(
    """
    select plan_id from plan_history p
    where tenant_id = :tenant_id and session_id = :session_id and (
        turn_id = any(:turn_ids) or outcome_turns && cast(:turn_ids as text[])
        or (source = 'asked' and turn_id is null)
        or (source = 'asked' and context is not null and exists (
            select from turn t where t.tenant_id = p.tenant_id and t.session_id = p.session_id
                and t.turn_id = p.turn_id and t.turn_index >= :first_turn)))
    """
)
"""Plans of the turns, and those with outcomes from the turns; plans asked for in the session without a turn;
and plans of later turns asked for with a part of the conversation beside the intent.
"""

_OF_SESSION = text(
    "select plan_id from plan_history where tenant_id = :tenant_id and session_id = :session_id"
)
_OF_USER = text("select plan_id from plan_history where tenant_id = :tenant_id and user_id = :user_id")


def drop_plans_of_turns(scope: Scope, session_id: str, turns: Mapping[int, str], receipt: Receipt) -> None:
    """Delete the plans that may hold words of the turns, given by index and id."""
    chosen = {"session_id": session_id, "turn_ids": sorted(turns.values()), "first_turn": min(turns)}
    gone = scope.execute(_OF_TURNS, **chosen).scalars().all()
    receipt.count("plan_history", drop_plans(scope, gone, receipt))


def drop_plans_of_session(scope: Scope, session_id: str, receipt: Receipt) -> None:
    """Delete all plans of a session."""
    gone = scope.execute(_OF_SESSION, session_id=session_id).scalars().all()
    receipt.count("plan_history", drop_plans(scope, gone, receipt))


def drop_plans_of_user(scope: Scope, user_id: str, receipt: Receipt) -> None:
    """Delete all plans of a user, in any session or without a session."""
    gone = scope.execute(_OF_USER, user_id=user_id).scalars().all()
    receipt.count("plan_history", drop_plans(scope, gone, receipt))


def drop_plans(scope: Scope, plan_ids: Sequence[UUID], receipt: Receipt) -> int:
    """Delete plans, and report the erasure to learning. Returns the number of deleted plans.

    The plans' work goes first: a planning worker locks the work before the plan's row.
    """
    if not plan_ids:
        return 0
    receipt.count("due_work", _drop_work(scope, WorkKind.PLAN, [str(one) for one in plan_ids]))
    rows = scope.db.execute(
        delete(Plan)
        .where(
            Plan.tenant_id == scope.tenant_id, Plan.plan_id == func.any(literal(list(plan_ids), ARRAY(Uuid)))
        )
        .returning(Plan.catalog, Plan.outcome_seq, Plan.call_ids)
    ).all()
    note_erased_plans(scope, Counter(row.catalog for row in rows if row.outcome_seq is not None))
    calls = [call_id for row in rows for call_id in row.call_ids]
    receipt.count("llm_call", forget_calls(scope, calls))
    return len(rows)


_WORK = text("delete from due_work where tenant_id = :tenant_id and kind = :kind and key = any(:keys)")


def _drop_work(scope: Scope, kind: WorkKind, keys: Sequence[str]) -> int:
    asked = {"kind": kind.value, "keys": list(keys)}
    return scope.execute(_WORK, **asked).rowcount


_SESSION_WORK = text(
    "delete from due_work where tenant_id = :tenant_id and key = :session_id and kind <> all(:others)"
)


def drop_session_work(scope: Scope, session_id: str, receipt: Receipt) -> None:
    """Delete the work of a session; a working process loses the lease. The caller holds the session's row."""
    asked = {"session_id": session_id, "others": _KEYED_OTHERWISE}
    receipt.count("due_work", scope.execute(_SESSION_WORK, **asked).rowcount)


_ARTIFACT_WORK = text(
    """
    delete from due_work where ctid = any(array(
        select ctid from due_work
        where tenant_id = :tenant_id and kind = 'artifact' and key = any(:artifact_ids)
        for update skip locked))
    """
)
"""A worker with a lock on such work finds the artifact gone. Waiting for the lock would reverse the order of
an event, with the artifact first and the work second.
"""


def drop_artifact_work(scope: Scope, artifact_ids: Sequence[str], receipt: Receipt) -> None:
    """Delete the work of deleted artifacts."""
    if artifact_ids:
        asked = {"artifact_ids": list(artifact_ids)}
        receipt.count("due_work", scope.execute(_ARTIFACT_WORK, **asked).rowcount)


_DECISIONS = text(
    "delete from preflight_decision where tenant_id = :tenant_id and session_id = :session_id "
    "and turn_index = any(:turns)"
)
_TOPIC = text("delete from preflight_session where tenant_id = :tenant_id and session_id = :session_id")


def drop_decisions(scope: Scope, session_id: str, turns: Sequence[int], receipt: Receipt) -> None:
    """Delete the preflight decisions of turns, and the last topic of the session."""
    receipt.count(
        "preflight_decision", scope.execute(_DECISIONS, session_id=session_id, turns=list(turns)).rowcount
    )
    receipt.count("preflight_session", scope.execute(_TOPIC, session_id=session_id).rowcount)


_DELETE = {
    table: text(f"delete from {table} where tenant_id = :tenant_id and session_id = :session_id")  # noqa: S608 (names of ours)
    for table in (*WITH_THE_SESSION, "session")
}


def delete_rows(scope: Scope, table: str, session_id: str) -> int:
    """Delete a session's rows of a table of `WITH_THE_SESSION`, or the session; return their number."""
    return scope.execute(_DELETE[table], session_id=session_id).rowcount

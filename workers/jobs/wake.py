"""Waking of a tenant's stored sessions after a setting of the tenant has changed."""

from collections.abc import Callable, Mapping, Sequence

from models.conversations.session_notes import HISTORY_LIMIT, list_lately_used
from models.conversations.session_state import is_due
from models.database import Transaction, transaction
from models.due_work.queue import Claim, WorkKind, enqueue_many, finish, forget_done
from models.recall.user import USER_RECALL, follow_switch, list_named_sessions, recalls_users
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError

SESSIONS_AT_ONCE = 500
"""Sessions that are asked for in a transaction."""

PASSAGES_AT_ONCE = 500
"""Passages that are keyed in a transaction; the turns of the session wait meanwhile."""

Page = tuple[Sequence[str], Sequence[str]]
"""Sessions looked at, and those of them that have work."""


def _to_key(scope: Scope, after: str) -> Page:
    named = list_named_sessions(scope, after=after, most=SESSIONS_AT_ONCE)
    return named, named


def _to_summarize(scope: Scope, after: str) -> Page:
    sessions = list_lately_used(scope, after=after, most=SESSIONS_AT_ONCE)
    ids = [session.session_id for session in sessions]
    return ids, [session.session_id for session in sessions if is_due(session)]


_WALKS: Mapping[str, tuple[WorkKind, Callable[[Scope, str], Page]]] = {
    USER_RECALL: (WorkKind.USER_KEYS, _to_key),
    HISTORY_LIMIT: (WorkKind.SUMMARIZE, _to_summarize),
}


def wake_sessions(held: Claim) -> str:
    """Queue the work of each session that a changed setting of the tenant asks for.

    Safe to run again from the beginning: work that waits already stays a single piece.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    kind, find_page = _WALKS[held.key]
    after, woken, is_over = "", 0, False
    while not is_over:
        with Scope.write(held.tenant_id) as scope:
            looked_at, due = find_page(scope, after)
            if due:
                enqueue_many(scope, kind, due)
        woken += len(due)
        is_over = len(looked_at) < SESSIONS_AT_ONCE
        after = looked_at[-1] if looked_at else after
    outcome = f"{woken} sessions woken"
    with transaction() as db:
        _finish(db, held, outcome)
    return outcome


def key_passages(held: Claim) -> str:
    """Add or remove the user keys of a session's stored passages, as the tenant's switch says.

    A session that may be recalled from others is then indexed to its end.

    Returns:
        The outcome.

    Raises:
        LeaseLostError: Another worker has the work now.
    """
    passages = 0
    while True:
        with transaction() as db:
            scope = Scope(db, held.tenant_id)
            changed = follow_switch(scope, held.key, most=PASSAGES_AT_ONCE)
            passages += changed
            if changed < PASSAGES_AT_ONCE:
                if recalls_users(scope):
                    enqueue_many(scope, WorkKind.RECALL, [held.key])
                outcome = f"{passages} passages follow the switch"
                _finish(db, held, outcome)
                return outcome


def _finish(db: Transaction, held: Claim, outcome: str) -> None:
    if not finish(db, held, outcome):
        raise LeaseLostError
    forget_done(db, held)

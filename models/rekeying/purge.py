"""Removal of unreadable text after the loss of a tenant's key: the text counts as erased."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import text

from models.artifacts.artifact import drop_unused
from models.conversations.session import lock_existing
from models.due_work.queue import WorkKind, enqueue
from models.encryption.cipher import find_uncleared, note_cleared, seals
from models.encryption.keys import NO_KEY, TextUnavailableError, has_key
from models.erasure.derived import drop_artifact_work, drop_plans, rewind_index
from models.erasure.kept_receipts import keep_receipt
from models.erasure.log import Receipt
from models.erasure.messages import forget_summaries, remove_messages
from models.erasure.sessions import WHOLE_LOG, erase_session
from models.rekeying.columns import COLUMNS, TextColumn, drop_other_parts, mark_index, opens, sealed_page
from models.rekeying.rotation import AT_ONCE, Transactions
from models.scope import Scope
from models.shadow.reads import lapse_sealed_reads

Rows = Sequence[Mapping[str, Any]]


def shed_unreadable(
    transactions: Transactions, tenant_id: UUID, *, most: int = AT_ONCE
) -> Iterator[tuple[str, int]]:
    """Remove all text of a tenant sealed with a lost key, in short transactions.

    Text sealed with the tenant's present key, or unsealed, stays. A wholly unreadable session is erased; from
    other sessions, the unreadable turns are removed. Stopped anywhere, the next call goes on.

    Args:
        transactions: Opens a transaction.
        tenant_id: The tenant of the rows.
        most: Number of rows in a transaction, >= 1.

    Yields:
        Column and number of cells, after each transaction with a removal.

    Raises:
        TextUnavailableError: The tenant has a key not available here: all text sealed with the key would be
            taken for lost.
    """
    with transactions() as db:
        scope = Scope(db, tenant_id)
        forgotten = find_uncleared(db, tenant_id)
        drop_other_parts(scope, sealed=False)
        lapse_sealed_reads(scope)
    for column in COLUMNS:
        if (column.table, column.name) in _SHED:
            yield from _shed(transactions, tenant_id, column, most)
    with transactions() as db:
        db.execute(_STALE_DIGESTS, {"tenant_id": tenant_id})
        note_cleared(db, tenant_id, forgotten)


def _shed(
    transactions: Transactions, tenant_id: UUID, column: TextColumn, most: int
) -> Iterator[tuple[str, int]]:
    shed, after = _SHED[column.table, column.name], list[Any]()
    while True:
        with transactions() as db:
            scope = Scope(db, tenant_id)
            page = sealed_page(scope, column, after=after, most=most)
            lost = _unreadable(scope, column, page)
            if lost:
                lost = _held(scope, column, lost)
                shed(scope, lost)
        if lost:
            yield column.cell, len(lost)
        if len(page) < most:
            return
        after = [page[-1][name] for name in column.key]


_OF_SESSIONS = frozenset({"message", "summary", "recall_passage"})
"""Tables with rows written under the lock of the session."""


def _held(scope: Scope, column: TextColumn, lost: Rows) -> Rows:
    """Lock the rows, and read the rows again: text stored anew meanwhile stays."""
    if column.table in _OF_SESSIONS:
        lock_existing(scope, _sessions(lost))
    rows = [
        row
        for one in lost
        for row in sealed_page(scope, column, row=[one[name] for name in column.key], most=1)
    ]
    return _unreadable(scope, column, rows)


def _unreadable(scope: Scope, column: TextColumn, page: Rows) -> Rows:
    """Filter the rows not opened by the tenant's key.

    The key is looked up after the rows were read: a row is stored together with the sealing key, or after.
    """
    if not page:
        return ()
    cells = scope.cells
    if cells.key_at_hand() is None:
        if has_key(scope.db, scope.tenant_id):
            raise TextUnavailableError(NO_KEY)
        return page
    return [row for row in page if not opens(cells, column, row)]


_SEQS = text(
    """
    select message.seq, turn.turn_id = any(:turn_ids) as is_lost
    from message join turn using (tenant_id, session_id, turn_index)
    where tenant_id = :tenant_id and session_id = :session_id
    """
)
_TURNS_OF = text(
    """
    select distinct turn_id from message join turn using (tenant_id, session_id, turn_index)
    where tenant_id = :tenant_id and session_id = :session_id and seq = any(:seqs)
    """
)
_FORGET_TURNS = text(
    "delete from turn where tenant_id = :tenant_id and session_id = :session_id and turn_id = any(:turn_ids)"
)
"""A second delivery of the turns is then stored anew."""

_EMPTY = text(
    "update message set body = '{}', speaker = null "
    "where tenant_id = :tenant_id and session_id = :session_id and seq = any(:seqs)"
)
"""Empty bodies allow the search for pairs; the words cannot be read."""


def _shed_messages(scope: Scope, lost: Rows) -> None:
    for session_id in _sessions(lost):
        seqs = [row["seq"] for row in lost if row["session_id"] == session_id]
        turn_ids = list(scope.execute(_TURNS_OF, session_id=session_id, seqs=seqs).scalars())
        messages = scope.execute(_SEQS, session_id=session_id, turn_ids=turn_ids).all()
        gone = [message.seq for message in messages if message.is_lost]
        if len(gone) == len(messages):
            keep_receipt(scope, "session", session_id, erase_session(scope, session_id))
        elif gone:
            scope.execute(_EMPTY, session_id=session_id, seqs=gone)
            remove_messages(scope, session_id, gone, reach=WHOLE_LOG)
            scope.execute(_FORGET_TURNS, session_id=session_id, turn_ids=turn_ids)


def _shed_summaries(scope: Scope, lost: Rows) -> None:
    for session_id in _sessions(lost):
        versions = [row["version"] for row in lost if row["session_id"] == session_id]
        forget_summaries(scope, session_id, versions)


def _shed_passages(scope: Scope, lost: Rows) -> None:
    for session_id in _sessions(lost):
        rewind_index(scope, session_id, from_seq=1)
        mark_index(scope, session_id, keyed=seals())
        enqueue(scope, WorkKind.RECALL, session_id)


def _sessions(rows: Rows) -> list[str]:
    return sorted({row["session_id"] for row in rows})


_UNTIE = [
    text(f"delete from {table} where tenant_id = :tenant_id and artifact_id = any(:artifact_ids)")  # noqa: S608 (names of ours)
    for table in ("artifact_use", "artifact_attachment")
]


def _shed_artifacts(scope: Scope, lost: Rows) -> None:
    artifact_ids = sorted({row["artifact_id"] for row in lost})
    for untie in _UNTIE:
        scope.execute(untie, artifact_ids=artifact_ids)
    drop_artifact_work(scope, drop_unused(scope, artifact_ids), Receipt())


def _shed_plans(scope: Scope, lost: Rows) -> None:
    drop_plans(scope, sorted({row["plan_id"] for row in lost}), Receipt())


_Shed = Callable[[Scope, Rows], None]


def _rows_of(table: str, change: str) -> _Shed:
    """Build a function that changes or deletes rows of a table, by key."""
    key = next(column.key for column in COLUMNS if column.table == table)
    found = " and ".join(f"{name} = :{name}" for name in key)
    statement = text(f"{change} where tenant_id = :tenant_id and {found}")

    def shed(scope: Scope, lost: Rows) -> None:
        scope.db.execute(
            statement, [{"tenant_id": scope.tenant_id, **{name: row[name] for name in key}} for row in lost]
        )

    return shed


_SHED: Mapping[tuple[str, str], _Shed] = {
    ("message", "body"): _shed_messages,
    ("message", "speaker"): _shed_messages,
    ("turn", "plan"): _rows_of("turn", "update turn set plan = null"),
    ("turn", "usage"): _rows_of("turn", "update turn set usage = null"),
    ("summary", "text"): _shed_summaries,
    ("chat_prefix", "head"): _rows_of("chat_prefix", "delete from chat_prefix"),
    ("served_window", "body"): _rows_of("served_window", "delete from served_window"),
    ("recall_passage", "body"): _shed_passages,
    ("recall_passage", "speaker"): _shed_passages,
    **{("artifact", name): _shed_artifacts for name in ("content", "preview", "title")},
    ("artifact", "passages"): _rows_of(
        "artifact", "update artifact set passages = null, indexed_with = null"
    ),
    ("artifact_attachment", "title"): _rows_of(
        "artifact_attachment", "update artifact_attachment set title = ''"
    ),
    ("artifact_attachment", "source"): _rows_of(
        "artifact_attachment", "update artifact_attachment set source = ''"
    ),
    ("artifact_use", "subject"): _rows_of("artifact_use", "update artifact_use set subject = ''"),
    **{
        ("artifact_summary", name): _rows_of("artifact_summary", "delete from artifact_summary")
        for name in ("focus", "text", "terms")
    },
    **{
        ("plan_history", name): _shed_plans
        for name in ("intent", "context", "gap_warning", "failure_detail", "features", "steps")
    },
    **{
        ("artifact_plan", name): _rows_of("artifact_plan", "delete from artifact_plan")
        for name in ("question", "focus", "plan")
    },
    ("due_work", "last_error"): _rows_of(
        "due_work", "update due_work set last_error = 'what was said was sealed with a key that is gone'"
    ),
    ("llm_call", "detail"): _rows_of("llm_call", "update llm_call set detail = null"),
    ("prior_set", "blob"): _rows_of("prior_set", "delete from prior_set"),
    ("learning_state", "state"): _rows_of("learning_state", "delete from learning_state"),
}
"""Removal of rows with an unreadable cell, by column; digests hold no text."""

_STALE_DIGESTS = text(
    """
    update turn set body_sha256 = '' where tenant_id = :tenant_id and octet_length(body_sha256) = 33
        and exists (select from message where message.tenant_id = turn.tenant_id
            and message.session_id = turn.session_id and message.seq = turn.first_seq
            and message.body !~ E'^\\\\x02[0-9]')
    """
)
"""Clears the digest of opened turns with a still keyed digest: a second delivery counts as the same."""

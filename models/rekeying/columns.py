"""Columns with sealed text, and sealing or opening in place, a few rows at a time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from sqlalchemy import text

from models.encryption.cipher import MARK
from models.encryption.keys import TextCipher, TextUnavailableError
from models.scope import Scope


class Form(StrEnum):
    """Form of a cell's contents; also selects the SQL test for a sealed cell."""

    TEXT = "text"
    BYTES = "bytes"
    TERMS = "terms"
    OBJECT = "object"
    DIGEST = "digest"


_SEALED = {
    Form.TEXT: f"({{name}} ~ '^{MARK}[0-9]')",
    Form.BYTES: "(substr({name}, 1, 1) = '\\x02'::bytea)",
    Form.TERMS: f"(coalesce({{name}}[1], '') ~ '^{MARK}[0-9]')",
    Form.OBJECT: "(jsonb_typeof({name}) = 'string')",
    Form.DIGEST: "(octet_length({name}) <> 32)",
}


@dataclass(frozen=True)
class TextColumn:
    """A column of text, and the key of the cells.

    Attributes:
        table: The table.
        name: The column.
        row: The columns, beside the tenant, bound to the sealed cell, in the order of binding.
        key: The columns of the table's key beside the tenant, for finding a row again.
        form: Form of the contents, for recognizing a sealed cell.
    """

    table: str
    name: str
    row: Sequence[str]
    key: Sequence[str]
    form: Form = Form.TEXT

    @property
    def cell(self) -> str:
        """Name bound to the cells."""
        return f"{self.table}.{self.name}"


_SESSION = ("session_id",)
_TURN = ("session_id", "turn_id")
_MESSAGE = ("session_id", "seq")
_SUMMARY = ("session_id", "version")
_WINDOW = ("session_id", "window_id")
_PASSAGE = ("session_id", "start_seq", "start")
_ARTIFACT = ("artifact_id",)
_ATTACHMENT = ("artifact_id", "session_id", "user_id")
_USE = ("session_id", "seq", "place")
_FOCUS = ("artifact_id", "focus_key", "size_class")
_READING = (*_FOCUS, "language", "model", "prompt_version")
_PLAN = ("plan_id",)
_QUESTION = ("session_id", "question_key", "artifacts_digest")
_SET = ("kind", "name", "version")

COLUMNS = (
    TextColumn("message", "body", _MESSAGE, _MESSAGE),
    TextColumn("message", "speaker", _MESSAGE, _MESSAGE),
    TextColumn("summary", "text", _SUMMARY, _SUMMARY),
    TextColumn("chat_prefix", "head", _SESSION, _SESSION),
    TextColumn("served_window", "body", _WINDOW, _WINDOW),
    TextColumn("recall_passage", "body", _PASSAGE, _PASSAGE),
    TextColumn("recall_passage", "speaker", _PASSAGE, _PASSAGE),
    TextColumn("artifact", "content", _ARTIFACT, _ARTIFACT),
    TextColumn("artifact", "preview", _ARTIFACT, _ARTIFACT),
    TextColumn("artifact", "title", _ARTIFACT, _ARTIFACT),
    TextColumn("artifact_attachment", "title", _ATTACHMENT, _ATTACHMENT),
    TextColumn("artifact_attachment", "source", _ATTACHMENT, _ATTACHMENT),
    TextColumn("artifact_use", "subject", _USE, _USE),
    TextColumn("artifact_summary", "focus", _FOCUS, _READING),
    TextColumn("artifact_summary", "text", _READING, _READING),
    TextColumn("artifact_summary", "terms", _FOCUS, _READING, Form.TERMS),
    TextColumn("artifact", "passages", _ARTIFACT, _ARTIFACT, Form.BYTES),
    TextColumn("artifact", "content_sha256", _ARTIFACT, _ARTIFACT, Form.DIGEST),
    TextColumn("turn", "plan", _TURN, _TURN, Form.OBJECT),
    TextColumn("turn", "usage", _TURN, _TURN, Form.OBJECT),
    TextColumn("turn", "body_sha256", _TURN, _TURN, Form.DIGEST),
    TextColumn("plan_history", "intent", _PLAN, _PLAN),
    TextColumn("plan_history", "context", _PLAN, _PLAN),
    TextColumn("plan_history", "gap_warning", _PLAN, _PLAN),
    TextColumn("plan_history", "failure_detail", _PLAN, _PLAN),
    TextColumn("plan_history", "features", _PLAN, _PLAN, Form.OBJECT),
    TextColumn("plan_history", "steps", _PLAN, _PLAN, Form.OBJECT),
    TextColumn("plan_history", "intent_sha", _PLAN, _PLAN, Form.DIGEST),
    TextColumn("artifact_plan", "question", _QUESTION, _QUESTION),
    TextColumn("artifact_plan", "focus", _QUESTION, _QUESTION),
    TextColumn("artifact_plan", "plan", _QUESTION, _QUESTION, Form.OBJECT),
    TextColumn("artifact_plan", "brought", _QUESTION, _QUESTION, Form.OBJECT),
    TextColumn("due_work", "last_error", ("work_id",), ("kind", "key")),
    TextColumn("llm_call", "detail", ("call_id",), ("call_id",)),
    TextColumn("prior_set", "blob", _SET, _SET, Form.BYTES),
    TextColumn("learning_state", "state", ("name",), ("name",), Form.BYTES),
)
"""All columns except finished chunks of summaries; chunks of the other kind are deleted."""

_CAST = {Form.OBJECT: "cast(:changed as jsonb)", Form.TERMS: "cast(:changed as text[])"}


def find_cells(scope: Scope, column: TextColumn, *, sealed: bool, most: int) -> Sequence[Any]:
    """Find rows with a sealed or unsealed cell, locked until the transaction ends; busy rows stay out."""
    names = ", ".join(dict.fromkeys((*column.row, *column.key)))
    condition = _SEALED[column.form].format(name=column.name)
    wanted = condition if sealed else f"not {condition}"
    statement = f"""
        select {names}, {column.name} as stored from {column.table}
        where tenant_id = :tenant_id and {_filled(column)} and {wanted}
        limit :most for no key update skip locked
    """  # noqa: S608 (names of our own)
    return scope.execute(text(statement), most=most).mappings().all()


def sealed_page(
    scope: Scope,
    column: TextColumn,
    *,
    after: Sequence[Any] = (),
    row: Sequence[Any] = (),
    most: int,
) -> Sequence[Any]:
    """Load rows with a sealed cell, in the order of the keys.

    Args:
        scope: The transaction and its tenant.
        column: The column.
        after: Key of the row before the page; empty for the first page.
        row: Key of the only wanted row, to be locked; empty for all.
        most: Maximum number of rows.
    """
    names = ", ".join(dict.fromkeys((*column.row, *column.key)))
    ordered = ", ".join(column.key)
    values = {f"key_{name}": value for name, value in zip(column.key, row or after, strict=False)}
    listed = ", ".join(f":{name}" for name in values)
    follows = f"and ({ordered}) {'=' if row else '>'} ({listed})" if values else ""
    lock = "for update" if row else ""
    statement = f"""
        select {names}, {column.name} as stored from {column.table}
        where tenant_id = :tenant_id and {_filled(column)} and {_SEALED[column.form].format(name=column.name)}
            {follows}
        order by {ordered} limit :most {lock}
    """  # noqa: S608 (names of our own)
    return scope.execute(text(statement), most=most, **values).mappings().all()


def opens(cells: TextCipher, column: TextColumn, row: Mapping[str, Any]) -> bool:
    """Check whether the sealed cell of a row opens with the tenant's key."""
    try:
        open_cell(cells, column, row)
    except TextUnavailableError:
        return False
    return True


def open_cell(cells: TextCipher, column: TextColumn, row: Mapping[str, Any]) -> Any:
    """Decrypt the sealed cell of a row.

    Raises:
        TextForgottenError: The sealing key was forgotten.
        TextUnavailableError: The tenant's key is not available, or the text belongs to another cell.
    """
    return _OPEN[column.form](cells, column.cell, row["stored"], [row[name] for name in column.row])


def change_cells(scope: Scope, column: TextColumn, *, to: Literal["sealed", "plain"], most: int) -> int:
    """Seal some unsealed cells of a column, or open some sealed cells.

    Args:
        scope: The tenant's transaction; the rows are locked until it ends.
        column: The column.
        to: New form of the cells.
        most: Maximum number of rows.

    Returns:
        Number of changed cells; fewer than `most` when no unlocked cell is left.

    Raises:
        TextUnavailableError: The tenant's key is not available; nothing was changed.
    """
    cells = scope.cells
    rows = find_cells(scope, column, sealed=to == "plain", most=most)
    found = " and ".join(f"{name} = :{name}" for name in column.key)
    value = _CAST.get(column.form, ":changed")
    statement = text(
        f"update {column.table} set {column.name} = {value} where tenant_id = :tenant_id and {found}"  # noqa: S608
    )
    changes = [_change(cells, column, row, to) for row in rows]
    if changes:
        scope.db.execute(statement, [{**change, "tenant_id": scope.tenant_id} for change in changes])
    return len(changes)


def _change(cells: TextCipher, column: TextColumn, row: Any, to: str) -> dict[str, Any]:
    place = [row[name] for name in column.row]
    change = _SEAL[column.form] if to == "sealed" else _OPEN[column.form]
    return {
        **{name: row[name] for name in column.key},
        "changed": change(cells, column.cell, row["stored"], place),
    }


def _seal_text(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return cells.seal(cell, cells.open(cell, stored, *place), *place)


def _open_text(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return cells.plain(cells.open(cell, stored, *place))


def _seal_bytes(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return cells.seal_bytes(cell, bytes(stored), *place)


def _open_bytes(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return cells.open_bytes(cell, bytes(stored), *place)


def _seal_terms(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return [cells.seal(cell, json.dumps(list(stored)), *place)]


def _open_terms(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return json.loads(cells.open(cell, stored[0], *place))


def _seal_object(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return json.dumps(cells.seal(cell, json.dumps(stored), *place))


def _open_object(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    return cells.open(cell, stored, *place)


def _seal_digest(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> Any:
    del cell, place
    return cells.digest(bytes(stored))


def _forget_digest(cells: TextCipher, cell: str, stored: Any, place: Sequence[object]) -> bytes:
    """Drop a keyed digest, as nobody can undo the keying: a turn sent again counts as the same."""
    del cells, cell, stored, place
    return b""


_Change = Callable[[TextCipher, str, Any, Sequence[object]], Any]
_SEAL: Mapping[Form, _Change] = {
    Form.TEXT: _seal_text,
    Form.BYTES: _seal_bytes,
    Form.TERMS: _seal_terms,
    Form.OBJECT: _seal_object,
    Form.DIGEST: _seal_digest,
}
_OPEN: Mapping[Form, _Change] = {
    Form.TEXT: _open_text,
    Form.BYTES: _open_bytes,
    Form.TERMS: _open_terms,
    Form.OBJECT: _open_object,
    Form.DIGEST: _forget_digest,
}


def _filled(column: TextColumn) -> str:
    if column.form in (Form.TEXT, Form.DIGEST):
        return f"{column.name} <> ''"
    return f"{column.name} is not null"


def count_cells(scope: Scope, column: TextColumn) -> tuple[int, int]:
    """Count a tenant's sealed and plain cells."""
    sealed = _SEALED[column.form].format(name=column.name)
    statement = f"""
        select count(*) filter (where {sealed}), count(*) filter (where not {sealed})
        from {column.table} where tenant_id = :tenant_id and {_filled(column)}
    """  # noqa: S608 (names of our own)
    row = scope.execute(text(statement)).one()
    return int(row[0]), int(row[1])


_STALE = text(
    """
    select session_id from recall_progress
    where tenant_id = :tenant_id and keyed <> :keyed group by session_id limit :most
    """
)


def find_stale_indexes(scope: Scope, *, keyed: bool, most: int) -> list[str]:
    """Find sessions with a recall index with terms hashed the other way."""
    return list(scope.execute(_STALE, keyed=keyed, most=most).scalars())


_MARK_INDEX = text(
    "update recall_progress set keyed = :keyed where tenant_id = :tenant_id and session_id = :session_id"
)


def mark_index(scope: Scope, session_id: str, *, keyed: bool) -> None:
    """Record the new hashing of a session's index terms; the indexes are empty at this moment."""
    scope.execute(_MARK_INDEX, session_id=session_id, keyed=keyed)


_DROP_PARTS = text(
    f"delete from summary_part where tenant_id = :tenant_id and (text ~ '^{MARK}[0-9]') <> :sealed"  # noqa: S608
)


def drop_other_parts(scope: Scope, *, sealed: bool) -> int:
    """Delete unsealed, or sealed, finished chunks: the summary makes the chunks again."""
    return scope.execute(_DROP_PARTS, sealed=sealed).rowcount

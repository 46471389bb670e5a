"""Keying the focus cache, or removing the tenant's key again, a few rows at a time."""

from typing import Any, Literal
from uuid import UUID

from sqlalchemy import text

from context.focus import normalise
from models.artifact_summary import SummaryKey, open_focus, seal_focus, text_row
from models.focus_keys import MARK_OF_KEYED, stored_key
from models.session import Transaction
from models.text_keys import Cells

_PARTS = tuple(SummaryKey.__dataclass_fields__)
_IS_ROW = " and ".join(f"{name} = :{name}" for name in _PARTS)

_FIND = text(
    f"""
    select {", ".join(_PARTS)}, focus, terms, text as content from artifact_summary
    where tenant_id = :tenant_id and focus_key <> 'general'
        and starts_with(focus_key, '{MARK_OF_KEYED}') = :keyed
    limit :most for update skip locked
    """  # noqa: S608 (names of our own)
)
_DROP = text(f"delete from artifact_summary where tenant_id = :tenant_id and {_IS_ROW}")  # noqa: S608
_MOVE = text(
    f"""
    update artifact_summary set focus_key = :new_key, focus = :focus, terms = :terms, text = :content
    where tenant_id = :tenant_id and {_IS_ROW} and not exists (
        select from artifact_summary as other where other.tenant_id = :tenant_id
            and other.focus_key = :new_key and other.artifact_id = :artifact_id and other.model = :model
            and other.prompt_version = :prompt_version and other.size_class = :size_class
            and other.language = :language)
    """  # noqa: S608
)
"""If an equal entry was requested meanwhile, the new entry stays."""


def rekey_readings(db: Transaction, tenant_id: UUID, *, to: Literal["sealed", "plain"], most: int) -> int:
    """Change some entries of the focus cache to the other kind of key, and seal the words for the new cell.

    Returns:
        Number of entries; fewer than `most` when no unlocked entry is left.

    Raises:
        TextUnavailableError: The tenant's key is not available; nothing was changed.
    """
    cells = Cells(db, tenant_id)
    asked = {"tenant_id": tenant_id, "keyed": to == "plain", "most": most}
    rows = db.execute(_FIND, asked).mappings().all()
    for row in rows:
        old = SummaryKey(**{name: row[name] for name in _PARTS})
        place = {"tenant_id": tenant_id, **old.__dict__}
        if not db.execute(_MOVE, {**place, **_moved(cells, old, row, to)}).rowcount:
            db.execute(_DROP, place)
    return len(rows)


def _moved(cells: Cells, old: SummaryKey, row: Any, to: str) -> dict[str, Any]:
    focus, terms = open_focus(cells, old, row["focus"], row["terms"])
    content = cells.open_if("artifact_summary.text", row["content"], *text_row(old))
    named = old.focus_key if to == "sealed" else normalise(focus).key
    new = SummaryKey(**{**old.__dict__, "focus_key": stored_key(cells, named)})
    return {
        "new_key": new.focus_key,
        **seal_focus(cells, new, focus, terms),
        "content": cells.seal_if("artifact_summary.text", content, *text_row(new)),
    }

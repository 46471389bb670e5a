"""Errors of work and of calls: quoted text is sealed, and opened for readers."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from models.database import Transaction
from models.encryption.cipher import is_sealed
from models.encryption.keys import TextCipher, TextUnavailableError
from models.scope import Scope

MOST_CHARS = 500
UNREADABLE = "what was said of it is sealed with a key that is not at hand here"


def seal_error(scope: Scope, work_id: int, error: str, *, own: str) -> str:
    """Seal an error with possibly quoted text, for storing.

    Args:
        scope: The transaction and its tenant.
        work_id: The work.
        error: The whole error; cut to 500 characters.
        own: The error in our own words, stored when sealing is impossible.
    """
    try:
        return scope.cells.seal("due_work.last_error", error[:MOST_CHARS], work_id)
    except TextUnavailableError:
        return own


def seal_detail(scope: Scope, call_id: UUID, detail: str | None) -> str | None:
    """Seal a provider's words about a call for the ledger; returns None when sealing is impossible."""
    try:
        return scope.cells.seal_if("llm_call.detail", detail, call_id)
    except TextUnavailableError:
        return None


def readable(db: Transaction, row: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """Decrypt the error in the columns of a piece of work; an unreadable error is replaced by a note."""
    work = {str(name): value for name, value in row.items()}
    error = work["last_error"]
    if error is not None and is_sealed(error):
        try:
            work["last_error"] = TextCipher(db, work["tenant_id"]).open(
                "due_work.last_error", error, work["work_id"]
            )
        except TextUnavailableError:
            work["last_error"] = UNREADABLE
    return work

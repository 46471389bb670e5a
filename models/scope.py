"""A transaction with the tenant of its rows: the first argument of every query of one tenant."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self
from uuid import UUID

from sqlalchemy import CursorResult, Executable

from models.database import Transaction, best_effort_transaction, read_transaction, transaction
from models.encryption.keys import TextCipher


@dataclass(frozen=True)
class Scope:
    """A transaction with the tenant of its rows.

    Attributes:
        db: The transaction.
        tenant_id: The tenant that owns each row read or written.
    """

    db: Transaction
    tenant_id: UUID

    def execute(self, statement: Executable, **values: Any) -> CursorResult[*tuple[Any, ...]]:
        """Run a statement that names its tenant `:tenant_id`, with other values by name."""
        return self.db.execute(statement, {"tenant_id": self.tenant_id, **values})

    @cached_property
    def cells(self) -> TextCipher:
        """Sealing and opening of the tenant's text; the key is read once a scope."""
        return TextCipher(self.db, self.tenant_id)

    @classmethod
    @contextmanager
    def write(cls, tenant_id: UUID) -> Iterator[Self]:
        """Open a transaction of a tenant, as `transaction` does."""
        with transaction() as db:
            yield cls(db, tenant_id)

    @classmethod
    @contextmanager
    def read(cls, tenant_id: UUID) -> Iterator[Self]:
        """Open a read-only transaction of a tenant, as `read_transaction` does."""
        with read_transaction() as db:
            yield cls(db, tenant_id)

    @classmethod
    @contextmanager
    def best_effort(cls, tenant_id: UUID) -> Iterator[Self]:
        """Open a transaction whose loss harms nobody, as `best_effort_transaction` does."""
        with best_effort_transaction() as db:
            yield cls(db, tenant_id)

"""Connections and transactions of the database."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from models.database_errors import Trouble, trouble_of
from models.database_settings import DatabaseSettings, database_settings
from models.tenants.row_security import (
    as_role,
    name_in_transaction,
    name_on_connection,
    present_tenant,
    role_for,
    set_in_transaction,
)

Transaction: TypeAlias = Connection
"""A connection inside a transaction: everything is committed, or nothing."""


class OutcomeUnknownError(OperationalError):
    """The connection broke during the answer to a commit: the commit may have been done, or not."""


IDLE_S = 1.0
"""Seconds of idleness until a connection is tested before use."""

HINT_LOCK_MS = 100
"""Longest wait of a read for a row locked by a write, to leave a hint."""

BRIEF_CONNECTIONS = 8
"""Number of concurrent brief reads in a process."""

# Pools are kept as long as their process, one for each way to connect that the settings name: a pool that
# a bounded cache dropped would leave its connections open until the garbage collector finds them.


def make_engine(
    settings: DatabaseSettings, *, autocommit: bool = False, role: str = "", **more: Any
) -> Engine:
    """Open a pool of connections with durable commits and time limits.

    Args:
        settings: Address and limits.
        autocommit: True for independent statements; otherwise a transaction holds several statements.
        role: Role of the connections; empty for the login role.
        more: Further parameters of the server's sessions.

    Behind a pooler by transaction each transaction sets its own parameters; independent statements have those
    of the login role.

    Returns:
        A pool that opens connections when needed.
    """
    parameters = {
        "synchronous_commit": "on",
        "statement_timeout": settings.statement_timeout_ms,
        "lock_timeout": settings.lock_timeout_ms,
        "idle_in_transaction_session_timeout": settings.idle_in_transaction_timeout_ms,
        "timezone": "UTC",
        **as_role(role),
        **more,
    }
    if settings.transaction_pooler:
        kept: dict[str, Any] = {"prepare_threshold": None}
    else:
        kept = {"options": " ".join(f"-c {name}={value}" for name, value in parameters.items())}
    engine = create_engine(
        settings.database_url,
        pool_size=settings.pool_size,
        max_overflow=settings.pool_overflow,
        pool_timeout=settings.pool_timeout_s,
        isolation_level="AUTOCOMMIT" if autocommit else "READ COMMITTED",
        hide_parameters=True,
        connect_args={**kept, "connect_timeout": 5, "application_name": "afterturn"},
    )
    if settings.transaction_pooler and not autocommit:
        event.listen(engine, "begin", partial(set_in_transaction, parameters))
    event.listen(engine, "checkin", _remember_use)
    event.listen(engine, "checkout", _test_if_idle)
    return engine


def _remember_use(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info["used_at"] = time.monotonic()


def _test_if_idle(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
    """Test a connection idle for a moment: the server may have gone away meanwhile.

    Under load the test costs nothing; a test at every checkout would cost each read a round trip.
    """
    if time.monotonic() - record.info.get("used_at", time.monotonic()) <= IDLE_S:
        return
    try:
        connection.execute("select 1")
        connection.rollback()
    except psycopg.Error as error:
        raise DisconnectionError from error


@cache
def _engine_of(_pid: int, database_url: str, role: str) -> Engine:
    return make_engine(database_settings().model_copy(update={"database_url": database_url}), role=role)


def engine() -> Engine:
    """Return the pool of this process. A forked child gets a separate pool: sockets are never shared."""
    return _pool_for(None)


def _pool_for(tenant_id: UUID | None) -> Engine:
    return _engine_of(os.getpid(), database_settings().database_url, role_for(tenant_id))


@contextmanager
def transaction() -> Iterator[Transaction]:
    """Commit everything done inside, or roll everything back.

    Raises:
        OutcomeUnknownError: The server went away at the commit: only the database knows the outcome.
    """
    tenant_id, is_over = present_tenant(), False
    try:
        with _pool_for(tenant_id).begin() as connection:
            if tenant_id is not None:
                name_in_transaction(connection, tenant_id)
            yield connection
            is_over = True
    except DBAPIError as error:
        if not is_over or trouble_of(error) is not Trouble.AWAY:
            raise
        raise OutcomeUnknownError("commit", None, error.orig or error, hide_parameters=True) from error


HINT_LIMITS_SQL = f"""select set_config('lock_timeout', '{HINT_LOCK_MS}', true),
    set_config('synchronous_commit', 'off', true)"""
"""First part of a statement that writes dispensable data outside of a transaction."""


@contextmanager
def best_effort_transaction() -> Iterator[Transaction]:
    """Write dispensable data: give up soon when another transaction holds the row.

    Raises:
        OperationalError: The row was locked for longer than `HINT_LOCK_MS`.
    """
    with transaction() as db:
        db.execute(text(f"set local lock_timeout = {HINT_LOCK_MS}"))
        yield db


@cache
def _reading_engine(_pid: int, database_url: str, role: str) -> Engine:
    settings = database_settings().model_copy(update={"database_url": database_url})
    return make_engine(settings, autocommit=True, role=role)


@contextmanager
def read_transaction() -> Iterator[Transaction]:
    """Read without a transaction: each statement sees the data committed at its start.

    Reads use a separate pool: switching a connection at every read would double the cost. Inside
    `one_reading_connection` all of them share its connection.
    """
    shared = _shared.get()
    if shared is not None and not shared.invalidated:
        yield shared
        return
    tenant_id = present_tenant()
    pool = _reading_engine(os.getpid(), database_settings().database_url, role_for(tenant_id))
    with pool.connect() as connection:
        if tenant_id is not None:
            name_on_connection(connection, tenant_id)
        yield connection


_shared: ContextVar[Transaction | None] = ContextVar("shared_reading_connection", default=None)


@contextmanager
def one_reading_connection() -> Iterator[None]:
    """Let the reads of the block share one connection of one tenant; for blocks that wait for nobody."""
    with read_transaction() as db:
        token = _shared.set(db)
        try:
            yield
        finally:
            _shared.reset(token)


@cache
def _brief_engine(_pid: int, database_url: str, timeout_ms: int, role: str) -> Engine:
    limits = {
        "database_url": database_url,
        "statement_timeout_ms": timeout_ms,
        "pool_size": BRIEF_CONNECTIONS,
        "pool_overflow": 0,
        "pool_timeout_s": timeout_ms / 1000,
    }
    # To compile a plan would take longer than the statement may run, and so would walking a table.
    settings = database_settings().model_copy(update=limits)
    is_alone = not settings.transaction_pooler
    return make_engine(settings, autocommit=is_alone, role=role, jit="off", enable_seqscan="off")


@contextmanager
def brief_read_transaction(timeout_ms: int) -> Iterator[Transaction]:
    """Read dispensable data: each statement, and the wait for a connection, ends in time.

    The connections are few and separate: a slow read here takes no connection from necessary work.
    """
    tenant_id = present_tenant()
    pool = _brief_engine(os.getpid(), database_settings().database_url, timeout_ms, role_for(tenant_id))
    with pool.connect() as connection:
        if tenant_id is not None:
            name_on_connection(connection, tenant_id)
        yield connection


_NOW = text("select now()")


def database_now(db: Transaction) -> datetime:
    """Return the time of the transaction, in UTC, for everything written and compared in the transaction."""
    now: datetime = db.execute(_NOW).scalar_one()
    return now.astimezone(UTC)

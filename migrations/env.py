"""Run migrations: one runner at a time, a transaction a step, no statement that waits long for a lock."""

import time

from alembic import context
from sqlalchemy import Connection, NullPool, create_engine, text

ADVISORY_LOCK = 4_168_711_302
"""Any constant: two runners that start together take it in turn."""

TURN_TIMEOUT_S = 900
TURN_PAUSE_S = 0.1

STATEMENT_TIMEOUT = "10min"
LOCK_TIMEOUT = "2s"
"""Whoever waits for a table's lock makes all who come after wait too: traffic stands still no longer."""


def wait_for_turn(connection: Connection) -> None:
    """Take the advisory lock, which ends with the connection.

    Asked for again and again instead of waited for: a waiting statement holds a snapshot, and an index
    that the other runner builds concurrently would wait for that snapshot, and we for it.

    Raises:
        TimeoutError: Another runner has held the lock all the time.
    """
    ends_at = time.monotonic() + TURN_TIMEOUT_S
    while not connection.scalar(text("select pg_try_advisory_lock(:key)"), {"key": ADVISORY_LOCK}):
        connection.rollback()
        if time.monotonic() > ends_at:
            raise TimeoutError(f"another migration has been running for {TURN_TIMEOUT_S} s")
        time.sleep(TURN_PAUSE_S)


def run(connection: Connection) -> None:
    """Upgrade or downgrade under the lock; a step that fails leaves the steps before it in place."""
    connection.execute(text(f"set lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"set statement_timeout = '{STATEMENT_TIMEOUT}'"))
    connection.commit()
    wait_for_turn(connection)
    connection.commit()
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


# A connection of its own, straight to the server: the lock and the time limits belong to a session.
engine = create_engine(context.config.get_main_option("sqlalchemy.url") or "", poolclass=NullPool)
with engine.connect() as database:
    run(database)

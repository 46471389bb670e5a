"""Run migrations: one runner at a time, no statement that waits long for a lock."""

from alembic import context
from sqlalchemy import Connection, create_engine, text

ADVISORY_LOCK = 4_168_711_302
"""Any constant: two runners that start together take it in turn."""


def run(connection: Connection) -> None:
    """Upgrade or downgrade inside one transaction a step, under the lock."""
    connection.execute(text("set lock_timeout = '5s'"))
    connection.execute(text("set statement_timeout = '10min'"))
    connection.execute(text("select pg_advisory_lock(:key)"), {"key": ADVISORY_LOCK})
    connection.commit()
    try:
        context.configure(connection=connection, target_metadata=None, transaction_per_migration=True)
        with context.begin_transaction():
            context.run_migrations()
    finally:
        connection.rollback()
        connection.execute(text("select pg_advisory_unlock(:key)"), {"key": ADVISORY_LOCK})
        connection.commit()


engine = create_engine(context.config.get_main_option("sqlalchemy.url") or "")
with engine.connect() as database:
    run(database)
engine.dispose()

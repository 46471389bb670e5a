"""Let a tenant and a session say how much history a request holds at most.

Locks: ACCESS EXCLUSIVE on tenant, and after that on session, for an instant each: the columns are null and no
row is written. Their checks are read over the rows under SHARE UPDATE EXCLUSIVE, which stops no writer.
Old code: reads and writes none of it; its windows are as large as the model takes.
Back: drops the columns and what was set.
"""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

TABLES = ("tenant", "session")


def upgrade() -> None:
    """Add the columns with their checks, each table by itself: a run that was interrupted is taken again."""
    with op.get_context().autocommit_block():
        for table in TABLES:
            name = f"ck_{table}_history_limit_is_positive"
            op.execute(
                f"alter table {table} add column if not exists max_history_tokens integer, "
                f"drop constraint if exists {name}, "
                f"add constraint {name} check (max_history_tokens >= 1) not valid"
            )
            op.execute(f"alter table {table} validate constraint {name}")


def downgrade() -> None:
    """Drop them."""
    for table in TABLES:
        op.execute(f"alter table {table} drop column max_history_tokens")

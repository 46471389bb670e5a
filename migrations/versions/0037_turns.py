"""Find the next tenant whose work is due by one step on an index.

Locks: SHARE on due_work while the index is built over its ready rows: no work is asked for or done meanwhile.
Old code: keeps the index up to date, and does not use it. It goes on hinting at rows; workers of the new code
take such a hint for a bell.
Back: drops the index; nothing is lost.
"""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index."""
    op.execute(
        "create index ix_due_work_turns on due_work (kind, awaited, tenant_id, due_at) "
        "where state = 'ready' and crashes = 0"
    )


def downgrade() -> None:
    """Drop it."""
    op.execute("drop index ix_due_work_turns")

"""Tell work that killed its worker from work whose worker went away for other reasons.

Locks: ACCESS EXCLUSIVE on due_work and heartbeat, for an instant: the columns have constants for defaults.
Old code: writes and reads none of it; each lease of its own that ran out counts as a crash, as before.
Back: drops the columns; each lease that ran out counts as a crash.
"""

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Say who holds a lease, and since when a pool has been there."""
    op.execute("alter table due_work add column holder text, add column losses integer not null default 0")
    op.execute("alter table heartbeat add column pool_seen_at timestamptz, add column pool_since timestamptz")


def downgrade() -> None:
    """Forget it."""
    op.execute("alter table heartbeat drop column pool_since, drop column pool_seen_at")
    op.execute("alter table due_work drop column losses, drop column holder")

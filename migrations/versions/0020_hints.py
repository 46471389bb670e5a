"""Let the dispatcher find what to hint at in each queue by an index, however much is due.

Locks: ACCESS EXCLUSIVE on due_work, and SHARE, while two partial indexes are built: no work is asked for or
done meanwhile. The old one goes first: a weak lock that is made stronger later deadlocks with who reads.
Old code: finds its work without an index of its own, and is slow at it.
Back: builds the old index again; a look at a million due rows takes a second again.
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index the queue of each kind, and the queue of work that has killed a worker."""
    op.execute("drop index ix_due_work_due_at")
    op.execute(
        "create index ix_due_work_queue on due_work (kind, awaited desc, due_at) "
        "where state = 'ready' and crashes = 0"
    )
    op.execute(
        "create index ix_due_work_isolated on due_work (due_at) "
        "where state = 'running' or (state = 'ready' and crashes > 0)"
    )


def downgrade() -> None:
    """Put the old one back."""
    op.execute("drop index ix_due_work_isolated")
    op.execute("drop index ix_due_work_queue")
    op.execute("create index ix_due_work_due_at on due_work (due_at) where state in ('ready', 'running')")

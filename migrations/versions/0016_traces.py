"""Remember which trace due work belongs to.

Locks: ACCESS EXCLUSIVE on due_work for an instant; the column is empty.
Old code: neither writes nor reads it; its work begins traces of its own.
Back: drops the column; work that is due begins traces of its own.
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table due_work add column trace text")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table due_work drop column trace")

"""Mark summaries of messages in which a tool's outcome gave orders.

Locks: ACCESS EXCLUSIVE on summary for an instant; the default is kept in the catalog, and no row is written.
Old code: marks nothing; what it summarizes meanwhile counts as unmarked.
Back: drops the marks.
"""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the mark."""
    op.execute("alter table summary add column tainted boolean not null default false")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table summary drop column tainted")

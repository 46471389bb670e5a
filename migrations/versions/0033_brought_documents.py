"""Tell the planner of documents that a request brings as text, until it has planned.

Locks: ACCESS EXCLUSIVE on artifact_plan for an instant; the column is empty, and no row is written.
Old code: says nothing of such documents, and plans without them, as before.
Back: drops the column; plans that are under way are made without such documents.
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table artifact_plan add column brought jsonb")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table artifact_plan drop column brought")

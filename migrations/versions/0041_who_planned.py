"""Remember which model a plan of context was asked of: where it failed, another one may do better.

Locks: ACCESS EXCLUSIVE on artifact_plan for an instant: the column is empty.
Old code: writes and reads none of it; a plan that failed by it counts as that of an unknown model.
Back: drops the column; a plan that failed waits until some time went by.
"""

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table artifact_plan add column planner text")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table artifact_plan drop column planner")

"""Keep a wish for a plan whole: the question and the focus apart, and what the request attaches.

Locks: ACCESS EXCLUSIVE on artifact_plan for an instant; no row is rewritten.
Old code: leaves both empty, as if nothing were attached and the focus were the question.
Back: drops both; what waits is planned by its question alone.
"""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add both columns, empty."""
    op.execute(
        "alter table artifact_plan add column focus text not null default '', "
        "add column attached_ids text[] not null default '{}'"
    )


def downgrade() -> None:
    """Drop them."""
    op.execute("alter table artifact_plan drop column attached_ids, drop column focus")

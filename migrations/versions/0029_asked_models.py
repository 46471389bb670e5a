"""Remember of which models a summary of an artifact was asked, where another one answered in their place.

Locks: ACCESS EXCLUSIVE on artifact_summary for an instant; the default is kept in the catalog, and no row is
written.
Old code: stores none, and asks again of a model that others answered for.
Back: drops the column; such summaries are asked for once more.
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table artifact_summary add column asked_models text[] not null default '{}'")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table artifact_summary drop column asked_models")

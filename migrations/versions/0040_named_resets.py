"""Know a reset again that its caller sends a second time.

Locks: ACCESS EXCLUSIVE on session, for an instant: the column has a constant for its default.
Old code: resets again whatever key it is sent, and writes none.
Back: drops the column; a reset that is sent again resets again.
"""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Keep digests of the last keys beside the session."""
    op.execute("alter table session add column resets bytea[] not null default '{}'")


def downgrade() -> None:
    """Forget them."""
    op.execute("alter table session drop column resets")

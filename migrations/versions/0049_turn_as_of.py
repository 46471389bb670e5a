"""Remember when a session's open turn was first asked for: what arrives later waits for the next turn.

Locks: ACCESS EXCLUSIVE on session for an instant: the column has no default, no row is written.
Old code: writes and reads none of it.
Back: drops the column; what arrives within a turn is shown at once again.
"""

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None
phase = "expand"


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table session add column turn_as_of timestamptz")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table session drop column turn_as_of")

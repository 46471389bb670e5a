"""Remember what a session's newest window hides, and which turn has outgrown its beginning.

Locks: ACCESS EXCLUSIVE on session for an instant: the columns have no default, no row is written.
Old code: writes and reads none of it.
Back: drops the columns; what a window hid may come back with the next request.
"""

from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None
phase = "expand"


def upgrade() -> None:
    """Add the columns."""
    op.execute("alter table session add column hidden_seqs int8range, add column bare_from bigint")


def downgrade() -> None:
    """Drop them."""
    op.execute("alter table session drop column bare_from, drop column hidden_seqs")

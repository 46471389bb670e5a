"""Remember which numbers of a session's messages were removed, so that the gaps count as no messages.

Locks: ACCESS EXCLUSIVE on session for an instant: the default is constant, no row is written.
Old code: writes and reads none of it; what it removes counts as gaps until a summary covers them.
Back: drops the column; gaps count as messages again, so that a summary is due a little earlier.
"""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None
phase = "expand"


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table session add column removed_seqs int8multirange not null default '{}'")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table session drop column removed_seqs")

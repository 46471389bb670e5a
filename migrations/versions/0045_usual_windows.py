"""Remember how many requests in a row had smaller windows than a session's requests usually have.

Locks: ACCESS EXCLUSIVE on session for an instant: the default is a constant, no row is written.
Old code: writes and reads none of it; it takes the last request's window for the session's.
Back: drops the columns; the last request's window is the session's again.
"""

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.execute(
        "alter table session add column narrow_window integer, "
        "add column narrow_reads smallint not null default 0"
    )


def downgrade() -> None:
    """Drop them."""
    op.execute("alter table session drop column narrow_reads, drop column narrow_window")

"""Remember the budget of a session's requests, and smaller ones of its last turns.

Locks: ACCESS EXCLUSIVE on session for an instant: the only default is a constant, no row is written.
Old code: writes and reads none of it.
Back: drops the columns; three turns with a budget fill them again.
"""

from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None
phase = "expand"


def upgrade() -> None:
    """Add the columns."""
    op.execute(
        "alter table session add column budget_tokens integer, add column narrow_budget integer, "
        "add column narrow_turns smallint not null default 0, add column narrow_seq bigint"
    )


def downgrade() -> None:
    """Drop them."""
    op.execute(
        "alter table session drop column narrow_seq, drop column narrow_turns, drop column narrow_budget, "
        "drop column budget_tokens"
    )

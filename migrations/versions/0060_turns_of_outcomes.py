"""Name the turns that brought the outcomes of a plan, so that a change of such a turn erases the plan.

Locks: ACCESS EXCLUSIVE on plan_history for an instant: the column has no default, no row is written.
Old code: writes and reads none of it; outcomes that it joins name no turn.
Back: drops the column; a plan goes with its own turn alone.
"""

from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None
phase = "expand"


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table plan_history add column outcome_turns text[]")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table plan_history drop column outcome_turns")

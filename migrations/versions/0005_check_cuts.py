"""Check the rows that were there before 0004 against its constraints.

Locks: SHARE UPDATE EXCLUSIVE on session while it is read through: nobody else is held up.
Old code: notices nothing.
Back: writes the constraints anew without looking at the rows.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

CONSTRAINTS = {
    "ck_session_cut_is_in_the_log": "0 <= cut_seq and cut_seq <= last_seq",
    "ck_session_kept_is_in_the_cut": "1 <= kept_seq and kept_seq < cut_seq",
}


def upgrade() -> None:
    """Validate the constraints."""
    for name in CONSTRAINTS:
        op.execute(f"alter table session validate constraint {name}")


def downgrade() -> None:
    """Make them unchecked again: nothing less would take the step back."""
    for name, rule in CONSTRAINTS.items():
        op.execute(f"alter table session drop constraint {name}")
        op.execute(f"alter table session add constraint {name} check ({rule}) not valid")

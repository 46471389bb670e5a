"""Let plans come from an import, beside turns and calls.

Locks: ACCESS EXCLUSIVE on plan_history for an instant, then SHARE UPDATE EXCLUSIVE while the rows
are checked.
Old code: reads imported plans as any other, learns from them, and writes none.
Back: imported plans count as plans of turns, without a turn.
"""

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None
phase = "expand"

NAME = "ck_plan_history_source_is_known"


def _check(sources: str) -> None:
    """Replace the check; a run that was interrupted is taken again."""
    with op.get_context().autocommit_block():
        op.execute(
            f"alter table plan_history drop constraint if exists {NAME}, "
            f"add constraint {NAME} check (source in ({sources})) not valid"
        )
        op.execute(f"alter table plan_history validate constraint {NAME}")


def upgrade() -> None:
    """Know the source `imported`."""
    _check("'asked', 'turn', 'imported'")


def downgrade() -> None:
    """Know it no more."""
    op.execute("update plan_history set source = 'turn' where source = 'imported'")
    _check("'asked', 'turn'")

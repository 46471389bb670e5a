"""Remember what work waits for and since when, so that it goes on as soon as a model may be asked again.

Locks: ACCESS EXCLUSIVE on due_work while its rows are read once for the checks and once for each partial
index: no work is asked for or done meanwhile. Nothing is rewritten.
Old code: notes nothing, and what it puts off waits until the time that it was told.
Back: drops the indexes and the columns; what waits for a model waits until the time that it was told.
"""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

COLUMNS = """
alter table due_work
    add column waits_for text,
    add column waits_since timestamptz,
    add column waits_for_models text[],
    add constraint ck_due_work_wait_is_known check (waits_for in ('cap', 'model')),
    add constraint ck_due_work_wait_has_begun check ((waits_for is null) = (waits_since is null)),
    add constraint ck_due_work_models_wait
        check (waits_for_models is null or coalesce(waits_for, '') = 'model')
"""


def upgrade() -> None:
    """Add the columns and the indexes."""
    op.execute(COLUMNS)
    op.execute(
        "create index ix_due_work_waits on due_work (waits_for, waits_since) where waits_for is not null"
    )
    op.execute(
        "create index ix_due_work_parked on due_work (waits_for_models, due_at) "
        "where state = 'ready' and waits_for_models is not null"
    )


def downgrade() -> None:
    """Take them back."""
    op.execute("drop index ix_due_work_parked")
    op.execute("drop index ix_due_work_waits")
    op.execute(
        "alter table due_work drop column waits_for_models, drop column waits_since, drop column waits_for"
    )

"""Remember of work that waits for a cap what it needs, so that it goes on as soon as there is room.

Locks: ACCESS EXCLUSIVE on due_work while its rows are read once for the checks and once for the partial
index: no work is asked for or done meanwhile. Nothing is rewritten.
Old code: notes no denial, and what it puts off waits for midnight.
Back: drops the index and the columns; what waits for a cap waits for midnight.
"""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

COLUMNS = """
alter table due_work
    add column denied_by text,
    add column denied_needs numeric,
    add column denied_cap numeric,
    add column denied_at timestamptz,
    add column denied_under text,
    add constraint ck_due_work_denial_is_known
        check (denied_by in ('tenant tokens', 'tenant usd', 'session tokens', 'session usd')),
    add constraint ck_due_work_denial_is_whole
        check (num_nulls(denied_by, denied_needs, denied_cap, denied_at, denied_under) in (0, 5))
"""


def upgrade() -> None:
    """Add the columns and the index."""
    op.execute(COLUMNS)
    op.execute(
        "create index ix_due_work_denied on due_work (tenant_id, denied_by, denied_needs) "
        "where state = 'ready' and denied_by is not null"
    )


def downgrade() -> None:
    """Take them back."""
    op.execute("drop index ix_due_work_denied")
    op.execute(
        "alter table due_work drop column denied_under, drop column denied_at, drop column denied_cap, "
        "drop column denied_needs, drop column denied_by"
    )

"""Keep the counts that operators watch, and find dead work without reading the rest.

Locks: SHARE on due_work while its partial index is built: no work is asked for or done meanwhile.
Old code: counts nothing, and finds dead work more slowly.
Back: drops both; the counts begin anew.
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

STATEMENTS = """
create table metric_count (
    name text collate "C" not null,
    labels text collate "C" not null,
    total double precision not null,
    minute timestamptz not null,
    this_minute double precision not null,
    minute_before double precision not null,
    constraint pk_metric_count primary key (name, labels),
    constraint ck_metric_count_counts_only_grow check (total >= 0 and this_minute >= 0 and minute_before >= 0)
);
create index ix_due_work_tenant_id_due_at on due_work (tenant_id, due_at) where state = 'dead'
"""


def upgrade() -> None:
    """Create the table and the index."""
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Drop them."""
    op.execute("drop index ix_due_work_tenant_id_due_at")
    op.execute("drop table metric_count")

"""Remember what erasing leaves behind it: how far generations went, and which learning must begin anew.

Locks: ACCESS EXCLUSIVE and SHARE ROW EXCLUSIVE on tenant for an instant: the column has a constant default,
and the table a foreign key; SHARE on turn while its partial index is built: no turn is accepted meanwhile.
Old code: erases nothing, and reads neither.
Back: drops all of it; what was learned from erased plans stays until it is learned anew.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

STATEMENTS = """
alter table tenant add column erased_generation integer not null default 0;
create table plan_erasure (
    tenant_id uuid not null,
    catalog text collate "C" not null,
    plans bigint not null,
    erased_at timestamptz not null,
    constraint pk_plan_erasure primary key (tenant_id, catalog),
    constraint fk_plan_erasure_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_plan_erasure_plans_count_from_1 check (plans >= 1)
);
create index ix_turn_tenant_id_user_id_session_id on turn (tenant_id, user_id, session_id)
    where user_id is not null
"""


def upgrade() -> None:
    """Add the column, the table and the index."""
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Take them back."""
    op.execute("drop index ix_turn_tenant_id_user_id_session_id")
    op.execute("drop table plan_erasure")
    op.execute("alter table tenant drop column erased_generation")

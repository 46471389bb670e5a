"""Keep what a tenant wants kept for as long as it wants, and what calls cost for ever, day by day.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign keys; the tables are new.
Old code: neither reads nor writes the new tables; nothing is deleted until new workers run.
Back: drops the tables; the sums of calls that were folded into days are lost.
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

RULES = """
create table retention (
    tenant_id uuid not null,
    session_days integer,
    plan_days integer,
    ledger_days integer,
    summary_versions integer,
    updated_at timestamptz not null default now(),
    constraint pk_retention primary key (tenant_id),
    constraint fk_retention_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_retention_counts_are_counts check (
        session_days >= 0 and plan_days >= 0 and ledger_days >= 0 and summary_versions >= 0
    ),
    constraint ck_retention_today_stays check (ledger_days is null or ledger_days <> 1)
)
"""

DAYS = """
create table llm_call_day (
    tenant_id uuid not null,
    day date not null,
    purpose text not null,
    model text not null,
    calls bigint not null,
    failed bigint not null,
    lost bigint not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    price_usd numeric(18, 10) not null,
    unpriced_calls bigint not null,
    constraint pk_llm_call_day primary key (tenant_id, day, purpose, model),
    constraint fk_llm_call_day_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade
)
"""

LOG = """
create table retention_log (
    tenant_id uuid not null,
    day date not null,
    name text not null,
    rows bigint not null,
    constraint pk_retention_log primary key (tenant_id, day, name),
    constraint fk_retention_log_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_retention_log_something_went check (rows > 0)
)
"""

BUSY = {
    "session": "fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05",
    "due_work": "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0",
    "heartbeat": "fillfactor = 50",
    "provider_gate": "fillfactor = 50",
}
"""Rows that change with every turn or piece of work: room in their page for the next version, swept often."""


def upgrade() -> None:
    """Add the tables, and leave room beside rows that change all the time."""
    for table in (RULES, DAYS, LOG):
        op.execute(table)
    for table, how in BUSY.items():
        op.execute(f"alter table {table} set ({how})")


def downgrade() -> None:
    """Drop them, and store rows as before."""
    for table, how in BUSY.items():
        names = ", ".join(setting.split("=")[0] for setting in how.split(","))
        op.execute(f"alter table {table} reset ({names})")
    for table in ("retention_log", "llm_call_day", "retention"):
        op.execute(f"drop table {table}")

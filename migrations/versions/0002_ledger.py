"""Write every call to a model into a ledger, and remember which models are down.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign key; both tables are new.
Old code: knows neither table and calls no model.
Back: drops both tables, and with them what was spent so far today: the caps start anew.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = """
create table llm_call (
    tenant_id uuid not null,
    call_id uuid not null default uuidv7(),
    session_id text collate "C",
    work_id bigint,
    purpose text not null,
    model text not null,
    answered_by text,
    state text not null,
    charged_tokens bigint not null,
    charged_usd numeric(18, 10) not null,
    input_tokens integer,
    cached_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    price_usd numeric(18, 10),
    failure text,
    detail text,
    latency_ms integer,
    created_at timestamptz not null,
    settled_at timestamptz,
    constraint pk_llm_call primary key (tenant_id, call_id),
    constraint fk_llm_call_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_llm_call_state_is_known check (state in ('reserved', 'ok', 'failed', 'lost')),
    constraint ck_llm_call_settled_has_a_time check ((state = 'reserved') = (settled_at is null)),
    constraint ck_llm_call_failed_says_why check ((state = 'failed') = (failure is not null)),
    constraint ck_llm_call_costs_nothing_or_more
        check (charged_tokens >= 0 and charged_usd >= 0 and price_usd >= 0),
    constraint ck_llm_call_cached_is_input check (cached_tokens <= input_tokens),
    constraint ck_llm_call_reasoning_is_output check (reasoning_tokens <= output_tokens)
);

create index ix_llm_call_tenant_id_created_at on llm_call (tenant_id, created_at);

create index ix_llm_call_session on llm_call (tenant_id, session_id, created_at)
    where session_id is not null;

create index ix_llm_call_unsettled on llm_call (created_at) where state = 'reserved';

create table provider_gate (
    model text not null,
    failures integer not null,
    open_until timestamptz,
    probe_until timestamptz,
    reason text not null,
    failed_at timestamptz not null,
    constraint pk_provider_gate primary key (model),
    constraint ck_provider_gate_failures_count_from_1 check (failures >= 1),
    constraint ck_provider_gate_only_an_open_gate_is_probed
        check (probe_until is null or open_until is not null)
)
"""


def upgrade() -> None:
    """Create the tables."""
    for statement in TABLES.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Drop them."""
    op.execute("drop table provider_gate")
    op.execute("drop table llm_call")

"""Keep every plan: what was asked, which steps were chosen, and what came of them.

Locks: SHARE ROW EXCLUSIVE on tenant and session for an instant, for the foreign keys; the table is new.
Old code: knows nothing of it; plans that arrive with turns stay on the turn alone.
Back: drops it, and with it the history of plans; plans that arrived with turns stay with those.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

SEQUENCE = "create sequence plan_outcome_seq as bigint"

TABLE = """
create table plan_history (
    tenant_id uuid not null,
    plan_id uuid not null,
    source text not null,
    status text not null,
    session_id text collate "C",
    turn_id text collate "C",
    user_id text,
    intent text not null,
    intent_sha bytea not null,
    features jsonb not null,
    complexity double precision not null,
    mode text not null,
    catalog text collate "C",
    catalog_digest text,
    model text,
    context text,
    method text,
    steps jsonb not null default '[]'::jsonb,
    gap_warning text,
    more_steps_likely boolean,
    compaction jsonb,
    usage jsonb,
    call_ids uuid[] not null default '{}'::uuid[],
    failure text,
    failure_detail text,
    duration_ms integer,
    created_at timestamptz not null default now(),
    ready_at timestamptz,
    outcome_at timestamptz,
    outcome_seq bigint,
    constraint pk_plan_history primary key (tenant_id, plan_id),
    constraint fk_plan_history_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint fk_plan_history_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_plan_history_source_is_known check (source in ('asked', 'turn')),
    constraint ck_plan_history_status_is_known check (status in ('wanted', 'ready', 'failed')),
    constraint ck_plan_history_mode_is_known check (mode in ('plan', 'route')),
    constraint ck_plan_history_method_is_known check (method in ('llm', 'lexical', 'reported')),
    constraint ck_plan_history_complexity_is_a_share check (complexity between 0 and 1),
    constraint ck_plan_history_a_failure_has_a_cause check ((status = 'failed') = (failure is not null)),
    constraint ck_plan_history_what_is_wanted_is_not_ready check ((status = 'wanted') = (ready_at is null)),
    constraint ck_plan_history_an_outcome_has_a_place check ((outcome_at is null) = (outcome_seq is null)),
    constraint ck_plan_history_a_turn_has_a_session check (turn_id is null or session_id is not null)
)
"""

INDEXES = """
create index ix_plan_history_tenant_id_created_at on plan_history (tenant_id, created_at);
create index ix_plan_history_tenant_id_user_id_created_at
    on plan_history (tenant_id, user_id, created_at) where user_id is not null;
create index ix_plan_history_tenant_id_session_id_turn_id
    on plan_history (tenant_id, session_id, turn_id) where session_id is not null;
create index ix_plan_history_tenant_id_catalog_outcome_seq
    on plan_history (tenant_id, catalog, outcome_seq) where outcome_seq is not null
"""


def upgrade() -> None:
    """Create the table and the sequence of outcomes."""
    op.execute(SEQUENCE)
    op.execute(TABLE)
    op.execute("alter sequence plan_outcome_seq owned by plan_history.outcome_seq")
    for index in INDEXES.split(";\n"):
        op.execute(index)


def downgrade() -> None:
    """Drop them."""
    op.execute("drop table plan_history")

"""Tenants and keys, sessions with their log, summaries, due work, heartbeats.

Locks: none that matter; every table is new.
Old code: there is none.
Back: drops every table, and with them everything stored.
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
create table tenant (
    tenant_id uuid not null default uuidv7(),
    name text not null,
    created_at timestamptz not null default now(),
    constraint pk_tenant primary key (tenant_id),
    constraint uq_tenant_name unique (name)
);

create table api_key (
    tenant_id uuid not null,
    key_id text not null,
    label text not null,
    secret_sha256 bytea not null,
    scopes text[] not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    constraint pk_api_key primary key (tenant_id, key_id),
    constraint uq_api_key_key_id unique (key_id),
    constraint fk_api_key_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_api_key_has_a_scope check (cardinality(scopes) > 0)
);

create table session (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    generation integer not null default 1,
    start_seq bigint not null default 0,
    last_seq bigint not null default 0,
    last_turn_index integer not null default 0,
    history_tokens bigint not null default 0,
    summarized_tokens bigint not null default 0,
    summarized_seq bigint not null default 0,
    summary_tokens integer not null default 0,
    model text,
    context_window integer,
    max_tokens integer,
    system_tokens integer not null default 0,
    tools_tokens integer not null default 0,
    last_turn_at timestamptz,
    created_at timestamptz not null default now(),
    constraint pk_session primary key (tenant_id, session_id),
    constraint fk_session_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_session_generation_counts_from_1 check (generation >= 1),
    constraint ck_session_start_is_in_the_log check (0 <= start_seq and start_seq <= last_seq),
    constraint ck_session_turns_count_from_0 check (last_turn_index >= 0)
);

create table turn (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    turn_index integer not null,
    turn_id text collate "C" not null,
    body_sha256 bytea not null,
    generation integer not null,
    first_seq bigint not null,
    last_seq bigint not null,
    tokens bigint not null,
    model text,
    context_window integer,
    usage jsonb,
    plan jsonb,
    user_id text,
    completed_at timestamptz,
    received_at timestamptz not null default now(),
    constraint pk_turn primary key (tenant_id, session_id, turn_index),
    constraint fk_turn_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_turn_range_is_ordered check (first_seq <= last_seq)
);
create unique index ix_turn_tenant_id_session_id_turn_id on turn (tenant_id, session_id, turn_id);

create table message (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    seq bigint not null,
    turn_index integer not null,
    role text not null,
    wire text not null,
    speaker text,
    tokens integer not null,
    tokens_wide integer not null,
    call_ids text[],
    answer_ids text[],
    body text not null,
    constraint pk_message primary key (tenant_id, session_id, seq),
    constraint fk_message_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_message_seq_counts_from_1 check (seq >= 1),
    constraint ck_message_tokens_are_counted check (tokens >= 0),
    constraint ck_message_role_is_known check (role in ('system', 'user', 'assistant', 'tool')),
    constraint ck_message_wire_is_known check (wire in ('openai', 'anthropic', 'responses'))
);

create table summary (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    version integer not null,
    generation integer not null,
    state text not null,
    from_seq bigint not null,
    to_seq bigint not null,
    base_version integer,
    text text not null,
    tokens integer not null,
    covered_tokens bigint not null,
    model text not null,
    method text not null,
    prompt_version text not null,
    language text not null,
    rejected_because text,
    created_at timestamptz not null default now(),
    activated_at timestamptz,
    constraint pk_summary primary key (tenant_id, session_id, version),
    constraint fk_summary_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_summary_range_is_ordered check (1 <= from_seq and from_seq <= to_seq),
    constraint ck_summary_version_counts_from_1 check (version >= 1),
    constraint ck_summary_base_is_older check (base_version < version),
    constraint ck_summary_state_is_known
        check (state in ('prepared', 'active', 'superseded', 'rejected')),
    constraint ck_summary_rejected_says_why
        check ((state = 'rejected') = (rejected_because is not null)),
    constraint ck_summary_text_is_not_blank check (state = 'rejected' or text ~ '\\S')
);
create unique index ix_summary_tenant_id_session_id on summary (tenant_id, session_id)
    where state = 'active';

create table summary_part (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    input_sha256 bytea not null,
    text text not null,
    tokens integer not null,
    created_at timestamptz not null default now(),
    constraint pk_summary_part primary key (tenant_id, session_id, input_sha256),
    constraint fk_summary_part_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade
);

create table due_work (
    tenant_id uuid not null,
    kind text not null,
    key text not null,
    work_id bigint not null generated by default as identity,
    state text not null,
    due_at timestamptz not null,
    awaited boolean not null default false,
    wanted bigint not null default 1,
    claimed bigint not null default 0,
    attempts integer not null default 0,
    crashes integer not null default 0,
    lease uuid,
    lease_until timestamptz,
    hinted_until timestamptz,
    last_error text,
    last_outcome text,
    finished_at timestamptz,
    created_at timestamptz not null default now(),
    constraint pk_due_work primary key (tenant_id, kind, key),
    constraint uq_due_work_work_id unique (work_id),
    constraint fk_due_work_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_due_work_state_is_known check (state in ('ready', 'running', 'idle', 'dead')),
    constraint ck_due_work_running_has_a_lease check ((state = 'running') = (lease is not null)),
    constraint ck_due_work_a_lease_ends check ((lease is null) = (lease_until is null))
);
create index ix_due_work_due_at on due_work (due_at) where state in ('ready', 'running');

create table heartbeat (
    role text not null,
    instance text not null,
    seen_at timestamptz not null,
    detail jsonb not null default '{}',
    constraint pk_heartbeat primary key (role, instance)
)
"""


def upgrade() -> None:
    """Create the tables."""
    for statement in TABLES.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Drop them, in the order of their references."""
    for table in (
        "heartbeat",
        "due_work",
        "summary_part",
        "summary",
        "message",
        "turn",
        "session",
        "api_key",
        "tenant",
    ):
        op.execute(f"drop table {table}")

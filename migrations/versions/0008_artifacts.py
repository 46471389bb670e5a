"""Store artifacts once for each content, who uses them, what was read out of them, and plans for them.

Locks: SHARE ROW EXCLUSIVE on tenant and session for an instant, for the foreign keys; the tables are new.
Old code: knows none of them; it keeps tool results in their messages, and new code reads both.
Back: drops them, and with them the text that messages point to: only where no turn with a large result came.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLES = """
create table artifact (
    tenant_id uuid not null,
    artifact_id text collate "C" not null,
    content_sha256 bytea not null,
    artifact_type text not null,
    kind text not null,
    title text not null default '',
    media_type text not null default 'text/plain',
    size_chars integer not null,
    size_bytes integer not null,
    tokens integer not null,
    tokens_wide integer not null,
    preview text not null,
    language text not null default '',
    content text not null,
    passages bytea,
    indexed_with smallint,
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    constraint pk_artifact primary key (tenant_id, artifact_id),
    constraint fk_artifact_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_artifact_type_is_known check (artifact_type in ('tool_result', 'document')),
    constraint ck_artifact_sizes_are_counted check (size_chars >= 1 and size_bytes >= size_chars),
    constraint ck_artifact_tokens_are_counted check (tokens >= 0 and tokens_wide >= 0),
    constraint ck_artifact_index_says_its_version check ((passages is null) = (indexed_with is null))
);

create table artifact_use (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    seq bigint not null,
    place smallint not null,
    artifact_id text collate "C",
    turn_index integer not null,
    tool text not null default '',
    subject text not null default '',
    writes boolean not null default false,
    source text not null,
    saved_tokens integer not null default 0,
    saved_tokens_wide integer not null default 0,
    created_at timestamptz not null default now(),
    constraint pk_artifact_use primary key (tenant_id, session_id, seq, place),
    constraint fk_artifact_use_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint fk_artifact_use_tenant_id_artifact_id_artifact foreign key (tenant_id, artifact_id)
        references artifact (tenant_id, artifact_id) deferrable initially deferred,
    constraint ck_artifact_use_place_counts_from_0 check (place >= 0),
    constraint ck_artifact_use_no_artifact_only_for_a_write check (artifact_id is not null or writes)
);
create index ix_artifact_use_tenant_id_artifact_id on artifact_use (tenant_id, artifact_id);

create table artifact_attachment (
    tenant_id uuid not null,
    artifact_id text collate "C" not null,
    session_id text collate "C" not null default '',
    user_id text collate "C" not null default '',
    title text not null default '',
    source text not null default '',
    media_type text not null,
    attachment_type text not null default 'document',
    uploaded_at timestamptz not null default now(),
    constraint pk_artifact_attachment primary key (tenant_id, artifact_id, session_id, user_id),
    constraint fk_artifact_attachment_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint fk_artifact_attachment_tenant_id_artifact_id_artifact foreign key (tenant_id, artifact_id)
        references artifact (tenant_id, artifact_id) deferrable initially deferred
);
create index ix_artifact_attachment_tenant_id_session_id on artifact_attachment (tenant_id, session_id)
    where session_id <> '';
create index ix_artifact_attachment_tenant_id_user_id on artifact_attachment (tenant_id, user_id)
    where user_id <> '';

create table artifact_summary (
    tenant_id uuid not null,
    artifact_id text collate "C" not null,
    focus_key text collate "C" not null,
    model text collate "C" not null,
    prompt_version text collate "C" not null,
    size_class text collate "C" not null,
    language text collate "C" not null,
    focus text not null,
    terms text[] not null,
    origin text not null,
    session_id text collate "C",
    state text not null,
    text text,
    tokens integer,
    tokens_wide integer,
    size_bytes integer not null default 0,
    method text,
    call_ids uuid[] not null default '{}',
    rejected_because text,
    created_at timestamptz not null default now(),
    ready_at timestamptz,
    used_at timestamptz,
    uses integer not null default 0,
    expires_at timestamptz not null,
    constraint pk_artifact_summary
        primary key (tenant_id, artifact_id, focus_key, model, prompt_version, size_class, language),
    constraint fk_artifact_summary_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint fk_artifact_summary_tenant_id_artifact_id_artifact foreign key (tenant_id, artifact_id)
        references artifact (tenant_id, artifact_id) on delete cascade,
    constraint ck_artifact_summary_origin_is_known
        check (origin in ('turn', 'open_work', 'mined', 'general', 'asked', 'request')),
    constraint ck_artifact_summary_state_is_known check (state in ('wanted', 'ready', 'rejected')),
    constraint ck_artifact_summary_ready_has_a_text
        check ((state = 'ready') = (text is not null and tokens is not null and ready_at is not null)),
    constraint ck_artifact_summary_text_is_not_blank check (text ~ '\\S'),
    constraint ck_artifact_summary_rejected_says_why
        check ((state = 'rejected') = (rejected_because is not null))
);
create index ix_artifact_summary_expires_at on artifact_summary (expires_at);
create index ix_artifact_summary_tenant_id_session_id on artifact_summary (tenant_id, session_id)
    where session_id is not null;

create table artifact_plan (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    question_key text collate "C" not null,
    artifacts_digest text collate "C" not null,
    artifact_ids text[] not null,
    question text not null,
    budget_tokens integer not null,
    model text not null,
    state text not null,
    plan jsonb,
    reason text,
    call_ids uuid[] not null default '{}',
    created_at timestamptz not null default now(),
    ready_at timestamptz,
    constraint pk_artifact_plan primary key (tenant_id, session_id, question_key, artifacts_digest),
    constraint fk_artifact_plan_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_artifact_plan_state_is_known check (state in ('wanted', 'ready', 'failed')),
    constraint ck_artifact_plan_ready_has_a_plan check ((state = 'ready') = (plan is not null)),
    constraint ck_artifact_plan_failed_says_why check (state <> 'failed' or reason is not null),
    constraint ck_artifact_plan_budget_is_counted check (budget_tokens >= 0)
);

create table artifact_reading (
    tenant_id uuid not null,
    day date not null,
    how text not null,
    readings bigint not null,
    constraint pk_artifact_reading primary key (tenant_id, day, how),
    constraint fk_artifact_reading_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_artifact_reading_how_is_known
        check (how in ('exact', 'near', 'extract', 'full', 'none')),
    constraint ck_artifact_reading_readings_are_counted check (readings >= 0)
)
"""


def upgrade() -> None:
    """Create the tables."""
    for statement in TABLES.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Drop them, in the order of their references."""
    for table in (
        "artifact_reading",
        "artifact_plan",
        "artifact_summary",
        "artifact_attachment",
        "artifact_use",
        "artifact",
    ):
        op.execute(f"drop table {table}")

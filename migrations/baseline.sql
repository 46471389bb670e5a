-- The schema at revision 0047, a table a statement, each before the tables that refer to it.
-- Later changes are steps of their own under versions/; this file changes no more.

create sequence plan_outcome_seq as bigint;

-- An isolated customer; every other row belongs to a tenant.
create table tenant (
    tenant_id uuid not null default uuidv7(),
    name text not null,
    created_at timestamptz not null default now(),
    erased_generation integer not null default 0,
    max_history_tokens integer,
    recalls_users boolean not null default false,
    constraint pk_tenant primary key (tenant_id),
    constraint uq_tenant_name unique (name),
    constraint ck_tenant_history_limit_is_positive check (max_history_tokens >= 1)
);

-- An API key of a tenant. Only a hash of the secret is stored.
create table api_key (
    tenant_id uuid not null,
    key_id text not null,
    label text not null,
    secret_sha256 bytea not null,
    scopes text[] not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    expires_at timestamptz,
    constraint pk_api_key primary key (tenant_id, key_id),
    constraint uq_api_key_key_id unique (key_id),
    constraint fk_api_key_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_api_key_has_a_scope check (cardinality(scopes) > 0)
);

-- A conversation: the end of the log, and the shape of the last request.
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
    cut_seq bigint not null default 0,
    kept_seq bigint,
    prepared_seq bigint not null default 0,
    prepared_tokens bigint not null default 0,
    prepared_summary_tokens integer not null default 0,
    unsigned_seq bigint not null default 0,
    most_images integer,
    counts_revision smallint not null default 2,
    resets bytea[] not null default '{}',
    max_history_tokens integer,
    narrow_window integer,
    narrow_reads smallint not null default 0,
    constraint pk_session primary key (tenant_id, session_id),
    constraint fk_session_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_session_cut_is_in_the_log check (0 <= cut_seq and cut_seq <= last_seq),
    constraint ck_session_generation_counts_from_1 check (generation >= 1),
    constraint ck_session_history_limit_is_positive check (max_history_tokens >= 1),
    constraint ck_session_kept_is_in_the_cut check (1 <= kept_seq and kept_seq < cut_seq),
    constraint ck_session_start_is_in_the_log check (0 <= start_seq and start_seq <= last_seq),
    constraint ck_session_turns_count_from_0 check (last_turn_index >= 0)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.05);
create index ix_session_age on session (tenant_id, created_at, session_id);
create index ix_session_counts on session (tenant_id, session_id) where counts_revision < 2;

-- An accepted turn-completion event; the id makes a second delivery harmless.
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
create index ix_turn_tenant_id_user_id_session_id
    on turn (tenant_id, user_id, session_id) where user_id is not null;

-- A message as sent, with the facts needed by later reads, found once.
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
    constraint ck_message_role_is_known check (role in ('system', 'user', 'assistant', 'tool')),
    constraint ck_message_seq_counts_from_1 check (seq >= 1),
    constraint ck_message_tokens_are_counted check (tokens >= 0),
    constraint ck_message_wire_is_known check (wire in ('openai', 'anthropic', 'responses'))
);

-- A version of a session's summary, beside the log and never instead of the log.
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
    tainted boolean not null default false,
    constraint pk_summary primary key (tenant_id, session_id, version),
    constraint fk_summary_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_summary_base_is_older check (base_version < version),
    constraint ck_summary_range_is_ordered check (1 <= from_seq and from_seq <= to_seq),
    constraint ck_summary_rejected_says_why check ((state = 'rejected') = (rejected_because is not null)),
    constraint ck_summary_state_is_known check (state in ('prepared', 'active', 'superseded', 'rejected')),
    constraint ck_summary_text_is_not_blank check (state = 'rejected' or text ~ '\S'),
    constraint ck_summary_version_counts_from_1 check (version >= 1)
);
create unique index ix_summary_prepared on summary (tenant_id, session_id) where state = 'prepared';
create unique index ix_summary_tenant_id_session_id
    on summary (tenant_id, session_id) where state = 'active';

-- A finished chunk of a summary under way: after a crash, work resumes behind the chunk.
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

-- A piece of work for a (kind, key); a repeated request finds the same row.
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
    refusals integer not null default 0,
    rests_until timestamptz,
    refused_because text,
    trace text,
    denied_by text,
    denied_needs numeric,
    denied_cap numeric,
    denied_at timestamptz,
    denied_under text,
    waits_for text,
    waits_since timestamptz,
    waits_for_models text[],
    holder text,
    losses integer not null default 0,
    constraint pk_due_work primary key (tenant_id, kind, key),
    constraint uq_due_work_work_id unique (work_id),
    constraint fk_due_work_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_due_work_a_lease_ends check ((lease is null) = (lease_until is null)),
    constraint ck_due_work_denial_is_known check (
        denied_by in ('tenant tokens', 'tenant usd', 'session tokens', 'session usd')
    ),
    constraint ck_due_work_denial_is_whole check (
        num_nulls(denied_by, denied_needs, denied_cap, denied_at, denied_under) in (0, 5)
    ),
    constraint ck_due_work_models_wait check (waits_for_models is null or coalesce(waits_for, '') = 'model'),
    constraint ck_due_work_running_has_a_lease check ((state = 'running') = (lease is not null)),
    constraint ck_due_work_state_is_known check (state in ('ready', 'running', 'idle', 'dead')),
    constraint ck_due_work_wait_has_begun check ((waits_for is null) = (waits_since is null)),
    constraint ck_due_work_wait_is_known check (waits_for in ('cap', 'model'))
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
create index ix_due_work_denied
    on due_work (tenant_id, denied_by, denied_needs) where state = 'ready' and denied_by is not null;
create index ix_due_work_isolated
    on due_work (due_at) where (state = 'running') or ((state = 'ready') and (crashes > 0));
create index ix_due_work_parked
    on due_work (waits_for_models, due_at) where state = 'ready' and waits_for_models is not null;
create index ix_due_work_queue
    on due_work (kind, awaited desc, due_at) where state = 'ready' and crashes = 0;
create index ix_due_work_tenant_id_due_at on due_work (tenant_id, due_at) where state = 'dead';
create index ix_due_work_turns
    on due_work (kind, awaited, tenant_id, due_at) where state = 'ready' and crashes = 0;
create index ix_due_work_waits on due_work (waits_for, waits_since) where waits_for is not null;

-- Time of the last heartbeat of a role. The row belongs to the installation, not to a tenant.
create table heartbeat (
    role text not null,
    instance text not null,
    seen_at timestamptz not null,
    detail jsonb not null default '{}',
    pool_seen_at timestamptz,
    pool_since timestamptz,
    constraint pk_heartbeat primary key (role, instance)
) with (fillfactor=50);

-- A model call: purpose, token usage and cost.
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
    charged_usd numeric(18,10) not null,
    input_tokens integer,
    cached_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    price_usd numeric(18,10),
    failure text,
    detail text,
    latency_ms integer,
    created_at timestamptz not null,
    settled_at timestamptz,
    constraint pk_llm_call primary key (tenant_id, call_id),
    constraint fk_llm_call_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_llm_call_cached_is_input check (cached_tokens <= input_tokens),
    constraint ck_llm_call_costs_nothing_or_more check (
        charged_tokens >= 0 and charged_usd >= 0 and price_usd >= 0
    ),
    constraint ck_llm_call_failed_says_why check ((state = 'failed') = (failure is not null)),
    constraint ck_llm_call_reasoning_is_output check (reasoning_tokens <= output_tokens),
    constraint ck_llm_call_settled_has_a_time check ((state = 'reserved') = (settled_at is null)),
    constraint ck_llm_call_state_is_known check (state in ('reserved', 'ok', 'failed', 'lost'))
);
create index ix_llm_call_session
    on llm_call (tenant_id, session_id, created_at) where session_id is not null;
create index ix_llm_call_tenant_id_created_at on llm_call (tenant_id, created_at);
create index ix_llm_call_unsettled on llm_call (created_at) where state = 'reserved';

-- Failures of a model since the last answer. A model without a row is well.
create table provider_gate (
    model text not null,
    failures integer not null,
    open_until timestamptz,
    probe_until timestamptz,
    reason text not null,
    failed_at timestamptz not null,
    constraint pk_provider_gate primary key (model),
    constraint ck_provider_gate_failures_count_from_1 check (failures >= 1),
    constraint ck_provider_gate_only_an_open_gate_is_probed check (
        probe_until is null or open_until is not null
    )
) with (fillfactor=50);

-- A piece of a message, with the keys of the terms.
create table recall_passage (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    start_seq bigint not null,
    start bigint not null,
    seq bigint not null,
    turn_index integer not null,
    line integer not null,
    part integer not null,
    parts integer not null,
    speaker text not null,
    body text not null,
    tokens integer not null,
    keys bigint[] not null,
    user_keys bigint[],
    constraint pk_recall_passage primary key (tenant_id, session_id, start_seq, start),
    constraint fk_recall_passage_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint fk_recall_passage_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_recall_passage_part_is_one_of_the_parts check (0 <= part and part < parts),
    constraint ck_recall_passage_tokens_are_counted check (tokens >= 1)
);
create index ix_recall_passage_keys on recall_passage using gin (keys) with (fastupdate=off);
create index ix_recall_passage_tenant_id_session_id_seq on recall_passage (tenant_id, session_id, seq);
create index ix_recall_passage_user_keys
    on recall_passage using gin (user_keys) with (fastupdate=off) where user_keys is not null;

-- Number of a session's passages with a term; the term itself is stored only as a key.
create table recall_term (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    start_seq bigint not null,
    key bigint not null,
    passages integer not null,
    constraint pk_recall_term primary key (tenant_id, session_id, start_seq, key),
    constraint fk_recall_term_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint fk_recall_term_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_recall_term_passages_are_counted check (passages >= 0)
);

-- Progress of a session's index.
create table recall_progress (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    start_seq bigint not null,
    through_seq bigint not null,
    passages integer not null,
    tokens bigint not null,
    keyed boolean not null default false,
    constraint pk_recall_progress primary key (tenant_id, session_id, start_seq),
    constraint fk_recall_progress_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint fk_recall_progress_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_recall_progress_through_seq_counts_from_0 check (through_seq >= 0)
);

-- A model's window for all sessions of a tenant: set by an operator, or agreed by sessions.
create table model_limit (
    tenant_id uuid not null,
    model text collate "C" not null,
    limit_tokens integer not null,
    source text not null,
    learned_at timestamptz not null,
    model_id text collate "C" not null default '',
    constraint pk_model_limit primary key (tenant_id, model),
    constraint fk_model_limit_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_model_limit_limit_is_positive check (limit_tokens > 0),
    constraint ck_model_limit_source_is_known check (source in ('agreed', 'operator', 'error', 'observed'))
);

-- Ratio of a tenant's usage reports for a model to our estimates; uncalibrated without a row.
create table calibration (
    tenant_id uuid not null,
    model text collate "C" not null,
    factor double precision not null,
    observations integer not null,
    spread double precision not null,
    updated_at timestamptz not null,
    constraint pk_calibration primary key (tenant_id, model),
    constraint fk_calibration_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_calibration_factor_is_bounded check (factor between 0.5 and 2.5),
    constraint ck_calibration_observations_count_from_1 check (observations >= 1),
    constraint ck_calibration_spread_is_not_negative check (spread >= 0)
);

-- A content with facts about the content alone; uses of the content are stored in other tables.
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
    constraint ck_artifact_index_says_its_version check ((passages is null) = (indexed_with is null)),
    constraint ck_artifact_sizes_are_counted check (size_chars >= 1 and size_bytes >= size_chars),
    constraint ck_artifact_tokens_are_counted check (tokens >= 0 and tokens_wide >= 0),
    constraint ck_artifact_type_is_known check (artifact_type in ('tool_result', 'document'))
);

-- A tool result stored as an artifact, or a small result of a call that wrote a subject read before.
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
    constraint fk_artifact_use_tenant_id_artifact_id_artifact foreign key (tenant_id, artifact_id)
        references artifact (tenant_id, artifact_id) deferrable initially deferred,
    constraint fk_artifact_use_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_artifact_use_no_artifact_only_for_a_write check (artifact_id is not null or writes),
    constraint ck_artifact_use_place_counts_from_0 check (place >= 0)
);
create index ix_artifact_use_tenant_id_artifact_id on artifact_use (tenant_id, artifact_id);

-- An upload of a document and the owner of the upload; an empty id means no particular owner.
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
    constraint fk_artifact_attachment_tenant_id_artifact_id_artifact foreign key (tenant_id, artifact_id)
        references artifact (tenant_id, artifact_id) deferrable initially deferred,
    constraint fk_artifact_attachment_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade
);
create index ix_artifact_attachment_tenant_id_session_id
    on artifact_attachment (tenant_id, session_id) where session_id <> '';
create index ix_artifact_attachment_tenant_id_user_id
    on artifact_attachment (tenant_id, user_id) where user_id <> '';

-- Summary of an artifact for a focus, made by a model and prompt in a size and language.
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
    asked_models text[] not null default '{}',
    user_id text collate "C",
    constraint pk_artifact_summary primary key (
        tenant_id, artifact_id, focus_key, model, prompt_version, size_class, language
    ),
    constraint fk_artifact_summary_tenant_id_artifact_id_artifact foreign key (tenant_id, artifact_id)
        references artifact (tenant_id, artifact_id) on delete cascade,
    constraint ck_artifact_summary_origin_is_known check (
        origin in ('turn', 'open_work', 'mined', 'general', 'asked', 'request')
    ),
    constraint ck_artifact_summary_ready_has_a_text check (
        (state = 'ready') = (text is not null and tokens is not null and ready_at is not null)
    ),
    constraint ck_artifact_summary_rejected_says_why check (
        (state = 'rejected') = (rejected_because is not null)
    ),
    constraint ck_artifact_summary_state_is_known check (state in ('wanted', 'ready', 'rejected')),
    constraint ck_artifact_summary_text_is_not_blank check (text ~ '\S')
);
create index ix_artifact_summary_expires_at on artifact_summary (expires_at);
create index ix_artifact_summary_tenant_id_session_id
    on artifact_summary (tenant_id, session_id) where session_id is not null;
create index ix_artifact_summary_tenant_id_user_id
    on artifact_summary (tenant_id, user_id) where user_id is not null;

-- A model's plan for the use of certain artifacts for a question.
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
    focus text not null default '',
    attached_ids text[] not null default '{}',
    brought jsonb,
    planner text,
    constraint pk_artifact_plan primary key (tenant_id, session_id, question_key, artifacts_digest),
    constraint fk_artifact_plan_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_artifact_plan_budget_is_counted check (budget_tokens >= 0),
    constraint ck_artifact_plan_failed_says_why check (state <> 'failed' or reason is not null),
    constraint ck_artifact_plan_ready_has_a_plan check ((state = 'ready') = (plan is not null)),
    constraint ck_artifact_plan_state_is_known check (state in ('wanted', 'ready', 'failed'))
);

-- Number of a tenant's reads answered in a way on a day.
create table artifact_reading (
    tenant_id uuid not null,
    day date not null,
    how text not null,
    readings bigint not null,
    constraint pk_artifact_reading primary key (tenant_id, day, how),
    constraint fk_artifact_reading_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_artifact_reading_how_is_known check (how in ('exact', 'near', 'extract', 'full', 'none')),
    constraint ck_artifact_reading_readings_are_counted check (readings >= 0)
);

-- Profile of the models with a prefix, for every tenant.
create table model_profile (
    prefix text collate "C" not null,
    tier text not null,
    input_tokens integer not null,
    output_tokens integer not null,
    catalog_bytes integer not null,
    strict_json boolean not null,
    hybrid_reasoning boolean not null,
    filter_pass boolean not null,
    prefix_cache boolean not null,
    cache_ttl_s double precision,
    constraint pk_model_profile primary key (prefix),
    constraint ck_model_profile_prefix_is_lower_case check (prefix = lower(prefix)),
    constraint ck_model_profile_sizes_are_sizes check (
        input_tokens > 0 and output_tokens > 0 and catalog_bytes >= 0 and cache_ttl_s >= 0
    ),
    constraint ck_model_profile_tier_is_known check (tier in ('A', 'B', 'C'))
);

-- Price of a model from a price list; null is unknown.
create table model_price (
    model text collate "C" not null,
    input_usd numeric(18,10),
    output_usd numeric(18,10),
    cached_usd numeric(18,10),
    context_window integer,
    updated_at timestamptz not null default now(),
    constraint pk_model_price primary key (model),
    constraint ck_model_price_costs_nothing_or_more check (
        input_usd >= 0 and output_usd >= 0 and cached_usd >= 0
    ),
    constraint ck_model_price_model_is_lower_case check (model = lower(model)),
    constraint ck_model_price_window_is_a_size check (context_window > 0)
);

-- Override by a tenant's operator; null keeps the shared value.
create table profile_override (
    tenant_id uuid not null,
    prefix text collate "C" not null,
    tier text,
    input_tokens integer,
    output_tokens integer,
    catalog_bytes integer,
    strict_json boolean,
    hybrid_reasoning boolean,
    filter_pass boolean,
    prefix_cache boolean,
    cache_ttl_s double precision,
    input_usd numeric(18,10),
    output_usd numeric(18,10),
    cached_usd numeric(18,10),
    updated_at timestamptz not null default now(),
    constraint pk_profile_override primary key (tenant_id, prefix),
    constraint fk_profile_override_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_profile_override_costs_nothing_or_more check (
        input_usd >= 0 and output_usd >= 0 and cached_usd >= 0
    ),
    constraint ck_profile_override_prefix_is_lower_case check (prefix = lower(prefix)),
    constraint ck_profile_override_sizes_are_sizes check (
        input_tokens > 0 and output_tokens > 0 and catalog_bytes >= 0 and cache_ttl_s >= 0
    ),
    constraint ck_profile_override_tier_is_known check (tier in ('A', 'B', 'C'))
);

-- A tenant's catalog and the version in force.
create table catalog (
    tenant_id uuid not null,
    name text collate "C" not null,
    digest text collate "C" not null,
    updated_at timestamptz not null default now(),
    constraint pk_catalog primary key (tenant_id, name),
    constraint fk_catalog_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_catalog_digest_is_sha256 check (digest ~ '^[0-9a-f]{64}$')
);

-- A version of a catalog, with the canonical text of the whole.
create table catalog_version (
    tenant_id uuid not null,
    name text collate "C" not null,
    digest text collate "C" not null,
    body text not null,
    packs integer not null,
    pipelines integer not null,
    tokens integer not null,
    put_at timestamptz not null default clock_timestamp(),
    constraint pk_catalog_version primary key (tenant_id, name, digest),
    constraint fk_catalog_version_tenant_id_name_catalog foreign key (tenant_id, name)
        references catalog (tenant_id, name) on delete cascade,
    constraint ck_catalog_version_counts_are_counts check (packs >= 0 and pipelines >= 0 and tokens >= 0)
);

-- First day of an entry in a catalog, across versions, and the time of removal.
create table catalog_entry (
    tenant_id uuid not null,
    name text collate "C" not null,
    entry_id text collate "C" not null,
    first_seen_on date not null,
    gone_at timestamptz,
    constraint pk_catalog_entry primary key (tenant_id, name, entry_id),
    constraint fk_catalog_entry_tenant_id_name_catalog foreign key (tenant_id, name)
        references catalog (tenant_id, name) on delete cascade
);

-- A plan: the intent, the steps, and the known outcome of each step.
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
    constraint fk_plan_history_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint fk_plan_history_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_plan_history_a_failure_has_a_cause check ((status = 'failed') = (failure is not null)),
    constraint ck_plan_history_a_turn_has_a_session check (turn_id is null or session_id is not null),
    constraint ck_plan_history_an_outcome_has_a_place check ((outcome_at is null) = (outcome_seq is null)),
    constraint ck_plan_history_complexity_is_a_share check (complexity between 0 and 1),
    constraint ck_plan_history_method_is_known check (method in ('llm', 'lexical', 'reported')),
    constraint ck_plan_history_mode_is_known check (mode in ('plan', 'route')),
    constraint ck_plan_history_source_is_known check (source in ('asked', 'turn')),
    constraint ck_plan_history_status_is_known check (status in ('wanted', 'ready', 'failed')),
    constraint ck_plan_history_what_is_wanted_is_not_ready check ((status = 'wanted') = (ready_at is null))
);
create index ix_plan_history_tenant_id_catalog_outcome_seq
    on plan_history (tenant_id, catalog, outcome_seq) where outcome_seq is not null;
create index ix_plan_history_tenant_id_created_at on plan_history (tenant_id, created_at);
create index ix_plan_history_tenant_id_session_id_turn_id
    on plan_history (tenant_id, session_id, turn_id) where session_id is not null;
create index ix_plan_history_tenant_id_user_id_created_at
    on plan_history (tenant_id, user_id, created_at) where user_id is not null;

-- A set: for ranking, of a catalog; for categories, of the tenant's policy, under an empty name.
create table prior_set (
    tenant_id uuid not null,
    kind text not null,
    name text collate "C" not null,
    version integer not null,
    state text not null,
    blob bytea,
    watermark bigint not null,
    evidence double precision not null,
    evaluation jsonb not null,
    drift double precision,
    reason text not null,
    made_at timestamptz not null default now(),
    activated_at timestamptz,
    ended_at timestamptz,
    constraint pk_prior_set primary key (tenant_id, kind, name, version),
    constraint fk_prior_set_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_prior_set_drift_is_a_share check (drift between 0 and 1),
    constraint ck_prior_set_evidence_is_not_negative check (evidence >= 0),
    constraint ck_prior_set_kind_is_known check (kind in ('ranking', 'categories')),
    constraint ck_prior_set_state_is_known check (
        state in ('observing', 'active', 'superseded', 'rejected')
    ),
    constraint ck_prior_set_version_counts_from_1 check (version >= 1),
    constraint ck_prior_set_what_is_active_was_activated check (
        state <> 'active' or activated_at is not null
    ),
    constraint ck_prior_set_what_may_serve_is_there check (
        state not in ('observing', 'active') or blob is not null
    )
);
create unique index ix_prior_set_tenant_id_kind_name
    on prior_set (tenant_id, kind, name) where state = 'active';

-- Counts over a catalog's plans; an empty name for plans without a catalog.
create table learning_state (
    tenant_id uuid not null,
    name text collate "C" not null,
    watermark bigint not null,
    state bytea not null,
    unfinished jsonb not null default '{}'::jsonb,
    updated_at timestamptz not null default now(),
    constraint pk_learning_state primary key (tenant_id, name),
    constraint fk_learning_state_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_learning_state_watermark_counts_from_0 check (watermark >= 0)
);

-- A night with a learning request for all tenants.
create table learning_night (
    night date not null,
    asked_at timestamptz not null default now(),
    constraint pk_learning_night primary key (night)
);

-- Number of readings of a tool's artifacts for a focus; the words stay with the requests.
create table focus_statistic (
    tenant_id uuid not null,
    tool text collate "C" not null,
    focus_key text collate "C" not null,
    uses double precision not null,
    sessions integer not null,
    last_at timestamptz not null,
    constraint pk_focus_statistic primary key (tenant_id, tool, focus_key),
    constraint fk_focus_statistic_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_focus_statistic_what_is_kept_was_used check (uses > 0 and sessions >= 1)
);

-- Outcomes for a tool and messages of a category; decayed weights of decisions.
create table category_statistic (
    tenant_id uuid not null,
    category text collate "C" not null,
    tool text collate "C" not null,
    kept double precision not null,
    hidden double precision not null,
    used double precision not null,
    missed double precision not null,
    constraint pk_category_statistic primary key (tenant_id, category, tool),
    constraint fk_category_statistic_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_category_statistic_weights_are_not_negative check (
        kept >= 0 and hidden >= 0 and used >= 0 and missed >= 0
    )
);

-- Weight of a category in a user's messages; decayed weights of decisions.
create table user_profile (
    tenant_id uuid not null,
    user_id text not null,
    category text collate "C" not null,
    weight double precision not null,
    constraint pk_user_profile primary key (tenant_id, user_id, category),
    constraint fk_user_profile_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_user_profile_weight_is_not_negative check (weight >= 0)
);

-- A tenant's policy in force; without a row, the settings' policy is in force.
create table preflight_policy (
    tenant_id uuid not null,
    version integer not null,
    config jsonb not null,
    updated_at timestamptz not null,
    constraint pk_preflight_policy primary key (tenant_id),
    constraint fk_preflight_policy_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_preflight_policy_version_counts_from_1 check (version >= 1)
);

-- Topic of a session's last task: empty categories for an unrecognized topic.
create table preflight_session (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    categories text[] not null,
    confidence double precision not null,
    decided_at timestamptz not null,
    constraint pk_preflight_session primary key (tenant_id, session_id),
    constraint fk_preflight_session_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_preflight_session_confidence_is_a_share check (confidence between 0 and 1)
);

-- A decision. The session may have no turn yet; a trigger deletes the decision with the session.
create table preflight_decision (
    tenant_id uuid not null,
    decision_id uuid not null default uuidv7(),
    session_id text collate "C",
    turn_index integer,
    policy_version integer not null,
    categories text[] not null,
    scores jsonb not null,
    features jsonb not null,
    chars integer not null,
    confidence double precision not null,
    previous jsonb,
    reasons text[] not null,
    kept text[],
    hidden text[],
    pinned text[] not null,
    decided_at timestamptz not null default now(),
    used text[],
    joined_at timestamptz,
    relabelled text[],
    relabelled_at timestamptz,
    constraint pk_preflight_decision primary key (tenant_id, decision_id),
    constraint fk_preflight_decision_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_preflight_decision_a_turn_has_a_session check (
        turn_index is null or session_id is not null
    ),
    constraint ck_preflight_decision_chars_are_counted check (chars >= 0),
    constraint ck_preflight_decision_confidence_is_a_share check (confidence between 0 and 1),
    constraint ck_preflight_decision_labels_have_a_time check (
        (relabelled is null) = (relabelled_at is null)
    ),
    constraint ck_preflight_decision_what_is_joined_was_used check ((used is null) = (joined_at is null))
);
create index ix_preflight_decision_tenant_id_decided_at on preflight_decision (tenant_id, decided_at);
create index ix_preflight_decision_tenant_id_session_id_turn_index
    on preflight_decision (tenant_id, session_id, turn_index) where session_id is not null;

-- Number of a catalog's plans erased since the catalog's learning last began anew.
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

-- A count: the total, and by minute for a rate. The row belongs to the installation, not to a tenant.
create table metric_count (
    name text collate "C" not null,
    labels text collate "C" not null,
    total double precision not null,
    minute timestamptz not null,
    this_minute double precision not null,
    minute_before double precision not null,
    constraint pk_metric_count primary key (name, labels),
    constraint ck_metric_count_counts_only_grow check (
        total >= 0 and this_minute >= 0 and minute_before >= 0
    )
);

-- A tenant's own wishes; unset wishes follow the settings.
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
);

-- Sums of calls no longer kept singly.
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
    price_usd numeric(18,10) not null,
    unpriced_calls bigint not null,
    constraint pk_llm_call_day primary key (tenant_id, day, purpose, model),
    constraint fk_llm_call_day_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade
);

-- Number of rows deleted for age on a day: numbers alone.
create table retention_log (
    tenant_id uuid not null,
    day date not null,
    name text not null,
    rows bigint not null,
    constraint pk_retention_log primary key (tenant_id, day, name),
    constraint fk_retention_log_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_retention_log_something_went check (rows > 0)
);

-- A tenant's parts in shadow; without a row, the settings' parts are in shadow.
create table shadow_switch (
    tenant_id uuid not null,
    parts text[] not null,
    updated_at timestamptz not null default now(),
    constraint pk_shadow_switch primary key (tenant_id),
    constraint fk_shadow_switch_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade
);

-- A part at a read: numbers, and digests while the turn is awaited, never text.
create table shadow_read (
    tenant_id uuid not null,
    read_id uuid not null,
    part text not null,
    session_id text collate "C",
    generation integer not null,
    after_seq bigint not null,
    new_messages integer not null,
    model text not null,
    planted boolean not null default false,
    served_tokens bigint not null,
    would_tokens bigint not null,
    served jsonb not null,
    would jsonb not null,
    hidden_tools integer not null,
    state text not null,
    salt bytea,
    held bytea,
    lacking bytea,
    hidden bytea,
    needed integer not null default 0,
    lost integer not null default 0,
    calls integer not null default 0,
    blocked integer not null default 0,
    made_at timestamptz not null default now(),
    judged_at timestamptz,
    constraint pk_shadow_read primary key (tenant_id, read_id, part),
    constraint fk_shadow_read_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_shadow_read_blocked_was_called check (0 <= blocked and blocked <= calls),
    constraint ck_shadow_read_held_has_a_salt check ((salt is null) = (held is null)),
    constraint ck_shadow_read_hidden_has_a_salt check ((salt is null) = (hidden is null)),
    constraint ck_shadow_read_judged_has_a_time check ((state = 'judged') = (judged_at is not null)),
    constraint ck_shadow_read_lacking_has_a_salt check ((salt is null) = (lacking is null)),
    constraint ck_shadow_read_lost_was_needed check (0 <= lost and lost <= needed),
    constraint ck_shadow_read_only_who_waits_has_digests check ((state = 'waiting') = (salt is not null)),
    constraint ck_shadow_read_state_is_known check (state in ('waiting', 'judged', 'lapsed')),
    constraint ck_shadow_read_tokens_are_counted check (served_tokens >= 0 and would_tokens >= 0),
    constraint ck_shadow_read_who_waits_has_a_session check (state <> 'waiting' or session_id is not null)
);
create index ix_shadow_read_session on shadow_read (tenant_id, session_id) where session_id is not null;
create index ix_shadow_read_tenant_id_made_at on shadow_read (tenant_id, made_at);
create index ix_shadow_read_waiting on shadow_read (tenant_id, made_at) where state = 'waiting';

-- A tenant's key, wrapped by a master key. Without this row the tenant's text is lost.
create table text_key (
    tenant_id uuid not null,
    master_id text not null,
    wrapped bytea not null,
    made_in text not null default pg_current_xact_id()::text,
    created_at timestamptz not null default now(),
    wrapped_at timestamptz not null default now(),
    constraint pk_text_key primary key (tenant_id),
    constraint fk_text_key_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade
);

-- Effects of the last erasure of a session, a user or a message, in numbers.
create table erase_receipt (
    tenant_id uuid not null,
    erased text not null,
    id_sha256 bytea not null,
    rows jsonb not null,
    requeued integer not null,
    is_done boolean not null,
    erased_at timestamptz not null default now(),
    told jsonb not null default '{}',
    constraint pk_erase_receipt primary key (tenant_id, erased, id_sha256),
    constraint fk_erase_receipt_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_erase_receipt_erased_is_known check (erased in ('session', 'user', 'message')),
    constraint ck_erase_receipt_id_is_a_digest check (octet_length(id_sha256) = 32),
    constraint ck_erase_receipt_requeued_is_a_count check (requeued >= 0)
);
create index ix_erase_receipt_erased_at on erase_receipt (erased_at);

-- Time of a model's full bucket, and the return time of the last rejected caller.
create table provider_pace (
    model text not null,
    full_at timestamptz not null,
    next_at timestamptz not null,
    constraint pk_provider_pace primary key (model)
) with (fillfactor=70);

-- A forgotten key of a tenant, by the time of making; never the key itself.
create table text_key_forgotten (
    tenant_id uuid not null,
    made_at timestamptz not null,
    forgotten_at timestamptz not null default now(),
    cleared_at timestamptz,
    constraint pk_text_key_forgotten primary key (tenant_id, made_at),
    constraint fk_text_key_forgotten_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_text_key_forgotten_cleared_after_forgotten check (cleared_at >= forgotten_at)
);

-- Prefix of a session's last request: system prompt and tools, and the range of the messages behind.
create table chat_prefix (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    generation integer not null,
    model text not null,
    notes_version integer not null,
    from_seq bigint not null,
    to_seq bigint not null,
    head text not null,
    constraint pk_chat_prefix primary key (tenant_id, session_id),
    constraint fk_chat_prefix_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_chat_prefix_range_is_ordered check (1 <= from_seq and from_seq <= to_seq),
    constraint ck_chat_prefix_versions_count_from_0 check (generation >= 1 and notes_version >= 0)
);

-- A model's window as told by a refusal in a session; lowers the limit of the session.
create table limit_sighting (
    tenant_id uuid not null,
    model text collate "C" not null,
    session_id text collate "C" not null,
    limit_tokens integer not null,
    source text not null,
    seen_at timestamptz not null,
    outdone_at timestamptz,
    came_back boolean not null default false,
    model_id text collate "C" not null default '',
    key_id text collate "C",
    contradicted_at timestamptz,
    constraint pk_limit_sighting primary key (tenant_id, model, session_id),
    constraint fk_limit_sighting_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_limit_sighting_limit_is_positive check (limit_tokens > 0),
    constraint ck_limit_sighting_source_is_known check (source in ('error', 'observed'))
);
create index ix_limit_sighting_tenant_id_model_id on limit_sighting (tenant_id, model_id);
create index ix_limit_sighting_tenant_id_session_id on limit_sighting (tenant_id, session_id);

-- Counts of a tenant's things made ahead on a day, by purpose, origin and kind.
create table speculation (
    tenant_id uuid not null,
    day date not null,
    purpose text collate "C" not null,
    origin text collate "C" not null,
    kind text collate "C" not null,
    made bigint not null default 0,
    used bigint not null default 0,
    unused bigint not null default 0,
    spent_tokens bigint not null default 0,
    saved_tokens bigint not null default 0,
    constraint pk_speculation primary key (tenant_id, day, purpose, origin, kind),
    constraint fk_speculation_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_speculation_counts_up check (
        made >= 0 and used >= 0 and unused >= 0 and spent_tokens >= 0
    ),
    constraint ck_speculation_purpose_is_known check (purpose in ('reading', 'plan', 'summary'))
);


-- A decision may come before the first turn of its session, so no foreign key can hold the decision to it.
create function forget_preflight_decisions() returns trigger language plpgsql as $$
begin
    delete from preflight_decision where tenant_id = old.tenant_id and session_id = old.session_id;
    return null;
end
$$;
create trigger forget_preflight_decisions after delete on session
    for each row execute function forget_preflight_decisions();

-- A record of a shadow read outlives its session, but not the session's name.
create function unlink_shadow_reads() returns trigger language plpgsql as $$
begin
    update shadow_read set session_id = null, salt = null, held = null, lacking = null, hidden = null,
        state = case state when 'waiting' then 'lapsed' else state end
    where tenant_id = old.tenant_id and session_id = old.session_id;
    return null;
end
$$;
create trigger unlink_shadow_reads after delete on session
    for each row execute function unlink_shadow_reads();

-- Known models by the beginning of their names: tier, limits in tokens, and how they take catalogs.
insert into model_profile (
    prefix, tier, input_tokens, output_tokens, catalog_bytes, strict_json, hybrid_reasoning, filter_pass, prefix_cache,
    cache_ttl_s
) values
    ('anthropic/claude-', 'A', 192000, 8000, 0, true, false, false, true, 300),
    ('anthropic/claude-opus-', 'A', 192000, 8000, 0, true, false, false, true, 300),
    ('anthropic/claude-sonnet-', 'A', 192000, 8000, 0, true, false, false, true, 300),
    ('anthropic/claude-haiku-', 'A', 196000, 4000, 0, true, false, false, true, 300),
    ('anthropic/claude-2', 'B', 90000, 2000, 22000, false, false, false, false, NULL),
    ('anthropic/claude-instant', 'C', 90000, 1500, 10000, false, false, true, false, NULL),
    ('openai/gpt-3.5', 'B', 12000, 2000, 12000, false, false, false, false, NULL),
    ('openai/gpt-4', 'B', 6000, 2000, 12000, false, false, false, false, NULL),
    ('openai/gpt-4-turbo', 'A', 100000, 4000, 0, false, false, false, false, NULL),
    ('openai/gpt-4.1', 'A', 1040000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-4.5', 'A', 100000, 4000, 0, true, false, false, true, 600),
    ('openai/gpt-4o', 'A', 100000, 4000, 0, true, false, false, true, 600),
    ('openai/gpt-5', 'A', 268000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5-chat', 'A', 120000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5.4', 'A', 918000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5.4-mini', 'A', 268000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5.4-nano', 'A', 268000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5.5', 'A', 918000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-6', 'A', 268000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-oss-', 'C', 16000, 1500, 10000, false, true, true, false, NULL),
    ('openai/chatgpt-4o', 'A', 100000, 4000, 0, false, false, false, true, 600),
    ('openai/o1', 'A', 195600, 4400, 0, true, true, false, true, 600),
    ('openai/o1-mini', 'B', 120000, 4400, 22000, false, true, false, true, 600),
    ('openai/o1-preview', 'B', 120000, 4400, 22000, false, true, false, true, 600),
    ('openai/o3', 'A', 195600, 4400, 0, true, true, false, true, 600),
    ('openai/o3-mini', 'A', 195600, 4400, 0, true, true, false, true, 600),
    ('openai/o4-mini', 'A', 195600, 4400, 0, true, true, false, true, 600),
    ('google/gemini-', 'A', 120000, 2500, 0, true, false, false, true, 3600),
    ('google/gemini-2.0-flash', 'A', 1044000, 2500, 0, true, false, false, true, 3600),
    ('google/gemini-2.5-flash', 'A', 1044000, 2500, 0, true, false, false, true, 3600),
    ('google/gemini-2.5-pro', 'A', 1044000, 4000, 0, true, false, false, true, 3600),
    ('google/gemini-3', 'A', 1044000, 4000, 0, true, false, false, true, 3600),
    ('google/gemini-4', 'A', 1044000, 4000, 0, true, false, false, true, 3600),
    ('google/gemma-2-', 'B', 6500, 1500, 12000, false, false, false, false, NULL),
    ('meta-llama/llama-3.1-70b', 'B', 32000, 2000, 22000, false, false, false, false, NULL),
    ('meta-llama/llama-3.3-70b', 'B', 32000, 2000, 22000, false, false, false, false, NULL),
    ('meta-llama/llama-3.3-70b-instruct:free', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('mistralai/', 'B', 30000, 2000, 22000, true, false, false, false, NULL),
    ('mistralai/mistral-7b', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('deepseek/deepseek-', 'B', 60000, 2000, 22000, false, false, false, true, 14400),
    ('deepseek/deepseek-chat', 'B', 128000, 2000, 22000, false, false, false, true, 14400),
    ('deepseek/deepseek-r1', 'B', 60000, 2000, 22000, false, true, false, true, 14400),
    ('deepseek/deepseek-reasoner', 'B', 60000, 2000, 22000, false, true, false, true, 14400),
    ('deepseek/deepseek-v3.2', 'B', 128000, 2000, 22000, false, false, false, true, 14400),
    ('deepseek/deepseek-v4', 'B', 128000, 2000, 22000, false, false, false, true, 14400),
    ('x-ai/grok-', 'B', 128000, 2000, 22000, true, false, false, false, NULL),
    ('x-ai/grok-4', 'B', 254000, 2000, 22000, true, false, false, false, NULL),
    ('x-ai/grok-code', 'B', 254000, 2000, 22000, true, false, false, false, NULL),
    ('openrouter/free', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('nvidia/nemotron-', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('z-ai/glm-', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('qwen/qwen-', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('qwen/qwen-2.5-', 'C', 16000, 1500, 10000, false, false, true, false, NULL),
    ('moonshotai/kimi-', 'C', 254000, 1500, 10000, false, true, true, false, NULL),
    ('moonshotai/kimi-k2', 'C', 128000, 1500, 10000, false, true, true, false, NULL),
    ('moonshotai/kimi-k2-thinking', 'C', 254000, 1500, 10000, false, true, true, false, NULL),
    ('moonshotai/kimi-k2.', 'C', 254000, 1500, 10000, false, true, true, false, NULL),
    ('anthropic/claude-3-haiku', 'A', 192000, 4000, 0, true, false, false, true, 300),
    ('anthropic/claude-3-opus', 'A', 192000, 4000, 0, true, false, false, true, 300),
    ('anthropic/claude-3-sonnet', 'A', 192000, 4000, 0, true, false, false, true, 300),
    ('anthropic/claude-3-5-sonnet-20240620', 'A', 192000, 4000, 0, true, false, false, true, 300),
    ('openai/gpt-3.5-turbo-0613', 'B', 2000, 2000, 12000, false, false, false, false, NULL),
    ('openai/gpt-3.5-turbo-instruct', 'B', 2000, 2000, 12000, false, false, false, false, NULL),
    ('google/gemini-gemma-2', 'B', 6500, 1500, 12000, false, false, false, false, NULL),
    ('x-ai/grok-2-vision', 'B', 30000, 2000, 22000, true, false, false, false, NULL),
    ('moonshotai/kimi-k2.7-code', 'C', 227000, 1500, 10000, false, true, true, false, NULL),
    ('openai/gpt-5.1-chat', 'A', 111000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5.2-chat', 'A', 111000, 4000, 0, true, false, false, true, 86400),
    ('openai/gpt-5.3-chat', 'A', 111000, 4000, 0, true, false, false, true, 86400);

-- List prices in US dollars per million tokens, until an import brings an operator's own.
insert into model_price (model, input_usd, output_usd, cached_usd) values
    ('extractive', 0, 0, 0),
    ('claude-fable-5', 10, 50, 1),
    ('claude-fable-5-1', 10, 50, 0.25),
    ('claude-haiku-4-5', 1, 5, 0.1),
    ('claude-haiku-5-5', 0.1, 0.5, 0.01),
    ('claude-opus-4-5', 5, 25, 0.5),
    ('claude-opus-4-6', 5, 25, 0.5),
    ('claude-opus-4-7', 5, 25, 0.5),
    ('claude-opus-4-8', 5, 25, 0.5),
    ('claude-opus-5', 5, 25, 0.5),
    ('claude-opus-5-5', 4, 20, 0.2),
    ('claude-sonnet-4-5', 3, 15, 0.3),
    ('claude-sonnet-4-6', 3, 15, 0.3),
    ('claude-sonnet-5', 2, 10, 0.2),
    ('claude-sonnet-5-5', 2, 10, 0.1),
    ('deepseek-chat', 0.28, 0.42, 0.028),
    ('deepseek-flash', 0.3, 1.2, 0.006),
    ('deepseek-reasoner', 0.28, 0.42, 0.028),
    ('deepseek-v4-flash', 0.3, 1.2, 0.006),
    ('deepseek-v4-pro', 1.32, 3.96, 0.044),
    ('deepseek/deepseek-chat', 0.28, 0.42, 0.028),
    ('deepseek/deepseek-coder', 0.14, 0.28, 0.014),
    ('deepseek/deepseek-flash', 0.3, 1.2, 0.006),
    ('deepseek/deepseek-r1', 0.55, 2.19, 0.14),
    ('deepseek/deepseek-reasoner', 0.28, 0.42, 0.028),
    ('deepseek/deepseek-v3.2', 0.28, 0.4, 0.028),
    ('deepseek/deepseek-v4-flash', 0.3, 1.2, 0.006),
    ('deepseek/deepseek-v4-pro', 1.32, 3.96, 0.044),
    ('gemini-2.5-flash', 0.3, 2.5, 0.03),
    ('gemini-2.5-flash-lite', 0.1, 0.4, 0.01),
    ('gemini-2.5-pro', 1.25, 10, 0.125),
    ('gemini-3-flash-preview', 0.5, 3, 0.05),
    ('gemini-3.1-flash-lite', 0.25, 1.5, 0.025),
    ('gemini-3.1-flash-lite-preview', 0.25, 1.5, 0.025),
    ('gemini-3.1-pro-preview', 2, 12, 0.2),
    ('gemini-3.5-flash', 1.5, 9, 0.15),
    ('gemini-3.5-flash-lite', 0.3, 2.5, 0.03),
    ('gemini-3.6-flash', 0.75, 3.75, 0.075),
    ('gemini-3.7-flash', 0.75, 3.75, 0.075),
    ('gemini-3.8-flash', 0.75, 3.75, 0.075),
    ('gemini/gemini-2.5-flash', 0.3, 2.5, 0.03),
    ('gemini/gemini-2.5-flash-lite', 0.1, 0.4, 0.01),
    ('gemini/gemini-2.5-pro', 1.25, 10, 0.125),
    ('gemini/gemini-3-flash-preview', 0.5, 3, 0.05),
    ('gemini/gemini-3.1-flash-lite', 0.25, 1.5, 0.025),
    ('gemini/gemini-3.1-flash-lite-preview', 0.25, 1.5, 0.025),
    ('gemini/gemini-3.1-pro-preview', 2, 12, 0.2),
    ('gemini/gemini-3.5-flash', 1.5, 9, 0.15),
    ('gemini/gemini-3.5-flash-lite', 0.3, 2.5, 0.03),
    ('gemini/gemini-3.6-flash', 0.75, 3.75, 0.075),
    ('gemini/gemini-3.7-flash', 0.75, 3.75, 0.075),
    ('gemini/gemini-3.8-flash', 0.75, 3.75, 0.075),
    ('gemini/gemini-4-argon', 2, 10, 0.1),
    ('gemini/gemini-4-hydrogen', 1.5, 7.5, 0.075),
    ('mistral/mistral-large-3', 0.5, 1.5, 0.05),
    ('mistral/mistral-large-4', 0.7, 2.1, 0.07),
    ('mistral/mistral-large-4-0', 0.7, 2.1, 0.07),
    ('mistral/mistral-medium', 1.5, 7.5, 0.15),
    ('mistral/mistral-medium-3', 1.5, 7.5, 0.15),
    ('mistral/mistral-medium-3-5', 1.5, 7.5, 0.15),
    ('mistral/mistral-medium-3.5', 1.5, 7.5, 0.15),
    ('mistral/mistral-small', 0.1, 0.3, 0.01),
    ('mistral/mistral-tiny', 0.25, 0.25, 0.025),
    ('mistral/open-mistral-nemo', 0.3, 0.3, 0.03),
    ('moonshot/kimi-k2.5', 0.6, 3, 0.1),
    ('moonshot/kimi-k2.6', 0.95, 4, 0.16),
    ('moonshot/kimi-k2.7-code', 0.95, 4, 0.19),
    ('moonshot/kimi-k3', 3, 15, 0.3),
    ('moonshot/kimi-k3.1-pro', 2, 10, 0.2),
    ('moonshot/kimi-k3.1-pro-highspeed', 4, 20, 0.2),
    ('gpt-3.5-turbo', 0.5, 1.5, NULL),
    ('gpt-3.5-turbo-16k', 3, 4, NULL),
    ('gpt-4', 30, 60, NULL),
    ('gpt-4-turbo', 10, 30, NULL),
    ('gpt-4.1', 2, 8, 0.5),
    ('gpt-4.1-mini', 0.4, 1.6, 0.1),
    ('gpt-4.1-nano', 0.1, 0.4, 0.025),
    ('gpt-4o', 2.5, 10, 1.25),
    ('gpt-4o-mini', 0.15, 0.6, 0.075),
    ('gpt-5', 1.25, 10, 0.125),
    ('gpt-5-chat', 1.25, 10, 0.125),
    ('gpt-5-codex', 1.25, 10, 0.125),
    ('gpt-5-mini', 0.25, 2, 0.025),
    ('gpt-5-nano', 0.05, 0.4, 0.005),
    ('gpt-5-pro', 15, 120, NULL),
    ('gpt-5.1', 1.25, 10, 0.125),
    ('gpt-5.1-codex', 1.25, 10, 0.125),
    ('gpt-5.1-codex-max', 1.25, 10, 0.125),
    ('gpt-5.1-codex-mini', 0.25, 2, 0.025),
    ('gpt-5.2', 1.75, 14, 0.175),
    ('gpt-5.2-codex', 1.75, 14, 0.175),
    ('gpt-5.2-pro', 21, 168, NULL),
    ('gpt-5.3-codex', 1.75, 14, 0.175),
    ('gpt-5.4', 2.5, 15, 0.25),
    ('gpt-5.4-mini', 0.75, 4.5, 0.075),
    ('gpt-5.4-nano', 0.2, 1.25, 0.02),
    ('gpt-5.4-pro', 30, 180, NULL),
    ('gpt-5.5', 5, 30, 0.5),
    ('gpt-5.5-pro', 30, 180, NULL),
    ('gpt-5.6', 4, 20, 0.4),
    ('gpt-5.6-luna', 0.2, 1.2, 0.02),
    ('gpt-5.6-sol', 4, 20, 0.4),
    ('gpt-5.6-terra', 2, 12, 0.2),
    ('gpt-6-astra', 10, 50, 1),
    ('gpt-6-luna', 0.1, 0.5, 0.01),
    ('gpt-6-sol', 2, 10, 0.2),
    ('gpt-6.1-sol', 2, 10, 0.1),
    ('gpt-6.1-terra', 1, 5, 0.05),
    ('o1', 15, 60, 7.5),
    ('o1-pro', 150, 600, NULL),
    ('o3', 2, 8, 0.5),
    ('o3-mini', 1.1, 4.4, 0.55),
    ('o3-pro', 20, 80, NULL),
    ('o4-mini', 1.1, 4.4, 0.275),
    ('xai/grok-4.20', 1.25, 2.5, 0.2),
    ('xai/grok-4.20-0309-non-reasoning', 1.25, 2.5, 0.2),
    ('xai/grok-4.20-0309-reasoning', 1.25, 2.5, 0.2),
    ('xai/grok-4.20-non-reasoning', 1.25, 2.5, 0.2),
    ('xai/grok-4.20-reasoning', 1.25, 2.5, 0.2),
    ('xai/grok-4.3', 1.25, 2.5, 0.2),
    ('xai/grok-4.5', 2, 6, 0.3),
    ('xai/grok-4.6', 2, 6, 0.5),
    ('xai/grok-4.7', 2, 6, 0.5),
    ('xai/grok-build-0.1', 1, 2, 0.2),
    ('xai/grok-code-fast', 1, 2, 0.2),
    ('xai/grok-code-fast-1', 1, 2, 0.2),
    ('zai/glm-4.5', 0.6, 2.2, NULL),
    ('zai/glm-4.5-air', 0.2, 1.1, NULL),
    ('zai/glm-4.5-airx', 1.1, 4.5, NULL),
    ('zai/glm-4.5-x', 2.2, 8.9, NULL),
    ('zai/glm-4.5v', 0.6, 1.8, NULL),
    ('zai/glm-4.6', 0.6, 2.2, 0.11),
    ('zai/glm-4.7', 0.6, 2.2, 0.11),
    ('zai/glm-5', 1, 3.2, 0.2),
    ('zai/glm-5-code', 1.2, 5, 0.3),
    ('zai/glm-5.1', 1.4, 4.4, 0.26),
    ('zai/glm-5.2', 1.4, 4.4, 0.26),
    ('zai/glm-5.3', 1.4, 4.4, 0.26),
    ('zai/glm-5.3-flash', 0.15, 0.5, 0.03),
    ('zai/glm-5v-turbo', 1.2, 4, 0.24),
    ('claude-3-opus', 15, 75, 1.5),
    ('claude-opus-4', 15, 75, 1.5),
    ('claude-opus-4-1', 15, 75, 1.5),
    ('claude-4-opus', 15, 75, 1.5);

"""Keep catalogs by version; say of each model what it takes, how reliable it is and what it costs.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign keys; every table is new.
Old code: knows none of it.
Back: drops catalogs, their versions, overrides and imported prices; clients send their catalogs again.
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLES = """
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
    constraint ck_model_profile_tier_is_known check (tier in ('A', 'B', 'C')),
    constraint ck_model_profile_sizes_are_sizes
        check (input_tokens > 0 and output_tokens > 0 and catalog_bytes >= 0 and cache_ttl_s >= 0),
    constraint ck_model_profile_prefix_is_lower_case check (prefix = lower(prefix))
);

create table model_price (
    model text collate "C" not null,
    input_usd numeric(18, 10),
    output_usd numeric(18, 10),
    cached_usd numeric(18, 10),
    context_window integer,
    updated_at timestamptz not null default now(),
    constraint pk_model_price primary key (model),
    constraint ck_model_price_costs_nothing_or_more
        check (input_usd >= 0 and output_usd >= 0 and cached_usd >= 0),
    constraint ck_model_price_window_is_a_size check (context_window > 0),
    constraint ck_model_price_model_is_lower_case check (model = lower(model))
);

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
    input_usd numeric(18, 10),
    output_usd numeric(18, 10),
    cached_usd numeric(18, 10),
    updated_at timestamptz not null default now(),
    constraint pk_profile_override primary key (tenant_id, prefix),
    constraint fk_profile_override_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_profile_override_tier_is_known check (tier in ('A', 'B', 'C')),
    constraint ck_profile_override_sizes_are_sizes
        check (input_tokens > 0 and output_tokens > 0 and catalog_bytes >= 0 and cache_ttl_s >= 0),
    constraint ck_profile_override_costs_nothing_or_more
        check (input_usd >= 0 and output_usd >= 0 and cached_usd >= 0),
    constraint ck_profile_override_prefix_is_lower_case check (prefix = lower(prefix))
);

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

create table catalog_entry (
    tenant_id uuid not null,
    name text collate "C" not null,
    entry_id text collate "C" not null,
    first_seen_on date not null,
    gone_at timestamptz,
    constraint pk_catalog_entry primary key (tenant_id, name, entry_id),
    constraint fk_catalog_entry_tenant_id_name_catalog foreign key (tenant_id, name)
        references catalog (tenant_id, name) on delete cascade
)
"""

PROFILES = """
    anthropic/claude-                       A   192000  8000      0 S..C    300
    anthropic/claude-opus-                  A   192000  8000      0 S..C    300
    anthropic/claude-sonnet-                A   192000  8000      0 S..C    300
    anthropic/claude-haiku-                 A   196000  4000      0 S..C    300
    anthropic/claude-2                      B    90000  2000  22000 ....      -
    anthropic/claude-instant                C    90000  1500  10000 ..F.      -
    openai/gpt-3.5                          B    12000  2000  12000 ....      -
    openai/gpt-4                            B     6000  2000  12000 ....      -
    openai/gpt-4-turbo                      A   100000  4000      0 ....      -
    openai/gpt-4.1                          A  1040000  4000      0 S..C  86400
    openai/gpt-4.5                          A   100000  4000      0 S..C    600
    openai/gpt-4o                           A   100000  4000      0 S..C    600
    openai/gpt-5                            A   268000  4000      0 S..C  86400
    openai/gpt-5-chat                       A   120000  4000      0 S..C  86400
    openai/gpt-5.1-chat                     A   120000  4000      0 S..C  86400
    openai/gpt-5.2-chat                     A   120000  4000      0 S..C  86400
    openai/gpt-5.3-chat                     A   120000  4000      0 S..C  86400
    openai/gpt-5.4                          A   918000  4000      0 S..C  86400
    openai/gpt-5.4-mini                     A   268000  4000      0 S..C  86400
    openai/gpt-5.4-nano                     A   268000  4000      0 S..C  86400
    openai/gpt-5.5                          A   918000  4000      0 S..C  86400
    openai/gpt-6                            A   268000  4000      0 S..C  86400
    openai/gpt-oss-                         C    16000  1500  10000 .HF.      -
    openai/chatgpt-4o                       A   100000  4000      0 ...C    600
    openai/o1                               A   195600  4400      0 SH.C    600
    openai/o1-mini                          B   120000  4400  22000 .H.C    600
    openai/o1-preview                       B   120000  4400  22000 .H.C    600
    openai/o3                               A   195600  4400      0 SH.C    600
    openai/o3-mini                          A   195600  4400      0 SH.C    600
    openai/o4-mini                          A   195600  4400      0 SH.C    600
    google/gemini-                          A   120000  2500      0 S..C   3600
    google/gemini-2.0-flash                 A  1044000  2500      0 S..C   3600
    google/gemini-2.5-flash                 A  1044000  2500      0 S..C   3600
    google/gemini-2.5-pro                   A  1044000  4000      0 S..C   3600
    google/gemini-3                         A  1044000  4000      0 S..C   3600
    google/gemini-4                         A  1044000  4000      0 S..C   3600
    google/gemma-2-                         B     6500  1500  12000 ....      -
    meta-llama/llama-3.1-70b                B    32000  2000  22000 ....      -
    meta-llama/llama-3.3-70b                B    32000  2000  22000 ....      -
    meta-llama/llama-3.3-70b-instruct:free  C    16000  1500  10000 ..F.      -
    mistralai/                              B    30000  2000  22000 S...      -
    mistralai/mistral-7b                    C    16000  1500  10000 ..F.      -
    deepseek/deepseek-                      B    60000  2000  22000 ...C  14400
    deepseek/deepseek-chat                  B   128000  2000  22000 ...C  14400
    deepseek/deepseek-r1                    B    60000  2000  22000 .H.C  14400
    deepseek/deepseek-reasoner              B    60000  2000  22000 .H.C  14400
    deepseek/deepseek-v3.2                  B   128000  2000  22000 ...C  14400
    deepseek/deepseek-v4                    B   128000  2000  22000 ...C  14400
    x-ai/grok-                              B   128000  2000  22000 S...      -
    x-ai/grok-4                             B   254000  2000  22000 S...      -
    x-ai/grok-code                          B   254000  2000  22000 S...      -
    openrouter/free                         C    16000  1500  10000 ..F.      -
    nvidia/nemotron-                        C    16000  1500  10000 ..F.      -
    z-ai/glm-                               C    16000  1500  10000 ..F.      -
    qwen/qwen-                              C    16000  1500  10000 ..F.      -
    qwen/qwen-2.5-                          C    16000  1500  10000 ..F.      -
    moonshotai/kimi-                        C   254000  1500  10000 .HF.      -
    moonshotai/kimi-k2                      C   128000  1500  10000 .HF.      -
    moonshotai/kimi-k2-thinking             C   254000  1500  10000 .HF.      -
    moonshotai/kimi-k2.                     C   254000  1500  10000 .HF.      -
"""
"""Start of ids, tier, safe input and output, catalog bytes (0 for all), flags, seconds of the prefix cache.

Flags: S keeps to a JSON schema, H thinks before it answers, F profits from a filter pass, C caches prefixes.
Input and output together are within each window. The tier says how reliable structured answers are.
"""

ADD_PROFILE = (
    "insert into model_profile values ('{prefix}', '{tier}', {input}, {output}, {catalog}, "
    "{strict}, {hybrid}, {filter}, {cache}, {ttl})"
)


def upgrade() -> None:
    """Create the tables and say what is known of models."""
    for statement in TABLES.split(";\n"):
        op.execute(statement)
    for line in PROFILES.strip().splitlines():
        prefix, tier, most_in, most_out, catalog, flags, ttl = line.split()
        op.execute(
            ADD_PROFILE.format(
                prefix=prefix.replace(":", "\\:"),  # else a parameter
                tier=tier,
                input=most_in,
                output=most_out,
                catalog=catalog,
                strict="S" in flags,
                hybrid="H" in flags,
                filter="F" in flags,
                cache="C" in flags,
                ttl="null" if ttl == "-" else ttl,
            )
        )
    op.execute(
        "insert into model_price (model, input_usd, output_usd, cached_usd) values ('extractive', 0, 0, 0)"
    )


def downgrade() -> None:
    """Drop them, in the order of their references."""
    for table in (
        "catalog_entry",
        "catalog_version",
        "catalog",
        "profile_override",
        "model_price",
        "model_profile",
    ):
        op.execute(f"drop table {table}")

"""Keep what is learned: sets of priors by version, how far learning has read, and what habits it found.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign keys; every table is new.
Old code: knows nothing of them and ranks by words alone.
Back: drops them; plans and their outcomes stay, and teach anew.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

PRIOR_SET = """
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
    constraint ck_prior_set_kind_is_known check (kind in ('ranking', 'categories')),
    constraint ck_prior_set_state_is_known
        check (state in ('observing', 'active', 'superseded', 'rejected')),
    constraint ck_prior_set_version_counts_from_1 check (version >= 1),
    constraint ck_prior_set_what_may_serve_is_there
        check (state not in ('observing', 'active') or blob is not null),
    constraint ck_prior_set_what_is_active_was_activated
        check (state <> 'active' or activated_at is not null),
    constraint ck_prior_set_drift_is_a_share check (drift between 0 and 1),
    constraint ck_prior_set_evidence_is_not_negative check (evidence >= 0)
)
"""

ONE_ACTIVE = """
create unique index ix_prior_set_tenant_id_kind_name on prior_set (tenant_id, kind, name)
    where state = 'active'
"""

LEARNING_STATE = """
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
)
"""

LEARNING_NIGHT = """
create table learning_night (
    night date not null,
    asked_at timestamptz not null default now(),
    constraint pk_learning_night primary key (night)
)
"""

FOCUS_STATISTIC = """
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
)
"""

CATEGORY_STATISTIC = """
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
    constraint ck_category_statistic_weights_are_not_negative
        check (kept >= 0 and hidden >= 0 and used >= 0 and missed >= 0)
)
"""

USER_PROFILE = """
create table user_profile (
    tenant_id uuid not null,
    user_id text not null,
    category text collate "C" not null,
    weight double precision not null,
    constraint pk_user_profile primary key (tenant_id, user_id, category),
    constraint fk_user_profile_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_user_profile_weight_is_not_negative check (weight >= 0)
)
"""

TABLES = (
    PRIOR_SET,
    ONE_ACTIVE,
    LEARNING_STATE,
    LEARNING_NIGHT,
    FOCUS_STATISTIC,
    CATEGORY_STATISTIC,
    USER_PROFILE,
)


def upgrade() -> None:
    """Create the tables."""
    for statement in TABLES:
        op.execute(statement)


def downgrade() -> None:
    """Drop them."""
    for table in (
        "user_profile",
        "category_statistic",
        "focus_statistic",
        "learning_night",
        "learning_state",
        "prior_set",
    ):
        op.execute(f"drop table {table}")

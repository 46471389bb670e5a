"""Keep each tenant's preflight policy, what each session was last about, and a sample of decisions.

Locks: SHARE ROW EXCLUSIVE on tenant and session for an instant, for the foreign keys and the trigger.
Old code: knows nothing of them and hides nothing.
Back: drops them; sessions forget what they were about, and policies are lost.
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

POLICY = """
create table preflight_policy (
    tenant_id uuid not null,
    version integer not null,
    config jsonb not null,
    updated_at timestamptz not null,
    constraint pk_preflight_policy primary key (tenant_id),
    constraint fk_preflight_policy_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_preflight_policy_version_counts_from_1 check (version >= 1)
)
"""

SESSION = """
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
)
"""

DECISION = """
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
    constraint ck_preflight_decision_confidence_is_a_share check (confidence between 0 and 1),
    constraint ck_preflight_decision_a_turn_has_a_session
        check (turn_index is null or session_id is not null),
    constraint ck_preflight_decision_what_is_joined_was_used check ((used is null) = (joined_at is null)),
    constraint ck_preflight_decision_labels_have_a_time
        check ((relabelled is null) = (relabelled_at is null)),
    constraint ck_preflight_decision_chars_are_counted check (chars >= 0)
)
"""

INDEX_BY_TIME = """
create index ix_preflight_decision_tenant_id_decided_at on preflight_decision (tenant_id, decided_at)
"""

INDEX_BY_TURN = """
create index ix_preflight_decision_tenant_id_session_id_turn_index
    on preflight_decision (tenant_id, session_id, turn_index) where session_id is not null
"""

FUNCTION = """
create function forget_preflight_decisions() returns trigger language plpgsql as $$
begin
    delete from preflight_decision where tenant_id = old.tenant_id and session_id = old.session_id;
    return null;
end
$$
"""

TRIGGER = """
create trigger forget_preflight_decisions after delete on session
    for each row execute function forget_preflight_decisions()
"""
"""A decision comes before the first turn of its session: no foreign key can hold it to the session."""


def upgrade() -> None:
    """Create the tables, and what deletes decisions with their session."""
    for statement in (POLICY, SESSION, DECISION, INDEX_BY_TIME, INDEX_BY_TURN, FUNCTION, TRIGGER):
        op.execute(statement)


def downgrade() -> None:
    """Drop all of it."""
    op.execute("drop trigger forget_preflight_decisions on session")
    op.execute("drop function forget_preflight_decisions")
    for table in ("preflight_decision", "preflight_session", "preflight_policy"):
        op.execute(f"drop table {table}")

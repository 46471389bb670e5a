"""Compute for a tenant without using it, and remember in numbers what that would have done.

Locks: SHARE ROW EXCLUSIVE on session, to add a trigger, and on tenant, to which the new tables refer; for an
instant.
Old code: knows nothing of the switch and uses every part; it records nothing.
Back: drops both tables; every part is in use again, and what was recorded is lost.
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TABLES = """
create table shadow_switch (
    tenant_id uuid not null,
    parts text[] not null,
    updated_at timestamptz not null default now(),
    constraint pk_shadow_switch primary key (tenant_id),
    constraint fk_shadow_switch_tenant_id_tenant
        foreign key (tenant_id) references tenant (tenant_id) on delete cascade
);
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
    constraint fk_shadow_read_tenant_id_tenant
        foreign key (tenant_id) references tenant (tenant_id) on delete cascade,
    constraint ck_shadow_read_state_is_known check (state in ('waiting', 'judged', 'lapsed')),
    constraint ck_shadow_read_judged_has_a_time check ((state = 'judged') = (judged_at is not null)),
    constraint ck_shadow_read_only_who_waits_has_digests check ((state = 'waiting') = (salt is not null)),
    constraint ck_shadow_read_held_has_a_salt check ((salt is null) = (held is null)),
    constraint ck_shadow_read_lacking_has_a_salt check ((salt is null) = (lacking is null)),
    constraint ck_shadow_read_hidden_has_a_salt check ((salt is null) = (hidden is null)),
    constraint ck_shadow_read_who_waits_has_a_session check (state <> 'waiting' or session_id is not null),
    constraint ck_shadow_read_lost_was_needed check (0 <= lost and lost <= needed),
    constraint ck_shadow_read_blocked_was_called check (0 <= blocked and blocked <= calls),
    constraint ck_shadow_read_tokens_are_counted check (served_tokens >= 0 and would_tokens >= 0)
);
create index ix_shadow_read_tenant_id_made_at on shadow_read (tenant_id, made_at);
create index ix_shadow_read_session on shadow_read (tenant_id, session_id) where session_id is not null;
create index ix_shadow_read_waiting on shadow_read (tenant_id, made_at) where state = 'waiting'
"""
UNLINK = """
create function unlink_shadow_reads() returns trigger language plpgsql as $$
begin
    update shadow_read set session_id = null, salt = null, held = null, lacking = null, hidden = null,
        state = case state when 'waiting' then 'lapsed' else state end
    where tenant_id = old.tenant_id and session_id = old.session_id;
    return null;
end
$$
"""
ON_DELETE = """
create trigger unlink_shadow_reads after delete on session
    for each row execute function unlink_shadow_reads()
"""


def upgrade() -> None:
    """Make the tables, and see to it that a record never outlives its session's name."""
    for statement in TABLES.split(";"):
        op.execute(statement)
    op.execute(UNLINK)
    op.execute(ON_DELETE)


def downgrade() -> None:
    """Drop them."""
    op.execute("drop trigger unlink_shadow_reads on session")
    op.execute("drop function unlink_shadow_reads()")
    op.execute("drop table shadow_read")
    op.execute("drop table shadow_switch")

"""Index the passages of older turns, so that a new message finds those that bear on it.

Locks: SHARE ROW EXCLUSIVE on tenant and session for an instant, for the foreign keys; the tables are new.
Old code: knows none of them and recalls nothing.
Back: drops them; workers index every session anew after the next upgrade.
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = """
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
    constraint pk_recall_passage primary key (tenant_id, session_id, start_seq, start),
    constraint fk_recall_passage_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint fk_recall_passage_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_recall_passage_tokens_are_counted check (tokens >= 1),
    constraint ck_recall_passage_part_is_one_of_the_parts check (0 <= part and part < parts)
);
create index ix_recall_passage_tenant_id_session_id_seq on recall_passage (tenant_id, session_id, seq);
create index ix_recall_passage_keys on recall_passage using gin (keys) with (fastupdate = off);

create table recall_term (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    start_seq bigint not null,
    key bigint not null,
    passages integer not null,
    constraint pk_recall_term primary key (tenant_id, session_id, start_seq, key),
    constraint fk_recall_term_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint fk_recall_term_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_recall_term_passages_are_counted check (passages >= 0)
);

create table recall_progress (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    start_seq bigint not null,
    through_seq bigint not null,
    passages integer not null,
    tokens bigint not null,
    constraint pk_recall_progress primary key (tenant_id, session_id, start_seq),
    constraint fk_recall_progress_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint fk_recall_progress_tenant_id_session_id_session foreign key (tenant_id, session_id)
        references session (tenant_id, session_id) on delete cascade,
    constraint ck_recall_progress_through_seq_counts_from_0 check (through_seq >= 0)
)
"""


def upgrade() -> None:
    """Create the tables."""
    for statement in TABLES.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Drop them."""
    for table in ("recall_progress", "recall_term", "recall_passage"):
        op.execute(f"drop table {table}")

"""Keep a sample of windows as they were served, for people who look.

Locks: ACCESS EXCLUSIVE on the new table alone, and SHARE ROW EXCLUSIVE on tenant for an instant.
Old code: keeps no window, and erases none; windows go by their age.
Back: drops the table with all kept windows.
"""

from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None
phase = "expand"

TABLE = """
create table served_window (
    tenant_id uuid not null,
    session_id text collate "C" not null,
    window_id uuid not null,
    call text not null,
    served_at timestamptz not null default now(),
    user_id text collate "C",
    model text not null,
    wire text not null,
    after_seq bigint not null,
    input_tokens bigint not null,
    budget bigint not null,
    size_bytes bigint not null,
    sources text[] not null default '{}',
    body text,
    constraint pk_served_window primary key (tenant_id, session_id, window_id),
    constraint fk_served_window_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_served_window_call_is_known check (call in ('context', 'compress')),
    constraint ck_served_window_sizes_are_counted check (
        after_seq >= 0 and input_tokens >= 0 and size_bytes >= 0)
)
"""
INDEXES = {
    "ix_served_window_tenant_id_session_id_served_at": "(tenant_id, session_id, served_at)",
    "ix_served_window_served_at": "(served_at)",
    "ix_served_window_sources": "(tenant_id) where sources <> '{}'",
    "ix_served_window_tenant_id_user_id": "(tenant_id, user_id) where user_id is not null",
}


def upgrade() -> None:
    """Create the table."""
    op.execute(TABLE)
    for name, held in INDEXES.items():
        op.execute(f"create index {name} on served_window {held}")


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table served_window")

"""Remember what the last request of a session began with, where summaries may ride on it.

Locks: SHARE ROW EXCLUSIVE on session, to which the new table refers, for an instant.
Old code: writes and reads none of it.
Back: drops the table; summaries are asked for in prompts of their own, as before.
"""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.execute(
        """
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
)
"""
    )


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table chat_prefix")

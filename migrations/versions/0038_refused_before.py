"""Remember what a session's provider refused, and by which rules a session's messages were counted.

Locks: ACCESS EXCLUSIVE on session for an instant: the defaults are constants, no row is written. Then
SHARE UPDATE EXCLUSIVE on session, while the index of the sessions that wait for a recount is built beside
the traffic; it empties as they are recounted, a few in each sweep, and no message is locked for longer.
Old code: reads and writes none of it; sessions that it begins count as recounted.
Back: drops the columns and the index; counts that were made right stay right.
"""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, old sessions of the first revision and new ones of the second; then the index.

    The index is built outside the transaction: a run that was interrupted there is taken again.
    """
    op.execute("alter table session add column if not exists unsigned_seq bigint not null default 0")
    op.execute("alter table session add column if not exists most_images integer")
    op.execute("alter table session add column if not exists counts_revision smallint not null default 1")
    op.execute("alter table session alter column counts_revision set default 2")
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists ix_session_counts")
        op.execute(
            "create index concurrently ix_session_counts on session (tenant_id, session_id)"
            " where counts_revision < 2"
        )


def downgrade() -> None:
    """Drop the index and the columns."""
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists ix_session_counts")
    op.execute("alter table session drop column if exists counts_revision")
    op.execute("alter table session drop column if exists most_images")
    op.execute("alter table session drop column if exists unsigned_seq")

"""Store where a provider's compaction stands for the messages before, and the model of the last request.

Locks: ACCESS EXCLUSIVE on message and on session for an instant each: the columns have no default, no row is
written. Then SHARE UPDATE EXCLUSIVE on message, while the index is built beside the traffic; SHARE if message
has parts, since PostgreSQL builds no index of all parts beside traffic.
Old code: writes and reads none of it; a compaction stored by it stays a message like any other.
Back: drops the columns; a compaction is sent within history, and the messages before it too.
"""

from alembic import op
from sqlalchemy import text

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None
phase = "expand"

INDEX = "ix_message_compaction"


def upgrade() -> None:
    """Add the columns, then build the index; a run that was interrupted is taken again."""
    op.execute("alter table message add column if not exists compaction bigint[]")
    op.execute("alter table session add column if not exists asked_model text")
    with op.get_context().autocommit_block():
        beside = _beside_traffic()
        op.execute(f"drop index {beside} if exists {INDEX}")
        op.execute(
            f"create index {beside} {INDEX} on message (tenant_id, session_id, seq) "
            "where compaction is not null"
        )


def downgrade() -> None:
    """Drop them."""
    with op.get_context().autocommit_block():
        op.execute(f"drop index {_beside_traffic()} if exists {INDEX}")
    op.execute("alter table session drop column if exists asked_model")
    op.execute("alter table message drop column if exists compaction")


def _beside_traffic() -> str:
    """Return the word for an index beside traffic; empty for a table with parts, which has no such index."""
    kind = op.get_bind().scalar(text("select relkind::text from pg_class where oid = 'message'::regclass"))
    return "" if kind == "p" else "concurrently"

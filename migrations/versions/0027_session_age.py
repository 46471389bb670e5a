"""Find old sessions by an index of their birth, which no turn touches, instead of walking all of them.

Locks: SHARE UPDATE EXCLUSIVE on session, while the index is built beside the traffic.
Old code: walks as before.
Back: drops the index.
"""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Build the index, no turn waits for it; what an interrupted run left of it goes first."""
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists ix_session_age")
        op.execute("create index concurrently ix_session_age on session (tenant_id, created_at, session_id)")


def downgrade() -> None:
    """Drop it."""
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists ix_session_age")

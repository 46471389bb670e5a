"""Find what became ready lately: summaries, artifact summaries and asked plans of a tenant, by time.

Locks: SHARE UPDATE EXCLUSIVE on summary, artifact_summary and plan_history, one after the other, while each
index is built beside the traffic; SHARE on a table with parts, since PostgreSQL builds no index of all parts
beside traffic.
Old code: writes the times as before; the indexes hold them.
Back: drops the indexes; streams of events look through all rows of their tenant.
"""

from alembic import op
from sqlalchemy import text

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None
phase = "expand"

INDEXES = {
    "ix_summary_tenant_id_activated_at": "summary (tenant_id, activated_at) where activated_at is not null",
    "ix_artifact_summary_tenant_id_ready_at": (
        "artifact_summary (tenant_id, ready_at) where ready_at is not null"
    ),
    "ix_plan_history_tenant_id_ready_at": "plan_history (tenant_id, ready_at) where source = 'asked'",
}


def upgrade() -> None:
    """Build the indexes; a run that was interrupted is taken again."""
    with op.get_context().autocommit_block():
        for name, held in INDEXES.items():
            beside = _beside_traffic(held)
            op.execute(f"drop index {beside} if exists {name}")
            op.execute(f"create index {beside} {name} on {held}")


def downgrade() -> None:
    """Drop them."""
    with op.get_context().autocommit_block():
        for name, held in INDEXES.items():
            op.execute(f"drop index {_beside_traffic(held)} if exists {name}")


def _beside_traffic(held: str) -> str:
    """Return the word for an index beside traffic; empty for a table with parts, which has no such index."""
    asked = text("select relkind::text from pg_class where oid = cast(:name as regclass)")
    kind = op.get_bind().scalar(asked, {"name": held.split(maxsplit=1)[0]})
    return "" if kind == "p" else "concurrently"

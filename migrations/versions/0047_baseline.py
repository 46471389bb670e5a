"""Create the schema, with profiles and prices of well-known models.

Locks: none that matter; every table is new.
Old code: there is none. A database that earlier steps brought to 0047 is recognised by its number.
Back: drops every table, and with them everything stored.
"""

import re
from pathlib import Path

from alembic import op

revision = "0047"
down_revision = None
branch_labels = None
depends_on = None

SCHEMA = Path(__file__).parents[1] / "baseline.sql"


def upgrade() -> None:
    """Create everything; statements go to the driver as they stand."""
    op.get_bind().connection.cursor().execute(SCHEMA.read_text())


def downgrade() -> None:
    """Drop everything."""
    tables = re.findall(r"^create table (\w+)", SCHEMA.read_text(), re.MULTILINE)
    op.execute(f"drop table {', '.join(tables)}")
    op.execute("drop function forget_preflight_decisions, unlink_shadow_reads")
    op.execute("drop sequence plan_outcome_seq")

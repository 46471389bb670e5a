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
UUIDS = """
do $do$ begin
    if to_regprocedure('uuidv7()') is null then
        create function public.uuidv7() returns uuid language sql volatile parallel safe as $$
            select encode(set_bit(set_bit(overlay(
                uuid_send(gen_random_uuid()) placing
                substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
        $$;
    end if;
end $do$
"""
"""Ids by time, for servers before PostgreSQL 18, which has the function itself."""


def upgrade() -> None:
    """Create everything; statements go to the driver as they stand."""
    cursor = op.get_bind().connection.cursor()
    cursor.execute(UUIDS)
    cursor.execute(SCHEMA.read_text())


def downgrade() -> None:
    """Drop everything."""
    tables = re.findall(r"^create table (\w+)", SCHEMA.read_text(), re.MULTILINE)
    op.execute(f"drop table {', '.join(tables)}")
    op.execute("drop function forget_preflight_decisions, unlink_shadow_reads")
    op.execute("drop sequence plan_outcome_seq")
    op.execute("drop function if exists public.uuidv7()")

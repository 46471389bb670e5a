"""Let a tenant switch recall on across the sessions of a user, and find passages by the user of their turn.

Locks: ACCESS EXCLUSIVE on tenant and recall_passage for an instant each: the one default is a constant, the
other column is empty. Then SHARE UPDATE EXCLUSIVE on recall_passage, while the index is built beside the
traffic; it is empty until a tenant switches this on.
Old code: writes passages without the keys of their user; `afterturn recall on` adds them later.
Back: drops the columns and the index; recall finds what the session itself said, as before.
"""

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, then the index; a run that was interrupted there is taken again."""
    op.execute("alter table tenant add column if not exists recalls_users boolean not null default false")
    op.execute("alter table recall_passage add column if not exists user_keys bigint[]")
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists ix_recall_passage_user_keys")
        op.execute(
            "create index concurrently ix_recall_passage_user_keys on recall_passage using gin (user_keys)"
            " with (fastupdate = off) where user_keys is not null"
        )


def downgrade() -> None:
    """Drop the index and the columns; views that name the column are of the wall, and are built again."""
    with op.get_context().autocommit_block():
        op.execute("drop index concurrently if exists ix_recall_passage_user_keys")
    op.execute("drop view if exists afterturn_held.recall_passage")
    op.execute("alter table recall_passage drop column if exists user_keys")
    op.execute("alter table tenant drop column if exists recalls_users")

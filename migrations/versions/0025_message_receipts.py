"""Keep receipts of erased messages too, with what such an answer says besides.

Locks: ACCESS EXCLUSIVE on erase_receipt for an instant; the new constraint is checked under
SHARE UPDATE EXCLUSIVE, while receipts are kept and found.
Old code: keeps receipts of sessions and users as before.
Back: deletes the receipts of messages.
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

TABLE = "alter table erase_receipt"
NAME = "ck_erase_receipt_erased_is_known"


def upgrade() -> None:
    """Allow a third kind of receipt, and room for its own words."""
    op.execute(f"{TABLE} add column told jsonb not null default '{{}}'")
    _allow("'session', 'user', 'message'")


def downgrade() -> None:
    """Allow two kinds, and keep no others."""
    op.execute("delete from erase_receipt where erased = 'message'")
    _allow("'session', 'user'")
    op.execute(f"{TABLE} drop column told")


def _allow(kinds: str) -> None:
    op.execute(f"{TABLE} drop constraint {NAME}, add constraint {NAME} check (erased in ({kinds})) not valid")
    op.execute(f"{TABLE} validate constraint {NAME}")

"""Let keys end by themselves, so that one can be put in place of another without a gap.

Locks: ACCESS EXCLUSIVE on api_key for an instant; the column is empty.
Old code: knows no end of a key, and lets in one that has expired.
Back: drops the column; keys that have expired work again, until they are revoked.
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table api_key add column expires_at timestamptz")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table api_key drop column expires_at")

"""Give a tenant a share of its own for canaries of a night's sets.

Locks: ACCESS EXCLUSIVE on tenant for an instant: the column has no default, no row is written.
Old code: writes and reads none of it, and goes on with the share of the installation.
Back: drops the column; every tenant has the share of the installation again.
"""

from alembic import op

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None
phase = "expand"


def upgrade() -> None:
    """Add the column."""
    op.execute("alter table tenant add column canary_share double precision")


def downgrade() -> None:
    """Drop it."""
    op.execute("alter table tenant drop column canary_share")

"""Remember which trace due work belongs to.

Locks: none.
Old code: sees no difference.
Back: nothing to undo.
"""

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing yet."""


def downgrade() -> None:
    """Change nothing yet."""

"""Keep what a tenant wants kept, and for as long.

Locks: none.
Old code: sees no difference.
Back: nothing to undo.
"""

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing yet."""


def downgrade() -> None:
    """Change nothing yet."""

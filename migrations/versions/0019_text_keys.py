"""Hold a key for each tenant whose text is stored encrypted.

Locks: none.
Old code: sees no difference.
Back: nothing to undo.
"""

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing yet."""


def downgrade() -> None:
    """Change nothing yet."""

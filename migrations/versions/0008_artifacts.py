"""Make room for artifacts.

Locks: none.
Old code: sees no change.
Back: nothing to lose.
"""

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing yet."""


def downgrade() -> None:
    """Change nothing yet."""

"""Make room for preflight.

Locks: none.
Old code: sees no change.
Back: nothing to lose.
"""

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing yet."""


def downgrade() -> None:
    """Change nothing yet."""

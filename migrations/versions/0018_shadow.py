"""Compute for a tenant without using it, and remember what that would have done.

Locks: none.
Old code: sees no difference.
Back: nothing to undo.
"""

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing yet."""


def downgrade() -> None:
    """Change nothing yet."""

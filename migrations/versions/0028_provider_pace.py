"""Keep what is left of each model's calls a minute, for installations that bound them.

Locks: none on tables that are there.
Old code: does not know the bound, and keeps none.
Back: drops the table; what was left of the minute is forgotten.
"""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

PACE = """
create table provider_pace (
    model text not null,
    full_at timestamptz not null,
    next_at timestamptz not null,
    constraint pk_provider_pace primary key (model)
) with (fillfactor = 70)
"""


def upgrade() -> None:
    """Add the table."""
    op.execute(PACE)


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table provider_pace")

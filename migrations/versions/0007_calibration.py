"""Keep what reported usage teaches about each tenant's models.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign key; the table is new.
Old code: knows nothing of it and goes on estimating without it.
Back: drops it; the reports stay with the turns, and later ones teach anew.
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLE = """
create table calibration (
    tenant_id uuid not null,
    model text collate "C" not null,
    factor double precision not null,
    observations integer not null,
    spread double precision not null,
    updated_at timestamptz not null,
    constraint pk_calibration primary key (tenant_id, model),
    constraint fk_calibration_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_calibration_factor_is_bounded check (factor between 0.5 and 2.5),
    constraint ck_calibration_observations_count_from_1 check (observations >= 1),
    constraint ck_calibration_spread_is_not_negative check (spread >= 0)
)
"""


def upgrade() -> None:
    """Create the table."""
    op.execute(TABLE)


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table calibration")

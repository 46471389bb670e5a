"""Let all names of a model share its limits, and tell by which key and against what usage they were seen.

Locks: ACCESS EXCLUSIVE on limit_sighting and model_limit for an instant; both hold few rows.
Old code: goes by the name as it is given; new code learns anew what old code writes meanwhile.
Back: drops the columns; limits hold for the names under which they were seen.
"""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

STATEMENTS = """
alter table limit_sighting
    add column model_id text collate "C" not null default '',
    add column key_id text collate "C",
    add column contradicted_at timestamptz;
alter table model_limit add column model_id text collate "C" not null default '';
update limit_sighting set model_id = lower(model);
update model_limit set model_id = lower(model);
create index ix_limit_sighting_tenant_id_model_id on limit_sighting (tenant_id, model_id)
"""


def upgrade() -> None:
    """Add what is known of a sighting, and the one id of a model."""
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Forget it."""
    op.execute("drop index ix_limit_sighting_tenant_id_model_id")
    op.execute("alter table model_limit drop column model_id")
    op.execute(
        "alter table limit_sighting drop column contradicted_at, drop column key_id, drop column model_id"
    )

"""Keep the prepared form of each catalog in force, and the time when a catalog was last used.

Locks: ACCESS EXCLUSIVE on catalog for an instant: the column has no default, no row is written. Nobody waits
for the new table.
Old code: writes and reads none of it; a form of a version that is no more in force is refused by its readers.
Back: drops the forms and the times; the next release computes them again.
"""

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None
phase = "expand"

TABLE = """
create table catalog_form (
    tenant_id uuid not null,
    name text collate "C" not null,
    digest text collate "C" not null,
    in_force_since timestamptz not null,
    revision text collate "C" not null,
    form bytea not null,
    made_at timestamptz not null default now(),
    constraint pk_catalog_form primary key (tenant_id, name),
    constraint fk_catalog_form_tenant_id_name_catalog foreign key (tenant_id, name)
        references catalog (tenant_id, name) on delete cascade,
    constraint ck_catalog_form_form_is_bounded check (octet_length(form) between 1 and 67108864)
)
"""


def upgrade() -> None:
    """Create the table, and add the column."""
    op.execute(TABLE)
    op.execute("alter table catalog add column used_at timestamptz")


def downgrade() -> None:
    """Drop both."""
    op.execute("alter table catalog drop column used_at")
    op.execute("drop table catalog_form")

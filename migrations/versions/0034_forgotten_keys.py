"""Remember which keys of tenants' texts were forgotten, so that what they sealed counts as gone at once.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign key.
Old code: remembers none; what a key sealed that it forgets is unavailable until it is removed, as before.
Back: drops the list: what was not removed yet is unavailable until `afterturn text clear` comes to it.
"""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

FORGOTTEN = """
create table text_key_forgotten (
    tenant_id uuid not null,
    made_at timestamptz not null,
    forgotten_at timestamptz not null default now(),
    cleared_at timestamptz,
    constraint pk_text_key_forgotten primary key (tenant_id, made_at),
    constraint fk_text_key_forgotten_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_text_key_forgotten_cleared_after_forgotten check (cleared_at >= forgotten_at)
)
"""


def upgrade() -> None:
    """Make the table."""
    op.execute(FORGOTTEN)


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table text_key_forgotten")

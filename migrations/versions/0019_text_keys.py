"""Hold a key for each tenant whose text is sealed, and say of each recall index how its terms are hashed.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign key; ACCESS EXCLUSIVE on recall_progress
for an instant, for a column with a constant default.
Old code: writes text as it is and hashes terms without a key, as it did; it cannot read what is sealed.
Back: drops the keys: sealed text is lost unless `afterturn text unseal` was run before.
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

KEYS = """
create table text_key (
    tenant_id uuid not null,
    master_id text not null,
    wrapped bytea not null,
    made_in text not null default (pg_current_xact_id())::text,
    created_at timestamptz not null default now(),
    wrapped_at timestamptz not null default now(),
    constraint pk_text_key primary key (tenant_id),
    constraint fk_text_key_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade
)
"""


def upgrade() -> None:
    """Make the table, and mark the indexes that are there as hashed without a key."""
    op.execute(KEYS)
    op.execute("alter table recall_progress add column keyed boolean not null default false")


def downgrade() -> None:
    """Drop both."""
    op.execute("alter table recall_progress drop column keyed")
    op.execute("drop table text_key")

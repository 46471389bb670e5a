"""Keep receipts of erasures, so that a call whose answer was lost is answered again.

Locks: SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign key; the table is new.
Old code: keeps no receipts, and answers a second call that there is nothing.
Back: drops the table; receipts that were kept are lost.
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

RECEIPTS = """
create table erase_receipt (
    tenant_id uuid not null,
    erased text not null,
    id_sha256 bytea not null,
    rows jsonb not null,
    requeued integer not null,
    is_done boolean not null,
    erased_at timestamptz not null default now(),
    constraint pk_erase_receipt primary key (tenant_id, erased, id_sha256),
    constraint fk_erase_receipt_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_erase_receipt_erased_is_known check (erased in ('session', 'user')),
    constraint ck_erase_receipt_id_is_a_digest check (octet_length(id_sha256) = 32),
    constraint ck_erase_receipt_requeued_is_a_count check (requeued >= 0)
)
"""


def upgrade() -> None:
    """Add the table, and an index by which old receipts are found."""
    op.execute(RECEIPTS)
    op.execute("create index ix_erase_receipt_erased_at on erase_receipt (erased_at)")


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table erase_receipt")

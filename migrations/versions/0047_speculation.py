"""Count what is made ahead of use, what of it is used, and what it takes and saves.

Locks: SHARE ROW EXCLUSIVE on tenant, to which the new table refers, for an instant.
Old code: writes and reads none of it.
Back: drops the table; what was made ahead is forgotten, and nothing else.
"""

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.execute(
        """
create table speculation (
    tenant_id uuid not null,
    day date not null,
    purpose text collate "C" not null,
    origin text collate "C" not null,
    kind text collate "C" not null,
    made bigint not null default 0,
    used bigint not null default 0,
    unused bigint not null default 0,
    spent_tokens bigint not null default 0,
    saved_tokens bigint not null default 0,
    constraint pk_speculation primary key (tenant_id, day, purpose, origin, kind),
    constraint fk_speculation_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_speculation_purpose_is_known check (purpose in ('reading', 'plan', 'summary')),
    constraint ck_speculation_counts_up
        check (made >= 0 and used >= 0 and unused >= 0 and spent_tokens >= 0)
)
"""
    )


def downgrade() -> None:
    """Drop it."""
    op.execute("drop table speculation")

"""Compare the cached tokens that turns report with the expectation of their requests.

Locks: ACCESS EXCLUSIVE on session and SHARE ROW EXCLUSIVE on tenant for an instant: the columns have no
default, no row is written; the foreign key of a new, empty table checks nothing.
Old code: writes and reads none of it.
Back: drops table and columns; the comparisons so far are lost.
"""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None
phase = "expand"

COLUMNS = {
    "cache_after_seq": "bigint",
    "cache_model": "text",
    "cache_input_tokens": "integer",
    "cache_expected_tokens": "integer",
}

TABLE = """
    create table cache_found (
        tenant_id uuid not null,
        day date not null,
        model text collate "C" not null,
        reports bigint not null default 0,
        expected_tokens bigint not null default 0,
        reported_tokens bigint not null default 0,
        found_tokens bigint not null default 0,
        constraint pk_cache_found primary key (tenant_id, day, model),
        constraint fk_cache_found_tenant_id_tenant foreign key (tenant_id)
            references tenant (tenant_id) on delete cascade,
        constraint ck_cache_found_counts_up check (
            reports >= 0 and expected_tokens >= 0 and reported_tokens >= 0
            and found_tokens between 0 and expected_tokens
        )
    )
"""
"""Sums of a tenant's reports for a model on a day, against the expectations."""


def upgrade() -> None:
    """Add the expectation to the session, and the sums."""
    op.execute(
        f"alter table session {', '.join(f'add column {name} {kind}' for name, kind in COLUMNS.items())}"
    )
    op.execute(TABLE)


def downgrade() -> None:
    """Drop both."""
    op.execute("drop table cache_found")
    op.execute(f"alter table session {', '.join(f'drop column {name}' for name in COLUMNS)}")

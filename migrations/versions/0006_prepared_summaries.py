"""Keep at most one prepared summary a session, what it would leave raw, and how long refused work rests.

Locks: ACCESS EXCLUSIVE on session and due_work for an instant each: the columns have constant defaults or
none; SHARE on summary while its partial index is built: workers that store a summary wait for it.
Old code: prepares nothing, and finishes work without a rest.
Back: drops the index and the columns; prepared summaries stay as they are, unused.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

STATEMENTS = """
alter table session
    add column prepared_seq bigint not null default 0,
    add column prepared_tokens bigint not null default 0,
    add column prepared_summary_tokens integer not null default 0;
alter table due_work
    add column refusals integer not null default 0,
    add column rests_until timestamptz,
    add column refused_because text;
create unique index ix_summary_prepared on summary (tenant_id, session_id) where state = 'prepared'
"""


def upgrade() -> None:
    """Add the columns and the index."""
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Take them back."""
    op.execute("drop index ix_summary_prepared")
    op.execute(
        "alter table due_work drop column refused_because, drop column rests_until, drop column refusals"
    )
    op.execute(
        "alter table session drop column prepared_summary_tokens, drop column prepared_tokens, "
        "drop column prepared_seq"
    )

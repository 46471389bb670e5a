"""Remember the limits that models turned out to have, and what an emergency left out of a session.

Locks: ACCESS EXCLUSIVE on session for an instant: the columns have constant defaults, and NOT VALID skips the
scan; SHARE ROW EXCLUSIVE on tenant for an instant, for the foreign key.
Old code: cuts nothing, and shows again what an emergency left out.
Back: drops the table and the columns; what was left out is shown again, and limits are learned anew.
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

STATEMENTS = """
create table model_limit (
    tenant_id uuid not null,
    model text collate "C" not null,
    limit_tokens integer not null,
    source text not null,
    learned_at timestamptz not null,
    constraint pk_model_limit primary key (tenant_id, model),
    constraint fk_model_limit_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_model_limit_limit_is_positive check (limit_tokens > 0),
    constraint ck_model_limit_source_is_known check (source in ('error', 'observed'))
);
alter table session
    add column cut_seq bigint not null default 0,
    add column kept_seq bigint,
    add constraint ck_session_cut_is_in_the_log check (0 <= cut_seq and cut_seq <= last_seq) not valid,
    add constraint ck_session_kept_is_in_the_cut check (1 <= kept_seq and kept_seq < cut_seq) not valid
"""


def upgrade() -> None:
    """Create the table and add the columns."""
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Take both back; the constraints go with their columns."""
    op.execute("alter table session drop column kept_seq, drop column cut_seq")
    op.execute("drop table model_limit")

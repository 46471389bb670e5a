"""Remember limits by the session that saw them; for all sessions hold those agreed on or set by an operator.

Locks: ACCESS EXCLUSIVE on model_limit for an instant, which holds a row a model; SHARE ROW EXCLUSIVE on
tenant for an instant, for the foreign key.
Old code: finds its limits gone and learns them anew; new code passes over what old code writes.
Back: drops the table and what operators set; limits are learned anew.
"""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

STATEMENTS = """
create table limit_sighting (
    tenant_id uuid not null,
    model text collate "C" not null,
    session_id text collate "C" not null,
    limit_tokens integer not null,
    source text not null,
    seen_at timestamptz not null,
    outdone_at timestamptz,
    came_back boolean not null default false,
    constraint pk_limit_sighting primary key (tenant_id, model, session_id),
    constraint fk_limit_sighting_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_limit_sighting_limit_is_positive check (limit_tokens > 0),
    constraint ck_limit_sighting_source_is_known check (source in ('error', 'observed'))
);
create index ix_limit_sighting_tenant_id_session_id on limit_sighting (tenant_id, session_id);
delete from model_limit;
alter table model_limit
    drop constraint ck_model_limit_source_is_known,
    add constraint ck_model_limit_source_is_known
        check (source in ('agreed', 'operator', 'error', 'observed'))
"""


def upgrade() -> None:
    """Make the table of sightings, and drop what one caller's word had set for all."""
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)


def downgrade() -> None:
    """Go back to one limit a model, with nothing learned."""
    op.execute("delete from model_limit")
    op.execute(
        "alter table model_limit drop constraint ck_model_limit_source_is_known, "
        "add constraint ck_model_limit_source_is_known check (source in ('error', 'observed'))"
    )
    op.execute("drop table limit_sighting")

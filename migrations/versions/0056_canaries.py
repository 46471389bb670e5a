"""Serve a set of priors to a share of sessions, and know which set ranked a plan and how it went.

Locks: ACCESS EXCLUSIVE on prior_set and plan_history for an instant: the columns have no default, no row is
written; SHARE UPDATE EXCLUSIVE while the sets are checked; SHARE ROW EXCLUSIVE on tenant for an instant.
Old code: serves no canary, names no set with its plans, and lists the state `canary` as it is.
Back: canaries count as rejected sets; what plans say of their sets is lost.
"""

from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None
phase = "expand"

TABLE = """
create table if not exists prior_canary (
    tenant_id uuid not null,
    name text collate "C" not null,
    version integer not null,
    share double precision not null,
    base integer not null,
    since timestamptz not null default now(),
    ends_at timestamptz not null,
    after_seq bigint not null,
    constraint pk_prior_canary primary key (tenant_id, name, version),
    constraint fk_prior_canary_tenant_id_tenant foreign key (tenant_id)
        references tenant (tenant_id) on delete cascade,
    constraint ck_prior_canary_share_is_a_part check (share > 0 and share < 1),
    constraint ck_prior_canary_base_is_another check (base >= 0 and base <> version),
    constraint ck_prior_canary_time_passes check (ends_at > since)
)
"""
NAME = "ck_prior_set_state_is_known"


def _check(states: str) -> None:
    """Replace the check; a run that was interrupted is taken again."""
    with op.get_context().autocommit_block():
        op.execute(
            f"alter table prior_set drop constraint if exists {NAME}, "
            f"add constraint {NAME} check (state in ({states})) not valid"
        )
        op.execute(f"alter table prior_set validate constraint {NAME}")


def upgrade() -> None:
    """Add the table, the columns and the state."""
    op.execute(TABLE)
    op.execute(
        "alter table plan_history add column if not exists prior_set integer,"
        " add column if not exists went_well boolean"
    )
    _check("'observing', 'canary', 'active', 'superseded', 'rejected'")


def downgrade() -> None:
    """Know neither any more."""
    op.execute("update prior_set set state = 'rejected', ended_at = now() where state = 'canary'")
    _check("'observing', 'active', 'superseded', 'rejected'")
    op.execute("alter table plan_history drop column if exists went_well, drop column if exists prior_set")
    op.execute("drop table if exists prior_canary")

"""Remember whose words a summary of an artifact was asked in, also before their session has a turn.

Locks: ACCESS EXCLUSIVE on artifact_summary for an instant, and on session, since a foreign key to it goes;
SHARE on artifact_summary while the index of its users is built, which is empty then.
Old code: names no user, and sessions that are there, as before.
Back: drops the column; entries of sessions that have no turn are made again.
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

_KEY = "fk_artifact_summary_tenant_id_session_id_session"


def upgrade() -> None:
    """Add the column and its index, and let a session be named that is not there yet."""
    op.execute(f'alter table artifact_summary drop constraint {_KEY}, add column user_id text collate "C"')
    op.execute(
        "create index ix_artifact_summary_tenant_id_user_id on artifact_summary (tenant_id, user_id) "
        "where user_id is not null"
    )


def downgrade() -> None:
    """Drop them; what names a session that is not there goes first."""
    op.execute(
        "delete from artifact_summary as entry where session_id is not null and not exists ("
        "select from session where session.tenant_id = entry.tenant_id "
        "and session.session_id = entry.session_id)"
    )
    op.execute(
        f"alter table artifact_summary drop column user_id, add constraint {_KEY} "
        "foreign key (tenant_id, session_id) references session (tenant_id, session_id) on delete cascade"
    )

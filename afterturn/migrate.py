"""Migration of a database to the newest version."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from models.database_settings import database_settings
from models.tenants.row_security import raise_wall

SCRIPTS = Path(__file__).parents[1] / "migrations"

MOST_TRIES = 5
PAUSE_S = 1.0
"""Between two tries, for traffic to pass."""

LOST_TO_TRAFFIC = ("40P01", "55P03")
"""Postgres error codes of a step aborted for others: a deadlock, or a lock timeout."""

app = typer.Typer(add_completion=False)


OLDEST_SERVER = 160_000
"""PostgreSQL 16, as the server counts versions."""


class UnknownMigrationError(RuntimeError):
    """The database is at a migration that this version does not know: older than the baseline, or newer."""


class OldServerError(RuntimeError):
    """The server is older than PostgreSQL 16."""


@app.command()
def migrate(
    to: Annotated[str, typer.Option(help="Migration to end at; an earlier one takes later ones back.")] = "",
) -> None:
    """Bring the database of AFTERTURN_DATABASE_URL to the newest migration, or to a named one."""
    url = database_settings().listening_url
    try:
        go_to(url, to) if to else upgrade(url)
    except (UnknownMigrationError, OldServerError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(f"at migration {to or newest()}")


def config(database_url: str) -> Config:
    """Build Alembic's configuration for a database, without a configuration file."""
    settings = Config()
    settings.set_main_option("script_location", str(SCRIPTS))
    settings.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    return settings


def upgrade(database_url: str, revision: str = "head") -> None:
    """Apply all missing migrations, and enable row security on new tables if configured.

    Two simultaneous callers take turns. A step lost to traffic is repeated.

    Raises:
        UnknownMigrationError: The database is at a migration unknown to this version; nothing was changed.
    """
    _check_known(database_url)
    _persistently(command.upgrade, database_url, revision)
    if revision == "head" and database_settings().row_security:
        hold_to_tenants(database_url)


def go_to(database_url: str, revision: str) -> None:
    """Apply or take back migrations, so that the database ends at a migration.

    Raises:
        UnknownMigrationError: The database's migration or the named one is unknown; nothing was changed.
    """
    found = _check_known(database_url)
    known = _revisions()
    if revision not in known:
        raise UnknownMigrationError(
            f"There is no migration {revision!r}, this version knows {known[0]} to {known[-1]}. "
            "Nothing was changed."
        )
    is_back = any(known.index(one) > known.index(revision) for one in found)
    (downgrade if is_back else upgrade)(database_url, revision)


def _revisions() -> list[str]:
    history = ScriptDirectory.from_config(config(""))
    return [step.revision for step in history.walk_revisions()][::-1]


def _check_known(database_url: str) -> set[str]:
    """Return the database's migration, in a set; an empty database has none.

    Raises:
        OldServerError: The server is too old.
        UnknownMigrationError: The database is at a migration unknown to this version.
    """
    history = ScriptDirectory.from_config(config(database_url))
    owner = create_engine(database_url, poolclass=NullPool)
    with owner.connect() as db:
        number = int(db.exec_driver_sql("show server_version_num").scalar_one())
        if number < OLDEST_SERVER:
            server = f"PostgreSQL {number // 10_000}"
            raise OldServerError(f"{server} is too old, 16 to 18 serve. Nothing was changed.")
        found = set(MigrationContext.configure(db).get_current_heads())
    for revision in found - set(_revisions()):
        baseline, head = history.get_base(), history.get_current_head()
        raise UnknownMigrationError(
            f"The database is at migration {revision}, this version knows {baseline} to {head}. "
            f"Bring an older database to {baseline} with the version that it was last used with; "
            "use a newer database with the version that migrated it, or let that version take its "
            "migrations back: `afterturn migrate --to`. Nothing was changed."
        )
    return found


def hold_to_tenants(database_url: str) -> list[str]:
    """Enable row security on every table; return the tables without it before."""
    owner = create_engine(database_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with owner.connect() as db:
        return raise_wall(db)


def downgrade(database_url: str, revision: str) -> None:
    """Take migrations back, down to `revision`."""
    _persistently(command.downgrade, database_url, revision)


def _persistently(go: Callable[[Config, str], None], database_url: str, revision: str) -> None:
    """Retry after a step lost to traffic: a failed step leaves nothing, and earlier steps stay."""
    for left in reversed(range(MOST_TRIES)):
        try:
            go(config(database_url), revision)
            break
        except DBAPIError as error:
            if not left or getattr(error.orig, "sqlstate", None) not in LOST_TO_TRAFFIC:
                raise
            time.sleep(PAUSE_S)


def newest() -> str:
    """Return the newest migration known to the code."""
    return ScriptDirectory.from_config(config("")).get_current_head() or ""

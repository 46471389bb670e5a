"""Migration of a database to the newest version."""

import time
from collections.abc import Callable
from pathlib import Path

import typer
from alembic import command
from alembic.config import Config
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


@app.command()
def migrate() -> None:
    """Bring the database of AFTERTURN_DATABASE_URL to the newest migration."""
    upgrade(database_settings().database_url)
    typer.echo(f"at migration {newest()}")


def config(database_url: str) -> Config:
    """Build Alembic's configuration for a database, without a configuration file."""
    settings = Config()
    settings.set_main_option("script_location", str(SCRIPTS))
    settings.set_main_option("sqlalchemy.url", database_url.replace("%", "%%"))
    return settings


def upgrade(database_url: str, revision: str = "head") -> None:
    """Apply all missing migrations, and enable row security on new tables if configured.

    Two simultaneous callers take turns. A step lost to traffic is repeated.
    """
    _persistently(command.upgrade, database_url, revision)
    if revision == "head" and database_settings().row_security:
        hold_to_tenants(database_url)


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

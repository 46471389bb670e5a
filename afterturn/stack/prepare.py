"""Preparation of the embedded database: created, migrated, with a first API key in a file."""

import os
import sys
from pathlib import Path

import psycopg

from afterturn.keys import bootstrap_key
from afterturn.migrate import upgrade
from afterturn.stack.home import write_private
from afterturn.stack.servers import DATABASE


def ensure_database(database_url: str) -> None:
    """Create the database named by the URL, if missing."""
    server_url = f"{database_url.rpartition('/')[0]}/postgres"
    with psycopg.connect(server_url, autocommit=True) as server:
        there = server.execute("select 1 from pg_database where datname = %s", (DATABASE,)).fetchone()
        if there is None:
            server.execute(f"create database {DATABASE}")


def ensure_key(database_url: str, file: Path) -> None:
    """Store the first API key in a private file: the database has only its hash."""
    if not file.exists():
        write_private(file, bootstrap_key(database_url))


def main(database_url: str, key_file: Path) -> None:
    """Prepare everything; a repeated run changes nothing."""
    ensure_database(database_url)
    upgrade(database_url)
    ensure_key(database_url, key_file)


if __name__ == "__main__":
    main(os.environ["AFTERTURN_DATABASE_URL"], Path(sys.argv[1]))

"""What the page about backups has an operator type, typed: from one server to a new one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from tests.data import ROOT

PAGE = ROOT / "docs/operations/backups.md"
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
MARK = "# with `make up`"


def type_in(place: Path, lines: str) -> str:
    """Type lines in a folder, and say what was printed; a line that fails ends it."""
    told = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


def folder_of(stack: Stack, place: Path) -> Path:
    """A clone's folder in which a stack runs, as far as the page looks at it."""
    place.mkdir()
    (place / ".venv").symlink_to(sys.prefix)
    (place / ".afterturn").mkdir()
    told = json.dumps({"database_url": stack.at.database_url, "broker_url": stack.at.broker_url})
    (place / ".afterturn/addresses.json").write_text(told)
    return place


def test_a_dump_of_a_walled_database_is_restored_on_a_new_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy in the dump names a role, which a new server does not know."""
    monkeypatch.delenv("AFTERTURN_DATABASE_URL", raising=False)
    where, take, restore = BLOCK.findall(PAGE.read_text())
    where = where[where.index(MARK) :]
    monkeypatch.setenv("AFTERTURN_ROW_SECURITY", "true")
    with Stack(roles=SERVERS) as first:
        lost = folder_of(first, tmp_path / "first")
        with psycopg.connect(first.at.database_url) as database:
            database.execute("insert into tenant (name) values ('saved')")
            database.commit()
            assert database.execute("select count(*) from pg_policies").fetchone() != (0,)
        type_in(lost, where + take)
    monkeypatch.setenv("AFTERTURN_ROW_SECURITY", "false")
    with Stack(roles=SERVERS) as second:
        new = folder_of(second, tmp_path / "second")
        (lost / "afterturn.dump").rename(new / "afterturn.dump")
        monkeypatch.setenv("AFTERTURN_ROW_SECURITY", "true")
        said = type_in(new, where + restore + "echo url $AFTERTURN_DATABASE_URL\n")
        assert "at migration" in said
        url = said.rpartition("url ")[2].strip()
        with psycopg.connect(url) as database:
            assert database.execute("select 1 from tenant where name = 'saved'").fetchone()
            assert database.execute("select pg_has_role('afterturn_tenant', 'set')").fetchone() == (True,)
            assert database.execute("set role afterturn_tenant; select 1").nextset()

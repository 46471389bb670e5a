"""`afterturn keys` on the stack that runs in a directory, and where nothing runs."""

import subprocess
import sys
from pathlib import Path

import httpx

from afterturn.stack.roles import Addresses
from tests.acceptance.environment import untouched
from tests.data import ROOT
from tests.waiting import wait_until


def keys(directory: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "afterturn", "keys", *arguments, "--data-dir", str(directory)],
        cwd=ROOT,
        env=untouched(**environment),
        check=False,
        capture_output=True,
        text=True,
    )


def status_with(key: str, addresses: Addresses) -> int:
    url = f"{addresses.base_url}/v1/sessions/never-seen"
    return httpx.get(url, headers={"Authorization": f"Bearer {key}"}, timeout=30).status_code


def test_a_key_works_from_its_making_to_its_revocation(addresses: Addresses) -> None:
    made = keys(addresses.directory, "create", "a probe", "--scope", "read")
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    assert status_with(key, addresses) == httpx.codes.NOT_FOUND
    listed = keys(addresses.directory, "list").stdout
    row = next(line for line in listed.split("\n") if line.endswith("a probe"))
    key_id = row.split()[0]
    assert "in force" in row
    assert key not in listed
    assert keys(addresses.directory, "revoke", key_id).returncode == 0
    wait_until(
        lambda: status_with(key, addresses) == httpx.codes.UNAUTHORIZED,
        within_s=60,
        what="the revoked key is refused",
    )


def test_a_key_is_put_in_place_of_another_without_a_gap(addresses: Addresses) -> None:
    old = keys(addresses.directory, "create", "to rotate", "--days", "30").stdout.strip()
    rotated = keys(addresses.directory, "rotate", old.split("_")[1], "--grace-hours", "1")
    assert rotated.returncode == 0, rotated.stderr
    new = rotated.stdout.strip()
    assert (status_with(old, addresses), status_with(new, addresses)) == (404, 404)
    listed = keys(addresses.directory, "list").stdout
    assert sum(line.endswith("to rotate") for line in listed.split("\n")) == 2
    assert keys(addresses.directory, "rotate", new.split("_")[1], "--grace-hours", "0").returncode == 0
    wait_until(
        lambda: status_with(new, addresses) == httpx.codes.UNAUTHORIZED,
        within_s=60,
        what="the rotated key is refused",
    )


def test_a_name_that_is_no_tenant_is_told_so(addresses: Addresses) -> None:
    for command in (("list",), ("revoke", "0123")):
        told = keys(addresses.directory, *command, "--tenant", "mistyped")
        assert told.returncode != 0
        assert "mistyped" in told.stderr


def test_without_a_database_one_line_says_what_to_do(tmp_path: Path) -> None:
    told = keys(tmp_path, "list", AFTERTURN_DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert told.returncode == 1
    assert "make up" in told.stderr
    assert "Traceback" not in told.stderr

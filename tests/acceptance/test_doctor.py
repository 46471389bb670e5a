"""`afterturn doctor` on a running stack and on none."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from afterturn.stack.roles import Addresses
from models.base_settings import RELEASE
from tests.acceptance.environment import untouched
from tests.data import ROOT


def doctor(directory: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "afterturn", "doctor", "--data-dir", str(directory), *options],
        cwd=ROOT,
        env=untouched(COLUMNS="200", **environment),
        check=False,
        capture_output=True,
        text=True,
    )


def test_all_is_well_with_a_running_stack_and_no_secret_is_shown(addresses: Addresses) -> None:
    told = doctor(addresses.directory)
    assert told.returncode == 0, told.stdout
    password = urlsplit(addresses.database_url).password
    assert password
    assert password not in told.stdout
    assert all(
        f"well     {what}" in told.stdout for what in ("database", "background", "broker", "tokenizer")
    )


def test_models_are_those_of_the_workers_where_the_settings_here_name_others(addresses: Addresses) -> None:
    told = doctor(addresses.directory, SUMMARIZER_MODEL="openai/gpt-4o-mini", OPENAI_API_KEY="sk-none")
    (line,) = [one for one in " ".join(told.stdout.split()).split("well ") if one.startswith("models")]
    assert "summaries by extractive, plans by extractive, as the workers say" in line
    assert "the settings of here name openai/gpt-4o-mini and " in line


def test_it_shows_what_was_changed_and_all_on_demand(addresses: Addresses) -> None:
    few, every = doctor(addresses.directory), doctor(addresses.directory, "--all")
    assert few.stdout.startswith(f"afterturn {RELEASE}")
    assert "AFTERTURN_DATABASE_URL" in few.stdout
    assert "AFTERTURN_LEASE_S" not in few.stdout
    assert "AFTERTURN_LEASE_S" in every.stdout
    told = json.loads(doctor(addresses.directory, "--json").stdout)
    assert told["is_well"] is True
    assert {check["what"] for check in told["checks"]} >= {"database", "background", "broker"}
    assert not [one for one in told["settings"] if one["is_default"]]


def test_a_missing_database_is_named_with_the_checks_that_do_not_need_it(tmp_path: Path) -> None:
    told = doctor(tmp_path, AFTERTURN_DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert told.returncode == 1
    assert "missing  database" in told.stdout
    assert "well     tokenizer" in told.stdout


@pytest.mark.parametrize("variable", ["AFTERTURN_LEASE_S", "AFTERTURN_API_PORT"])
def test_a_wrong_setting_is_named(tmp_path: Path, variable: str) -> None:
    told = doctor(tmp_path, **{variable: "many"})
    assert told.returncode == 1
    assert f"wrong    {variable}" in told.stdout

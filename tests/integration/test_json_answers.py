"""Every command that shows something answers scripts with `--json`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from afterturn.__main__ import COMMANDS, app, load
from tests.integration.learning import NAME, catalog_document, put, shuffled, store_plans

ANSWERS = {
    "doctor": "tests/acceptance/test_doctor.py",
    "up": "tests/acceptance/test_up.py",
    "status": "test_status_command.py",
    "work list": "test_status_command.py",
    "usage": "test_usage_command.py",
    "limits list": "test_limit_commands.py",
    "shadow report": "test_shadow_report.py",
    "learn report": "test_learning_commands.py",
    "priors list": "test_learning_commands.py",
    "priors share": "test_canary_share.py",
    **dict.fromkeys(
        ("keys list", "retention show", "text status", "profiles list", "preflight replay", "plans import"),
        "here",
    ),
    **dict.fromkeys(("recall status", "shadow status", "limits history", "learn"), "here"),
}
"""Commands with `--json`, and the test that reads the answer."""

PLAIN = {
    "context": "a picture of an answer of the API, which is JSON",
    "demo": "a walk for people",
    "replay": "progress of a run",
    "shadow plant": "progress of a run",
    "plans export": "the rows alone, as JSON lines or CSV",
    "settings": "a page of the documentation",
    "migrate": "lines of progress; the exit code is the answer",
    "keys create": "the key alone",
    "keys rotate": "the key alone",
}
"""Commands that have another form, and the reason."""

DEEDS = {
    *("keys adopt", "keys revoke", "work retry", "work ask", "work drop", "retention set"),
    *("text rotate", "text seal", "text unseal", "text forget", "text clear"),
    *("profiles import", "profiles set", "profiles unset", "limits set", "limits forget"),
    *("recall on", "recall off", "shadow on", "shadow off"),
    *("priors activate", "priors rollback", "priors canary", "priors stop"),
}
"""Commands that change something and say so in a line; their exit code is the answer to a script."""


def options() -> Iterator[tuple[str, set[str]]]:
    """Walk through the commands by name, with the options of each."""
    waiting = [(name, load(name)) for name in COMMANDS]
    while waiting:
        name, command = waiting.pop()
        below = getattr(command, "commands", {})
        waiting += [(f"{name} {under}", one) for under, one in below.items()]
        if not below or getattr(command, "invoke_without_command", False):
            yield name, {option for parameter in command.params for option in parameter.opts}


def test_every_command_answers_as_json_or_has_a_reason() -> None:
    found = dict(options())
    assert {name for name, known in found.items() if "--json" in known} == set(ANSWERS)
    assert {*ANSWERS, *PLAIN, *DEEDS} == set(found)


def ask(*words: str, exit_code: int = 0) -> Any:
    done = CliRunner().invoke(app, [*words, "--json", "--tenant", "first"])
    assert done.exit_code == exit_code, done.output
    return json.loads(done.stdout)


@pytest.fixture
def filled(client: TestClient, tenant_id: UUID) -> None:
    """Something to show."""
    body = {"message": "fix the bug in this function", "tools": ["read_file"], "session_id": "s1"}
    assert client.post("/v1/preflight", json=body).status_code == 200
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(20))


@pytest.mark.usefixtures("filled")
def test_what_stands_is_shown_as_json() -> None:
    (key, *_) = ask("keys", "list")
    assert (set(key["scopes"]), key["revoked_at"]) == ({"read", "write", "admin"}, None)
    assert not {name for name in key if "secret" in name}
    shown = ask("retention", "show")
    assert (shown["wished"]["session_days"], shown["of_all_tenants"]["receipt days"] > 0) == (None, True)
    assert ask("text", "status")["tenants"]["first"] is None
    (row,) = ask("profiles", "list", "gpt-4o")
    assert (row["model"], row["input_tokens"] > 0, type(row["input_usd"])) == ("gpt-4o", True, float)
    assert len(ask("profiles", "list")) > 1
    assert ask("preflight", "replay")["verdict"] == "unknown"
    assert ask("recall", "status")["enabled"] is False
    assert set(ask("shadow", "status")["in_shadow"].values()) <= {True, False}
    assert ask("limits", "history") is None
    assert ask("limits", "history", "4000") == {"tokens": 4_000, "source": "tenant"}


@pytest.mark.usefixtures("filled")
def test_what_was_learned_is_told_as_json() -> None:
    (trial,) = ask("learn", "--dry-run")
    assert (trial["catalog"], trial["reason"].startswith("better than words alone")) == (NAME, True)
    assert {one["ranking"] for one in trial["rankings"]} == {"new", "words"}
    assert {"intent", "tool", "before", "after"} == set(trial["changes"][0])
    typed = [sys.executable, "-m", "afterturn", "learn", "--json", "--tenant", "first"]
    done = subprocess.run(typed, env=os.environ, capture_output=True, text=True, check=True)
    habits, made = json.loads(done.stdout)
    assert (habits["what"], made["what"], made["set"]["state"]) == ("habits", NAME, "active")
    assert made["outcome"].startswith("set 1 active")


def test_an_import_tells_its_numbers_and_bad_rows_as_json(tenant_id: UUID, tmp_path: Path) -> None:
    del tenant_id
    row = {"intent": "play", "tools": ["find"], "outcome": "ok", "at": "2026-01-03T09:30:00Z"}
    file = tmp_path / "plans.jsonl"
    file.write_text(f"{json.dumps(row)}\nno row\n")
    told = ask("plans", "import", str(file), exit_code=1)
    assert (told["imported"], told["known_before"], told["bad_rows"]) == (1, 0, 1)
    assert [one["line"] for one in told["faults"]] == [2]
    assert ask("plans", "import", "--strict", str(file), exit_code=1)["known_before"] == 0

"""`afterturn work` on a running stack: a model that was parked is asked again."""

import subprocess
import sys

import psycopg

from afterturn.stack.request import Addresses
from tests.acceptance.environment import untouched
from tests.data import ROOT


def work(addresses: Addresses, command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "afterturn", "work", command, "--data-dir", str(addresses.directory)],
        cwd=ROOT,
        env=untouched(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_parked_model_is_shown_with_its_reason_and_asked_again(addresses: Addresses) -> None:
    with psycopg.connect(addresses.database_url) as db:
        db.execute(
            "insert into provider_gate (model, failures, open_until, reason, failed_at) "
            "values ('some/model', 1, now() + interval '1 h', 'bad key', now())"
        )
    assert "model some/model  open" in work(addresses, "list")
    assert "models asked again: 1" in work(addresses, "retry")
    assert "some/model" not in work(addresses, "list")

"""The commands of learning, in this process: learn now, list, put in force, go back, draw."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Timer
from uuid import UUID

import pytest
from sqlalchemy import text
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from context.priors.state import state_from_bytes
from models import database as session
from models.due_work.queue import WorkKind, claim, enqueue, find_work, finish
from models.learning.progress import find_counted
from models.scope import Scope
from models.telemetry.counters import Counted, read_counts
from tests.integration.learning import NAME, catalog_document, put, sets, shuffled, store_plans
from tests.integration.watching import forget_counts
from workers.jobs.learn.night import CATALOG


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "240"})


@pytest.fixture
def taught(tenant_id: UUID) -> UUID:
    """A tenant with plans enough, at the default settings."""
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(20))
    return tenant_id


def test_learn_makes_a_set_now(taught: UUID) -> None:
    result = run("learn", "--tenant", "first")
    assert result.exit_code == 0, result.output
    assert f"{NAME}: set 1 active" in result.output
    assert [one.state for one in sets(taught)] == ["active"]


def test_what_is_learned_by_hand_is_counted_as_what_workers_learn(taught: UUID) -> None:
    del taught
    forget_counts()
    assert run("learn", "--tenant", "first").exit_code == 0
    with session.read_transaction() as db:
        counted = {(name, labels) for name, labels, _, _ in read_counts(db)}
    assert (Counted.PRIOR_SETS, ("ranking", "active")) in counted
    assert (Counted.WORK, ("learn", "done")) in counted


@pytest.mark.usefixtures("taught")
def test_the_verdict_stands_with_intervals_and_without_log_lines() -> None:
    typed = [sys.executable, "-m", "afterturn", "learn", "--tenant", "first"]
    done = subprocess.run(typed, env=os.environ, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[1].startswith(f"{NAME}: set 1 active: better than words alone")
    share = r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]"
    for name, line in zip(("new", "words alone"), lines[2:], strict=True):
        assert re.fullmatch(rf"  {name} +recall@1 {share}  recall@5 {share}  of \d+ plans", line)


def test_a_dry_run_judges_all_plans_anew_and_stores_nothing(taught: UUID) -> None:
    run("learn", "--tenant", "first")
    before = stored(taught)
    narrow = run("learn", "--dry-run", "--tenant", "first", "--holdout", "0.3", "--half-life", "5")
    assert narrow.output.startswith(f"{NAME}: dry run, nothing was stored: better than words alone")
    assert re.search(r"\n  better than words alone: \d+ tools of held-out intents\n    ", narrow.output)
    assert re.search(r'\n    [-\d] -> 1  \w+  "[^"]+"\n', narrow.output)
    none = run(
        "learn", "--dry-run", "--tenant", "first", "--holdout", "0.3", "--half-life", "5", "--examples", "0"
    )
    assert none.output.count("\n    ") == 0
    wide = run("learn", "--dry-run", "--tenant", "first", "--catalog", NAME, "--holdout", "0.5")
    assert ("of 48 plans" in narrow.output, "of 80 plans" in wide.output) == (True, True)
    assert stored(taught) == before
    few = run("learn", "--dry-run", "--tenant", "first", "--catalog", "none")
    assert "0 plans: too few to teach and to judge" in few.output


def stored(tenant_id: UUID) -> list[str]:
    """Every row that learning writes."""
    with session.read_transaction() as db:
        return [
            row
            for table in ("prior_set", "learning_state", "due_work")
            for row in db.execute(
                text(f"select t::text from {table} t where tenant_id = :tenant_id order by 1"),  # noqa: S608
                {"tenant_id": tenant_id},
            ).scalars()
        ]


def test_a_run_takes_a_half_life_and_a_share_of_its_own(taught: UUID) -> None:
    result = run("learn", "--tenant", "first", "--half-life", "5", "--holdout", "0.5")
    assert "of 80 plans" in result.output
    with session.read_transaction() as db:
        state = find_counted(Scope(db, taught), NAME).state
    assert state is not None
    assert state_from_bytes(state).half_life_days == 5


@pytest.mark.usefixtures("taught")
@pytest.mark.parametrize("wrong", [("--half-life", "0"), ("--holdout", "1")])
def test_a_share_or_half_life_out_of_bounds_is_refused(wrong: tuple[str, str]) -> None:
    assert run("learn", "--tenant", "first", *wrong).exit_code == 2


def test_learn_waits_for_a_worker_and_tells_its_outcome_too(taught: UUID) -> None:
    with session.transaction() as db:
        scope = Scope(db, taught)
        enqueue(scope, WorkKind.LEARN, CATALOG + NAME)
        found = find_work(scope, WorkKind.LEARN, CATALOG + NAME)
        assert found is not None
        held = claim(db, found.work_id, lease_s=60, max_crashes=3)
    assert held is not None
    impatient = run("learn", "--tenant", "first", "--catalog", NAME, "--wait-s", "0")
    assert (impatient.exit_code, "a worker is at it" in impatient.output) == (1, True)

    def end() -> None:
        with session.transaction() as db:
            assert finish(db, held, "0 new plans")

    worker = Timer(1, end)
    worker.start()
    result = run("learn", "--tenant", "first", "--catalog", NAME)
    worker.join()
    assert result.exit_code == 0
    assert result.output.splitlines()[0] == f"{NAME}: by a worker: 0 new plans"
    assert f"\n{NAME}: set 1 active" in result.output


def test_learn_of_one_catalog_leaves_others_alone(taught: UUID) -> None:
    put(taught, catalog_document(), "second")
    store_plans(taught, shuffled(20), catalog="second")
    result = run("learn", "--tenant", "first", "--catalog", "second")
    assert "second: set 1 active" in result.output
    assert sets(taught) == []


def test_sets_are_listed_put_in_force_and_taken_back(taught: UUID) -> None:
    run("learn", "--tenant", "first")
    listed = run("priors", "list", "--tenant", "first")
    assert re.search(rf"ranking .* {NAME} .* 1 .* active .* better than words alone", listed.output)
    told = json.loads(run("priors", "list", "--tenant", "first", "--json").output)
    assert [(one["kind"], one["name"], one["state"]) for one in told][-1] == ("ranking", NAME, "active")
    assert re.search(r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\] / - / \d\.\d{3} \[", listed.output)
    place = ("--catalog", NAME, "--tenant", "first")
    (judged,) = sets(taught)
    assert "nothing learned is in force" in run("priors", "rollback", *place, "--by", "Ada\nL").output
    (kept,) = sets(taught)
    assert (kept.state, kept.evaluation) == ("rejected", judged.evaluation)
    deed = (
        re.escape(f"{judged.reason}; taken out of force by hand by Ada L, ")
        + r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
    )
    assert re.fullmatch(deed, kept.reason)
    assert run("priors", "rollback", *place).exit_code == 2
    assert "set 1 is in force" in run("priors", "activate", "1", *place).output
    assert run("priors", "activate", "9", *place).exit_code == 2


@pytest.mark.usefixtures("taught")
@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_report_draws_what_was_judged(tmp_path: Path, ending: str, magic: bytes) -> None:
    run("learn", "--tenant", "first")
    out = tmp_path / f"picture.{ending}"
    result = run("learn", "report", "--tenant", "first", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(magic)


@pytest.mark.usefixtures("taught")
def test_a_report_of_nothing_says_so(tmp_path: Path) -> None:
    result = run("learn", "report", "--tenant", "first", "--out", str(tmp_path / "picture.png"))
    assert result.exit_code == 1
    assert "nothing was judged yet" in result.output


@pytest.mark.usefixtures("taught")
def test_a_report_is_told_to_programs_with_intervals() -> None:
    assert json.loads(run("learn", "report", "--tenant", "first", "--json").output) == []
    run("learn", "--tenant", "first")
    (one,) = json.loads(run("learn", "report", "--tenant", "first", "--json").output)
    assert (one["catalog"], one["version"], one["state"]) == (NAME, 1, "active")
    new, words = one["rankings"]
    assert (new["ranking"], words["ranking"]) == ("new", "words")
    for share in (new["recall_at_1"], new["recall_at_5"], words["recall_at_5"]):
        assert 0 <= share["low"] <= share["share"] <= share["high"] <= 1
        assert share["high"] > share["low"]
    assert new["recall_at_5"]["share"] > words["recall_at_5"]["share"]


@pytest.mark.usefixtures("taught")
def test_an_unknown_tenant_is_refused() -> None:
    assert run("learn", "--tenant", "nobody").exit_code == 2

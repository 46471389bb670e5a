"""The commands of learning, in this process: learn now, list, put in force, go back, draw."""

import re
from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from models import database as session
from models.telemetry.counters import Counted, read_counts
from tests.integration.learning import NAME, catalog_document, put, sets, shuffled, store_plans
from tests.integration.watching import forget_counts


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


def test_learn_of_one_catalog_leaves_others_alone(taught: UUID) -> None:
    put(taught, catalog_document(), "second")
    store_plans(taught, shuffled(20), catalog="second")
    result = run("learn", "--tenant", "first", "--catalog", "second")
    assert "second: set 1 active" in result.output
    assert sets(taught) == []


@pytest.mark.usefixtures("taught")
def test_sets_are_listed_put_in_force_and_taken_back() -> None:
    run("learn", "--tenant", "first")
    listed = run("priors", "list", "--tenant", "first")
    assert re.search(rf"ranking .* {NAME} .* 1 .* active .* better than words alone", listed.output)
    place = ("--catalog", NAME, "--tenant", "first")
    assert "nothing learned is in force" in run("priors", "rollback", *place).output
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
def test_an_unknown_tenant_is_refused() -> None:
    assert run("learn", "--tenant", "nobody").exit_code == 2

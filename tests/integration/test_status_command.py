"""`afterturn status --once` and `afterturn work drop`, in this process, on a real database."""

import json
from uuid import UUID

import pytest
from sqlalchemy import Connection, text
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from models import database as session
from models.base_settings import RELEASE
from models.database_settings import database_settings
from models.due_work.heartbeat import beat
from models.due_work.operator import drop_dead
from models.due_work.queue import WorkKind, WorkState, enqueue, find_work, retry_later
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import row, take

pytestmark = pytest.mark.usefixtures("one_day")

ROLES = ("dispatcher", "worker", "beat")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})


def die(db: Connection, tenant: UUID, key: str = "s1") -> int:
    """Work that was given up, and its id."""
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, key)
    held = take(db, row(db, tenant, key).work_id)
    assert retry_later(db, held, f"fault of {key}", delay_s=0, max_attempts=1)
    return held.work_id


def test_one_frame_shows_who_is_at_work_and_what_was_given_up(tenant_id: UUID) -> None:
    with session.transaction() as db:
        for role in ROLES:
            beat(db, role, "here:1", {"summarizer": "m1", "planner": "m2"} if role == "worker" else None)
        enqueue(Scope(db, tenant_id), WorkKind.PLAN, "p1")
        die(db, tenant_id)
    shown = run("status", "--once")
    assert shown.exit_code == 0, shown.output
    assert "1 given up" in shown.output
    assert all(f"{role} " in shown.output for role in ROLES)
    assert "m1" in shown.output
    assert "\x1b" not in shown.output, "what is piped holds no colours"


def test_a_frame_is_json_for_scripts(tenant_id: UUID) -> None:
    with session.transaction() as db:
        beat(db, "worker", "here:1", {"summarizer": "m1"})
        die(db, tenant_id)
    shown = run("status", "--json")
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.output)
    assert told["release"] == RELEASE
    assert told["verdict"] == "no dispatcher and no beat at work"
    assert [(one["kind"], one["count"]) for one in told["snapshot"]["work"] if one["state"] == "dead"] == [
        ("summarize", 1)
    ]
    assert told["spend"]["usd"] == 0


def test_work_is_json_for_scripts(tenant_id: UUID) -> None:
    with session.transaction() as db:
        numbers = [die(db, tenant_id, key) for key in ("bad", "worse")]
    told = json.loads(run("work", "list", "--tenant", "first", "--most", "1", "--json").output)
    (work,) = told["work"]
    assert (work["work_id"] in numbers, work["tenant"], told["more_work"]) == (True, "first", 1)
    assert work["last_error"].startswith("fault of ")
    assert (told["models"], told["refused"]) == ([], [])


@pytest.mark.usefixtures("empty_db")
def test_an_installation_without_anybody_at_work_says_so() -> None:
    assert "no dispatcher and no worker and no beat at work" in run("status", "--once").output


def test_without_a_database_it_says_so_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_DATABASE_URL", "postgresql://me:secret@127.0.0.1:1/nothing")
    database_settings.cache_clear()
    shown = run("status", "--once")
    database_settings.cache_clear()
    assert shown.exit_code == 1
    assert "127.0.0.1:1/nothing" in shown.output
    assert "secret" not in shown.output


def test_dead_work_is_dropped_with_a_line_of_what_it_was(tenant_id: UUID) -> None:
    with session.transaction() as db:
        number, other = die(db, tenant_id, "bad"), die(db, tenant_id, "other")
    shown = run("work", "drop", str(number), "--tenant", "first")
    assert shown.exit_code == 0, shown.output
    assert shown.output.strip() == (
        f"dropped work {number}  summarize bad  of first, attempts 1, crashes 0: fault of bad"
    )
    again = run("work", "drop", str(number), "--tenant", "first")
    assert again.exit_code == 1
    assert f"no dead work {number}" in again.output
    listed = run("work", "list", "--tenant", "first").output
    assert f"work {number} " not in listed
    assert f"work {other} " in listed


@pytest.mark.usefixtures("empty_db")
def test_without_a_tenants_name_it_is_everybodys_work_and_its_owner_is_said() -> None:
    """Who is told of dead work by an alert, or by `status`, is told of no tenant."""
    with session.transaction() as db:
        numbers = [die(db, ensure_tenant(db, name), f"of {name}") for name in ("default", "second")]
    listed = run("work", "list").output.splitlines()
    assert [line.split(":")[-1] for line in listed] == [" fault of of default", " fault of of second"]
    assert ["of default, " in line for line in listed] == [True, False]
    assert "of second, " in listed[1]
    assert "fault of of second" not in run("work", "list", "--tenant", "default").output
    assert run("work", "drop", str(numbers[1])).exit_code == 0
    assert "work tried again: 1" in run("work", "retry").output
    assert "no work was given up" in run("work", "list").output


@pytest.mark.usefixtures("empty_db")
def test_of_much_work_a_page_is_shown_and_how_much_more_there_is() -> None:
    with session.transaction() as db:
        tenant = ensure_tenant(db, "default")
        for number in range(3):
            die(db, tenant, f"s{number}")
    assert "more" not in run("work", "list", "--most", "3").output
    shown = run("work", "list", "--most", "2").output.splitlines()
    assert (len(shown), shown[-1]) == (3, "and 1 more: see them with --most 3")


def test_what_is_alive_or_another_tenants_is_not_dropped(db: Connection) -> None:
    first, second = ensure_tenant(db, "first"), ensure_tenant(db, "second")
    dead = die(db, first)
    enqueue(Scope(db, first), WorkKind.SUMMARIZE, "alive")
    assert drop_dead(db, second, dead) is None
    assert drop_dead(db, first, row(db, first, "alive").work_id) is None
    assert row(db, first).state == WorkState.DEAD


def test_what_asks_for_dropped_work_later_begins_anew(db: Connection) -> None:
    tenant = ensure_tenant(db, "first")
    dead = die(db, tenant)
    assert row(db, tenant).state == WorkState.DEAD
    assert drop_dead(db, tenant, dead)
    assert (row(db, tenant).state, row(db, tenant).last_outcome) == (WorkState.IDLE, "dropped")
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    assert (take(db, dead).attempts, row(db, tenant).last_error) == (1, None)
    assert find_work(Scope(db, tenant), WorkKind.SUMMARIZE, "s2") is None
    assert db.execute(text("select count(*) from due_work")).scalar_one() == 1

"""Whoever tells of caps tells of those by which workers judge."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from afterturn.doctor import check_caps
from afterturn.status import Look, opened
from models import database as session
from models.due_work.heartbeat import beat
from models.ledger.caps import DETAIL, SaidBy, find_caps
from models.ledger.settings import budget_settings
from tests.integration.test_usage_api import make_call, usage
from tests.integration.test_usage_command import run
from workers.telemetry import settings_in_use, show_life

pytestmark = pytest.mark.usefixtures("one_day")

HERE = {"AFTERTURN_TENANT_TOKENS_PER_DAY": "6000000", "AFTERTURN_SESSION_USD_PER_DAY": "none"}
WORKERS: dict[str, Any] = {
    "tenant_tokens_per_day": "900",
    "session_tokens_per_day": None,
    "tenant_usd_per_day": "0.10",
    "session_usd_per_day": "0.05",
}


@pytest.fixture(autouse=True)
def _settings_of_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in HERE.items():
        monkeypatch.setenv(name, value)
    budget_settings.cache_clear()
    yield
    budget_settings.cache_clear()


def say(instance: str, **caps: Any) -> None:
    """A worker shows itself, with the caps above but for those that are named."""
    with session.transaction() as db:
        beat(db, "worker", instance, {DETAIL: {**WORKERS, **caps}})


def test_a_worker_says_its_caps_exactly(tenant_id: UUID) -> None:
    del tenant_id
    show_life("worker", settings_in_use())
    with session.read_transaction() as db:
        found = find_caps(db, own=budget_settings().caps.__class__())
    assert (found.caps, found.said_by, found.differ) == (budget_settings().caps, SaidBy.WORKERS, False)


def test_the_command_tells_of_the_workers_caps(tenant_id: UUID) -> None:
    make_call(tenant_id)
    say("a:1")
    assert "90 tokens of 900, 0.0020 USD of 0.10 charged" in run()
    assert "a session may take 0.05 USD in a day" in run()
    assert "These are the caps" not in run()
    say("a:1", session_usd_per_day=None)
    assert "a session may take as much as its tenant in a day" in run()


def test_where_no_worker_said_its_caps_the_command_says_whose_they_are(tenant_id: UUID) -> None:
    make_call(tenant_id)
    with session.transaction() as db:
        beat(db, "worker", "old:1", {"summarizer": "m"})
    shown = run()
    assert "90 tokens of 6,000,000" in shown
    assert "caps of this command's own settings" in shown


def test_workers_that_differ_are_told_until_the_others_are_gone(tenant_id: UUID) -> None:
    make_call(tenant_id)
    say("old:1")
    say("new:1", tenant_tokens_per_day="2000")
    assert "90 tokens of 2,000" in run()
    assert "another one, seen within a minute, has different ones" in run()
    with session.transaction() as db:
        db.execute(text("update heartbeat set seen_at = now() - interval '61 s' where instance = 'old:1'"))
    assert "different ones" not in run()


def test_the_api_tells_of_the_workers_caps(client: TestClient, tenant_id: UUID) -> None:
    make_call(tenant_id)
    own = usage(client)["caps"]
    assert (own["tenant"][0]["cap_per_day"], own["said_by"]) == (6_000_000, "own-settings")
    say("a:1")
    caps = usage(client)["caps"]
    assert (caps["said_by"], caps["workers_differ"]) == ("workers", False)
    assert caps["tenant"][0] == {"unit": "tokens", "cap_per_day": 900, "charged_today": 90, "left": 810}
    assert caps["session"] == {"tokens_per_day": None, "usd_per_day": 0.05}


def test_the_live_view_measures_by_the_workers_caps(tenant_id: UUID) -> None:
    make_call(tenant_id)
    say("a:1")
    with opened() as engine:
        seen = Look(engine).frame()
    assert seen.spend.fullest["tokens"] == pytest.approx(0.1)
    assert seen.caps.caps.tenant_tokens_per_day == 900


def test_the_doctor_says_where_workers_judge_by_other_caps(tenant_id: UUID) -> None:
    del tenant_id
    assert (check_caps().is_well, "no worker has said" in check_caps().seen) == (True, True)
    here = settings_in_use()[DETAIL]
    say("a:1", **here)
    assert (check_caps().is_well, check_caps().seen) == (True, "workers judge by those above")
    say("a:1", **{**here, "tenant_tokens_per_day": "900", "session_usd_per_day": "0.05"})
    found = check_caps()
    assert not found.is_well
    assert "AFTERTURN_TENANT_TOKENS_PER_DAY is 900 there and 6000000 here" in found.seen
    assert "AFTERTURN_SESSION_USD_PER_DAY is 0.05 there and none here" in found.seen
    assert "AFTERTURN_TENANT_USD_PER_DAY" not in found.seen


def test_the_doctor_says_where_one_of_several_workers_has_other_caps(tenant_id: UUID) -> None:
    del tenant_id
    here = settings_in_use()[DETAIL]
    say("old:1", **{**here, "tenant_tokens_per_day": "900"})
    say("new:1", **here)
    assert not check_caps().is_well
    with session.transaction() as db:
        db.execute(text("update heartbeat set seen_at = now() - interval '61 s' where instance = 'old:1'"))
    assert check_caps().is_well


def test_a_cap_that_is_written_in_another_way_is_the_same_one(tenant_id: UUID) -> None:
    del tenant_id
    say("a:1", **{**settings_in_use()[DETAIL], "tenant_usd_per_day": "50.00"})
    assert check_caps().is_well

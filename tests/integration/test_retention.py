"""Old things go: at their age and not before, of their tenant alone, past whoever holds them, and visibly."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from models import database as session
from models.database import transaction
from models.due_work.queue import WorkKind, claim, enqueue
from models.retention.settings import RetentionSettings
from models.retention.tenant_policy import RETENTION, Retention, find_retention, list_gone, put_retention
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import plant_everywhere, tables_with
from tests.integration.summarizing import dialogue
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.sweep import retain

pytestmark = pytest.mark.usefixtures("one_day")

WORD = "gentian"
FOR_EVER = RetentionSettings(retain_ledger_days=0, retain_summary_versions=0)
TEN_DAYS = FOR_EVER.model_copy(update={"retain_session_days": 10})


def run(settings: RetentionSettings = FOR_EVER) -> str:
    """One run of the work, as the background does it."""
    with transaction() as db:
        operator = ensure_tenant(db, "operator")
        enqueue(Scope(db, operator), WorkKind.SWEEP, RETENTION)
        work_id = db.execute(text("select work_id from due_work where key = 'retention'")).scalar_one()
        held = claim(db, work_id, lease_s=60, max_crashes=3)
    assert held is not None
    return retain(held, settings=settings)


def do(statement: str, **values: Any) -> int:
    with transaction() as db:
        return db.execute(text(statement), values).rowcount


def count(table: str) -> int:
    with session.read_transaction() as db:
        return int(db.execute(text(f"select count(*) from {table}")).scalar_one())  # noqa: S608 (names of ours)


def talk(client: TestClient, session_id: str, *, days_ago: float, key: str = "") -> None:
    """A session whose last turn is so long ago."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    turn = {"turn_id": "t1", "messages": dialogue(1)}
    assert client.post(f"/v1/sessions/{session_id}/turns", json=turn, headers=headers).status_code == 202
    do(
        "update session set last_turn_at = now() - make_interval(secs => :s), "
        "created_at = now() - make_interval(secs => :s) where session_id = :session",
        s=days_ago * 86_400,
        session=session_id,
    )


def sessions() -> set[str]:
    with session.read_transaction() as db:
        return set(db.execute(text("select session_id from session")).scalars())


@pytest.mark.parametrize(("days_ago", "stays"), [(9.99, True), (10.01, False), (400, False), (0, True)])
def test_a_session_goes_when_it_is_older_than_it_is_kept(
    client: TestClient, days_ago: float, *, stays: bool
) -> None:
    talk(client, "old", days_ago=days_ago)
    run(TEN_DAYS)
    assert (sessions() == {"old"}) is stays


def test_without_a_wish_everything_stays_for_ever(client: TestClient) -> None:
    talk(client, "ancient", days_ago=9_000)
    assert run() == "nothing was too old"
    assert sessions() == {"ancient"}


def test_a_tenants_wish_stands_above_the_setting_and_is_its_own(client: TestClient, tenant_id: UUID) -> None:
    with transaction() as db:
        other = ensure_tenant(db, "another")
        put_retention(Scope(db, tenant_id), Retention(session_days=0))
        put_retention(Scope(db, other), Retention(session_days=5))
    talk(client, "kept", days_ago=400)
    talk(client, "gone", days_ago=6, key=make_key(other))
    run(TEN_DAYS)
    assert sessions() == {"kept"}
    with session.read_transaction() as db:
        assert list_gone(Scope(db, tenant_id), days=2) == []
        assert [row[1:] for row in list_gone(Scope(db, other), days=2)] == [("message", 2), ("session", 1)]


def test_nothing_of_an_old_session_stays_in_any_table(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, "planted", WORD, "user-1")
    assert len(tables_with(WORD)) > 5
    do(
        "update session set last_turn_at = now() - interval '11 days', "
        "created_at = now() - interval '12 days'"
    )
    run(TEN_DAYS)
    assert tables_with(WORD) == {}


def test_a_session_that_somebody_holds_is_left_for_the_next_run(client: TestClient, engine: Engine) -> None:
    talk(client, "held", days_ago=11)
    talk(client, "free", days_ago=11)
    with engine.begin() as writer:
        writer.execute(text("select 1 from session where session_id = 'held' for update"))
        assert run(TEN_DAYS).startswith("1 sessions")
        assert sessions() == {"held"}
    assert run(TEN_DAYS).startswith("1 sessions")
    assert sessions() == set()


def test_a_turn_that_comes_meanwhile_saves_its_session(client: TestClient) -> None:
    talk(client, "back", days_ago=11)
    turn = {"turn_id": "t2", "messages": dialogue(2)}
    assert client.post("/v1/sessions/back/turns", json=turn).status_code == 202
    run(TEN_DAYS)
    assert sessions() == {"back"}


def test_a_turn_after_its_session_went_begins_a_later_life(client: TestClient) -> None:
    talk(client, "phoenix", days_ago=11)
    run(TEN_DAYS)
    turn = {"turn_id": "t1", "messages": dialogue(1)}
    answer = client.post("/v1/sessions/phoenix/turns", json=turn)
    assert (answer.status_code, answer.json()["first_seq"]) == (202, 1)
    assert client.get("/v1/sessions/phoenix").json()["generation"] > 1


def test_many_old_sessions_go_a_few_at_a_time(client: TestClient) -> None:
    for number in range(7):
        talk(client, f"s{number}", days_ago=11)
    run(TEN_DAYS.model_copy(update={"retain_at_once": 2}))
    assert sessions() == set()


def test_a_run_whose_time_is_over_is_wanted_again_at_once(client: TestClient) -> None:
    talk(client, "late", days_ago=11)
    hurried = TEN_DAYS.model_copy(update={"retain_run_s": 1e-9})
    assert run(hurried) == "nothing was too old, and its time was over"
    with session.read_transaction() as db:
        row = db.execute(
            text("select state, due_at <= now() as due from due_work where key = 'retention'")
        ).one()
    assert (row.state, row.due) == ("ready", True)
    assert run(TEN_DAYS).startswith("1 sessions")


def test_a_worker_that_lost_its_lease_says_nothing(client: TestClient) -> None:
    talk(client, "any", days_ago=0)
    with transaction() as db:
        operator = ensure_tenant(db, "operator")
        enqueue(Scope(db, operator), WorkKind.SWEEP, RETENTION)
        work_id = db.execute(text("select work_id from due_work where key = 'retention'")).scalar_one()
        held = claim(db, work_id, lease_s=60, max_crashes=3)
        assert held is not None
    do("update due_work set lease = gen_random_uuid() where key = 'retention'")
    with pytest.raises(LeaseLostError):
        retain(held, settings=TEN_DAYS)


@pytest.fixture
def plans(client: TestClient) -> TestClient:
    """A tenant with a catalog."""
    tool = {"name": "mail.send", "description": "Send a mail."}
    assert client.put("/v1/catalogs/main", json={"tools": [tool]}).status_code == 200
    return client


def test_old_plans_go_and_wanted_ones_stay(plans: TestClient) -> None:
    for intent in ("send a mail", "send another mail", "send the last mail"):
        body = {"intent": intent, "catalog": "main", "model": "gpt-4o-mini"}
        assert plans.post("/v1/plans", json=body).status_code == 202
    do(
        "update plan_history set status = 'ready', ready_at = now(), method = 'lexical' "
        "where intent <> 'send a mail'"
    )
    do("update plan_history set created_at = now() - interval '31 days' where intent <> 'send the last mail'")
    assert "1 plans" in run(FOR_EVER.model_copy(update={"retain_plan_days": 30}))
    with session.read_transaction() as db:
        left = set(db.execute(text("select intent from plan_history")).scalars())
    assert left == {"send a mail", "send the last mail"}


def calls(tenant_id: UUID, at: datetime, number: int, *, price: str | None = "0.5") -> None:
    do(
        """
        insert into llm_call (tenant_id, purpose, model, state, charged_tokens, charged_usd, input_tokens,
            cached_tokens, output_tokens, reasoning_tokens, price_usd, created_at, settled_at)
        select :tenant, 'summarize', 'm', 'ok', 1, 0, 100, 10, 20, 5, cast(:price as numeric), :at, :at
        from generate_series(1, :number)
        """,
        tenant=tenant_id,
        at=at,
        number=number,
        price=price,
    )


def test_usage_says_the_same_before_and_after_old_calls_become_sums(
    client: TestClient, tenant_id: UUID
) -> None:
    now = datetime.now(UTC)
    for days_ago, number in ((0, 3), (29, 4), (30, 5), (60, 6)):
        calls(tenant_id, now - timedelta(days=days_ago), number)
    calls(tenant_id, now - timedelta(days=60), 2, price=None)
    asked = {"from": str((now - timedelta(days=90)).date()), "to": str(now.date())}
    before = client.get("/v1/usage", params=asked).json()
    days = FOR_EVER.model_copy(update={"retain_ledger_days": 30, "retain_at_once": 3})
    assert "13 calls folded" in run(days)
    assert count("llm_call") == 7
    assert client.get("/v1/usage", params=asked).json() == before
    calls(tenant_id, now - timedelta(days=60), 1)
    assert "1 calls folded" in run(days)
    assert client.get("/v1/usage", params=asked).json()["total"]["calls"] == before["total"]["calls"] + 1


def test_calls_of_today_and_open_ones_are_never_folded(client: TestClient, tenant_id: UUID) -> None:
    del client
    calls(tenant_id, datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0), 1)
    calls(tenant_id, datetime.now(UTC) - timedelta(days=9), 1)
    do(
        "update llm_call set state = 'reserved', settled_at = null "
        "where created_at < now() - interval '8 days'"
    )
    run(FOR_EVER.model_copy(update={"retain_ledger_days": 2}))
    assert count("llm_call") == 2


def summaries(tenant_id: UUID, states: list[str]) -> None:
    for version, state in enumerate(states, 1):
        do(
            """
            insert into summary (tenant_id, session_id, version, generation, state, from_seq, to_seq, text,
                tokens, covered_tokens, model, method, prompt_version, language, rejected_because)
            values (:tenant, 'told', :version, 1, :state, 1, 2, 'words', 1, 10, 'm', 'm', '1', 'en', :why)
            """,
            tenant=tenant_id,
            version=version,
            state=state,
            why="empty" if state == "rejected" else None,
        )


def test_the_newest_versions_of_a_summary_stay_and_whatever_is_in_force(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, "told", days_ago=0)
    summaries(tenant_id, ["superseded", "active", "rejected", "superseded", "superseded", "rejected"])
    assert "2 summaries" in run(FOR_EVER.model_copy(update={"retain_summary_versions": 3}))
    with session.read_transaction() as db:
        left = db.execute(text("select version from summary order by version")).scalars().all()
    assert left == [2, 4, 5, 6]


def test_a_version_whose_base_went_covers_what_the_base_did(client: TestClient, tenant_id: UUID) -> None:
    talk(client, "told", days_ago=0)
    summaries(tenant_id, ["superseded", "superseded", "superseded", "active"])
    do("update summary set base_version = version - 1 where version > 1")
    assert "2 summaries" in run(FOR_EVER.model_copy(update={"retain_summary_versions": 2}))
    with session.read_transaction() as db:
        left = db.execute(text("select version, base_version, covered_tokens from summary order by 1")).all()
    assert [tuple(row) for row in left] == [(3, None, 30), (4, 3, 10)]


def test_a_version_that_is_put_in_force_meanwhile_is_not_deleted(
    client: TestClient, tenant_id: UUID, engine: Engine
) -> None:
    talk(client, "told", days_ago=0)
    summaries(tenant_id, ["superseded", "superseded", "active"])
    newest_alone = FOR_EVER.model_copy(update={"retain_summary_versions": 1})
    with engine.begin() as writer:
        writer.execute(text("select 1 from session where session_id = 'told' for no key update"))
        assert "summaries" not in run(newest_alone)
    assert "2 summaries" in run(newest_alone)


class TestWishes:
    def test_what_is_put_is_in_force_and_the_rest_follows_the_settings(self, client: TestClient) -> None:
        answer = client.put("/v1/retention", json={"session_days": 90})
        assert answer.status_code == 200, answer.text
        assert answer.json()["wished"]["session_days"] == 90
        assert answer.json()["in_force"] == {
            "session_days": 90,
            "plan_days": 0,
            "ledger_days": 400,
            "summary_versions": 50,
        }
        assert client.get("/v1/retention").json() == answer.json()
        assert client.put("/v1/retention", json={}).json()["wished"]["session_days"] is None

    @pytest.mark.parametrize(
        "wish", [{"session_days": -1}, {"ledger_days": 1}, {"plan_days": 36_501}, {"days": 3}]
    )
    def test_a_wish_that_makes_no_sense_is_refused_and_changes_nothing(
        self, client: TestClient, tenant_id: UUID, wish: dict[str, int]
    ) -> None:
        answer = client.put("/v1/retention", json=wish)
        assert answer.status_code == 422
        assert next(iter(wish)) in answer.json()["detail"]
        with session.read_transaction() as db:
            assert find_retention(Scope(db, tenant_id)) == Retention()

    def test_a_key_needs_the_scope_of_an_administrator(self, client: TestClient, tenant_id: UUID) -> None:
        headers = {"Authorization": f"Bearer {make_key(tenant_id, 'read', 'write')}"}
        assert client.put("/v1/retention", json={"session_days": 1}, headers=headers).status_code == 403
        assert client.get("/v1/retention", headers=headers).status_code == 200

"""What Prometheus is told: of queues, roles, models, money and requests; to whom; and at what cost."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from api.settings import api_settings
from llm.pricing import count_call, count_denial
from llm.requests import CompletionRequest, Purpose
from models import database as session
from models.conversations.settings import compression_settings
from models.due_work.heartbeat import beat
from models.due_work.queue import WorkKind, claim, enqueue, retry_later
from models.ledger.call import Reservation, Settlement, reserve
from models.ledger.caps import Caps, Denial
from models.providers.circuit_breaker import BreakerRules, note_failure
from models.scope import Scope
from models.snapshot import sum_spend, take_snapshot
from tests.integration.activating import Chat
from tests.integration.summarizing import Model
from tests.integration.watching import Page, forget_counts, local, scrape

pytestmark = pytest.mark.usefixtures("one_day")

GARBAGE = "I'm sorry, but I can't help with that."
TOKEN = "0123456789abcdef0123"


@pytest.fixture
def app(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The application, which asks Postgres at every scrape, with nothing counted yet."""
    monkeypatch.setenv("AFTERTURN_METRICS_CACHE_S", "0")
    api_settings.cache_clear()
    forget_counts()
    yield client.app
    api_settings.cache_clear()


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """An empty session; a summary is called for above 6 messages."""
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_MESSAGE_COUNT", "6")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_SHARE", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_LEAST_TOKENS", "0")
    monkeypatch.setenv("AFTERTURN_SUMMARIZE_KEEP_MESSAGES", "2")
    compression_settings.cache_clear()
    yield Chat(client, tenant_id)
    compression_settings.cache_clear()


def work_id(tenant_id: UUID, key: str, *, delay_s: float = 0) -> int:
    """Work that is asked for, and its id."""
    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, key, delay_s=delay_s)
        found = db.execute(text("select work_id from due_work where key = :key"), {"key": key})
        return int(found.scalar_one())


def fail(number: int, *, max_attempts: int | None) -> None:
    """Take work and put it off, or give it up."""
    with session.transaction() as db:
        held = claim(db, number, lease_s=20, max_crashes=3)
        assert held is not None
        assert retry_later(db, held, "a fault", delay_s=600, max_attempts=max_attempts)


def test_work_is_counted_by_kind_and_state_with_the_age_of_the_oldest(app: Any, tenant_id: UUID) -> None:
    work_id(tenant_id, "due")
    work_id(tenant_id, "later", delay_s=600)
    fail(work_id(tenant_id, "put off"), max_attempts=None)
    fail(work_id(tenant_id, "dead"), max_attempts=1)
    taken = [work_id(tenant_id, key) for key in ("running", "lost")]
    with session.transaction() as db:
        assert all(claim(db, number, lease_s=20, max_crashes=3) for number in taken)
        db.execute(text("update due_work set lease_until = now() - interval '1 s' where key = 'lost'"))
        db.execute(text("update due_work set due_at = now() - interval '90 s' where key = 'due'"))
    page = scrape(app)
    states = ("due", "later", "put-off", "dead", "running", "lost")
    assert {state: page.value("work", kind="summarize", state=state) for state in states} == dict.fromkeys(
        states, 1.0
    )
    assert 90 <= page.value("work_oldest_due_seconds", kind="summarize") < 180
    assert page.value("work_is_cut") == 0


def test_work_that_nobody_takes_after_its_worker_died_grows_old(app: Any, tenant_id: UUID) -> None:
    number = work_id(tenant_id, "lost")
    with session.transaction() as db:
        assert claim(db, number, lease_s=20, max_crashes=3)
    assert "afterturn_work_oldest_due_seconds" not in scrape(app).names()
    with session.transaction() as db:
        db.execute(text("update due_work set due_at = now() - interval '1 h'"))
        db.execute(text("update due_work set lease_until = now() - interval '400 s'"))
    assert 400 <= scrape(app).value("work_oldest_due_seconds", kind="summarize") < 490


def test_a_backlog_beyond_the_bound_is_said_to_be_one(tenant_id: UUID) -> None:
    for key in ("a", "b", "c"):
        work_id(tenant_id, key)
    with session.read_transaction() as db:
        snapshot = take_snapshot(db, now=datetime.now(UTC), most_work=2)
    assert (snapshot.is_cut, [one.count for one in snapshot.work]) == (True, [2])


def test_a_role_is_alive_by_its_own_signs(app: Any) -> None:
    with session.transaction() as db:
        beat(db, "worker", "here:1", {"summarizer": "m1", "planner": "m2"})
        beat(db, "worker", "here:2", {"summarizer": "m1", "planner": "m2"})
        beat(db, "beat", "here:3")
        db.execute(text("update heartbeat set seen_at = now() - interval '5 min' where role = 'beat'"))
    page = scrape(app)
    assert (page.value("role_alive", role="worker"), page.value("role_alive", role="beat")) == (2, 0)
    assert 300 <= page.value("role_last_seen_seconds", role="beat") < 400
    assert page.value("models_in_use", summarizer="m1", planner="m2") == 1


def test_an_open_breaker_is_seen(app: Any) -> None:
    rules = BreakerRules(failures=3, open_s=60, open_max_s=600, park_s=900)
    with session.transaction() as db:
        note_failure(db, "m1", reason="bad key", now=datetime.now(UTC), rules=rules, parks=True)
    assert scrape(app).value("model_breaker", model="m1", state="open") == 1


def test_the_fullest_cap_is_a_share_of_what_one_tenant_may_spend(tenant_id: UUID) -> None:
    now, caps = datetime.now(UTC), Caps(tenant_usd_per_day=Decimal(10))
    with session.transaction() as db:
        for usd in (3, 5):
            reserve(db, Reservation(tenant_id, "summary", "m", 100, Decimal(usd)), caps=caps, now=now)
    with session.read_transaction() as db:
        spend = sum_spend(db, caps, now=now)
    assert (spend.usd, spend.tokens, spend.fullest) == (Decimal(8), 200, {"usd": 0.8})


def test_a_call_whose_price_is_unknown_is_counted_apart(app: Any, tenant_id: UUID) -> None:
    asked = CompletionRequest(tenant_id, Purpose.SUMMARIZE, "m", [], 9, 9)
    count_call(asked, Settlement(0.5, input_tokens=9, output_tokens=3))
    count_call(asked, Settlement(0.5, input_tokens=9, output_tokens=3, price_usd=Decimal("0.25")))
    count_call(asked, Settlement(0.5, failure="timeout"))
    count_denial(Denial("tenant", "usd", 9, 2, 10))
    page, place = scrape(app), {"purpose": "summarize", "model": "m"}
    assert page.value("llm_calls_total", **place, outcome="ok") == 2
    assert page.value("llm_calls_total", **place, outcome="timeout") == 1
    assert page.value("llm_tokens_total", **place, direction="input") == 18
    assert page.value("llm_spend_usd_total", **place) == 0.25
    assert page.value("llm_unpriced_calls_total", **place) == 1
    assert page.value("llm_calls_denied_total", scope="tenant", unit="usd") == 1


def test_a_context_counts_who_planned_its_artifacts(app: Any, chat: Chat) -> None:
    chat.say(1)
    document = {
        "content": "\n\n".join(f"Crane {n} stands idle at berth {n}." for n in range(900)),
        "title": "log",
    }
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Which crane stands idle?"}]}
    path = f"/v1/sessions/{chat.session_id}/context"
    answer = chat.client.post(
        path, json={**request, "context_window": 3_000, "max_tokens": 300, "attachments": [document]}
    )
    assert answer.status_code == 200, answer.text
    assert scrape(app).value("artifact_planning_total", outcome="too-late") == 1


def test_a_conversation_leaves_its_numbers(app: Any, chat: Chat) -> None:
    chat.say(5)
    chat.pass_by(4_000)
    assert chat.work_off().startswith("activated")
    chat.read()
    page = scrape(app)
    assert page.value("turns_total") == 5
    assert page.value("summaries_total", outcome="activated", reason="") == 1
    assert page.value("work_finished_total", kind="summarize", outcome="done") == 1
    assert page.value("contexts_total", summary="yes") == 1
    assert page.value("context_tokens_total", part="saved") > 0
    assert sum(value for (name, _), value in page.samples.items() if name == "afterturn_preflight_total") == 1


def test_a_turn_that_comes_twice_is_one_turn(app: Any, chat: Chat) -> None:
    chat.say()
    chat.count = 0
    chat.client.post("/v1/sessions/s1/turns", json={"turn_id": "t1", "messages": []})
    assert scrape(app).value("turns_total") == 1


def test_a_rejected_summary_is_counted_with_the_reason(app: Any, chat: Chat) -> None:
    chat.say(5)
    assert chat.work_off(Model(*[GARBAGE] * 5)).startswith("rejected")
    assert scrape(app).value("summaries_total", outcome="rejected", reason="refusal") == 1


def test_requests_are_timed_by_the_template_of_their_path(app: Any, chat: Chat) -> None:
    chat.say()
    chat.client.get("/v1/sessions/another-id")
    chat.client.get("/wp-admin/secret-name")
    chat.client.request("BREW", "/healthz")
    page = scrape(app)
    counted = {key: value for key, value in page.samples.items() if key[0].endswith("request_seconds_count")}
    routes = {dict(labels)["route"] for _, labels in counted}
    assert routes >= {"/v1/sessions/{session_id}/turns", "/v1/sessions/{session_id}", "none"}
    assert page.value("http_request_seconds_count", method="GET", route="none", status="4xx") == 1
    assert page.value("http_request_seconds_count", method="none", route="/healthz", status="4xx") == 1
    assert not [name for name in routes if "another-id" in name or "secret" in name or "s1" in name]


def test_no_tenant_and_no_session_is_named(app: Any, chat: Chat) -> None:
    chat.say(5)
    chat.work_off()
    chat.read()
    told = {value for _, labels in scrape(app).samples for _, value in labels}
    assert told.isdisjoint({"s1", "first", str(chat.tenant_id)})


def test_without_a_token_only_this_machine_is_answered(app: Any) -> None:
    assert local(app).get("/metrics").status_code == 200
    assert local(app, "::1").get("/metrics").status_code == 200
    assert local(app, "::ffff:127.0.0.1").get("/metrics").status_code == 200
    assert local(app, "10.0.0.7").get("/metrics").status_code == 403
    assert local(app, "testclient").get("/metrics").status_code == 403


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_a_proxy_on_this_machine_does_not_make_its_callers_local(app: Any, header: str) -> None:
    assert local(app).get("/metrics", headers={header: "127.0.0.1"}).status_code == 403


def test_with_a_token_only_the_token_opens_it(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_METRICS_TOKEN", TOKEN)
    api_settings.cache_clear()
    far = local(app, "10.0.0.7")
    assert far.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert far.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}x"}).status_code == 401
    assert far.get("/metrics", headers={b"Authorization": "Bearer schlüssel".encode()}).status_code == 401
    assert local(app).get("/metrics").status_code == 401


def test_a_tenants_key_does_not_open_it(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_METRICS_TOKEN", TOKEN)
    api_settings.cache_clear()
    assert client.get("/metrics").status_code == 401
    api_settings.cache_clear()


def test_scrapes_within_a_moment_read_postgres_once(
    app: Any, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_METRICS_CACHE_S", "60")
    api_settings.cache_clear()
    assert scrape(app).value("work", kind="summarize", state="due") == 0
    work_id(tenant_id, "new")
    assert scrape(app).value("work", kind="summarize", state="due") == 0


def test_a_database_that_is_away_is_said_and_the_rest_still_answered(app: Any, engine: Engine) -> None:
    local(app).get("/healthz")
    with engine.begin() as db:
        db.execute(text("alter table due_work rename to due_work_away"))
    try:
        page = Page(local(app).get("/metrics").text)
    finally:
        with engine.begin() as db:
            db.execute(text("alter table due_work_away rename to due_work"))
    assert page.value("database_up") == 0
    assert "afterturn_work" not in page.names()
    assert "afterturn_http_request_seconds_count" in page.names()

"""The gateway over real HTTP: litellm itself is under test, against a model that can answer wrongly."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, select, text

from context.conversation.transcript import LineKind, RenderedLine
from context.providers.profiles import ProfileOverride
from context.summary.prompt import SummaryInput
from context.types import Role
from llm.call import (
    LEAST_LIMIT_BYTES,
    LEAST_LIMIT_CHARS,
    MOST_BYTES_PER_TOKEN,
    MOST_CHARS_PER_TOKEN,
    run_with_deadline,
)
from llm.failures import Cause, FailureKind, LlmFailure
from llm.gateway import Gateway
from llm.requests import CompletionRequest, Purpose
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import EXTRACTIVE, LlmSettings, Rates
from models import database as session
from models.catalogs.model_profile import set_override
from models.ledger.call import LlmCall, Reservation, Settlement, reserve, settle
from models.ledger.caps import BudgetDeniedError, Caps
from models.providers.circuit_breaker import ProviderGate, ProviderParkedError
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import plant_work
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("one_day")

SECRET_KEY = "sk-verysecret0123456789"
PROMPT = "Deploy build 4711 from /srv/app/release.toml to berlin-3 before Friday, said Ana."

MODEL = "openai/scripted"

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(default=Step(Mode.OK)) as scripted:
        yield scripted


@pytest.fixture
def tenant(empty_db: Engine) -> UUID:
    """A tenant with the session and the work of the questions here."""
    with empty_db.begin() as db:
        tenant_id = ensure_tenant(db, "acme")
        plant_work(db, tenant_id, "s-1", 5)
        return tenant_id


@pytest.fixture
def ask(server: ScriptedServer, tenant: UUID) -> Ask:
    """Ask through a gateway of its own; keyword arguments change its settings or the request."""
    server.reset()

    def complete(*steps: Step | Mode, caps: Caps | None = None, request: Any = None, **settings: Any) -> Any:
        server.next(*steps)
        in_force = LlmSettings(
            llm_api_base=server.base_url, llm_api_key=SECRET_KEY, llm_breaker_failures=3, **settings
        )
        return Gateway(in_force, caps or Caps()).complete(request or question(tenant))

    return complete


def question(tenant: UUID, model: str = MODEL, **fields: Any) -> CompletionRequest:
    asked: dict[str, Any] = {"session_id": "s-1", "work_id": 5, **fields}
    return CompletionRequest(
        tenant_id=tenant,
        purpose=Purpose.SUMMARIZE,
        model=model,
        messages=[{"role": "user", "content": PROMPT}],
        max_output_tokens=100,
        input_tokens=20,
        **asked,
    )


def calls(engine: Engine) -> list[LlmCall]:
    with engine.begin() as db:
        rows = db.execute(select(LlmCall.__table__).order_by(LlmCall.call_id)).mappings().all()
    return [LlmCall(**row) for row in rows]


def test_an_answer_comes_with_its_usage_and_its_row(ask: Ask, empty_db: Engine) -> None:
    reply = ask(Step(Mode.OK, cached_tokens=7, reasoning_tokens=3))
    row = calls(empty_db)[0]
    assert (reply.text, reply.finish_reason, reply.model) == ("ok", "stop", MODEL)
    assert (row.call_id, row.state, row.session_id, row.work_id) == (reply.call_id, "ok", "s-1", 5)
    assert (row.input_tokens, row.cached_tokens) == (reply.usage.input_tokens, 7)
    assert (row.output_tokens, row.reasoning_tokens) == (reply.usage.output_tokens, 3)
    assert row.charged_tokens == reply.usage.input_tokens + reply.usage.output_tokens


def test_a_count_that_none_can_be_is_unknown_and_the_answer_is_kept(ask: Ask, empty_db: Engine) -> None:
    """Providers have told of more tokens than a column holds: the answer was paid for all the same."""
    reply = ask(Step(Mode.OK, reasoning_tokens=3_000_000_000))
    row = calls(empty_db)[0]
    assert (reply.text, row.state) == ("ok", "ok")
    assert (row.output_tokens, row.reasoning_tokens, row.price_usd) == (None, None, None)
    assert row.input_tokens == reply.usage.input_tokens
    assert row.charged_tokens > 0


NO_SETTLEMENT = """
create function no_settlement() returns trigger language plpgsql as
    'begin raise exception ''the ledger takes nothing''; end';
create trigger no_settlement before update on llm_call for each row execute function no_settlement()
"""


def test_an_answer_outlives_a_ledger_that_refuses_its_end(ask: Ask, empty_db: Engine) -> None:
    """A sweep closes the row later, and it keeps its charge."""
    with empty_db.begin() as db:
        db.execute(text(NO_SETTLEMENT))
    try:
        assert ask(Mode.OK).text == "ok"
    finally:
        with empty_db.begin() as db:
            db.execute(text("drop trigger no_settlement on llm_call; drop function no_settlement()"))
    assert calls(empty_db)[0].state == "reserved"


def test_an_answer_that_was_on_its_way_does_not_lift_a_rate_limit(
    ask: Ask, server: ScriptedServer, empty_db: Engine
) -> None:
    server.next(Mode.HANG)
    early = threading.Thread(target=ask, name="early")
    early.start()
    wait_until(lambda: server.requests, within_s=30, what="the first is on its way")
    with pytest.raises(LlmFailure):
        ask(Step(Mode.RATE_LIMITED, retry_after_s=60))
    server.release()
    early.join()
    assert [call.state for call in calls(empty_db)] == ["ok", "failed"]
    with pytest.raises(ProviderParkedError):
        ask()


def test_the_price_of_an_unknown_model_is_unknown_and_not_zero(ask: Ask, empty_db: Engine) -> None:
    reply = ask(Mode.OK)
    row = calls(empty_db)[0]
    assert (reply.price_usd, row.price_usd) == (None, None)
    assert row.charged_usd > 0


def test_the_price_of_a_known_model_comes_from_the_local_map(ask: Ask, tenant: UUID) -> None:
    reply = ask(Mode.SUMMARY, request=question(tenant, "gpt-4o-mini"))
    usage = reply.usage
    expected = (usage.input_tokens * Decimal("0.15") + usage.output_tokens * Decimal("0.6")) / 1_000_000
    assert abs(reply.price_usd - expected) < Decimal("1e-9")


def test_a_declared_price_wins(ask: Ask) -> None:
    rates = {MODEL: Rates(input=Decimal(10), output=Decimal(0))}
    reply = ask(Mode.OK, llm_prices=rates)
    assert reply.price_usd == Decimal(reply.usage.input_tokens) * 10 / 1_000_000


def test_a_model_costs_what_the_tenants_profile_says(ask: Ask, empty_db: Engine, tenant: UUID) -> None:
    own = ProfileOverride("openai/scripted", input_usd=Decimal(20), output_usd=Decimal(0))
    with empty_db.begin() as db:
        set_override(Scope(db, tenant), own)
        set_override(Scope(db, ensure_tenant(db, "other")), replace(own, input_usd=Decimal(7)))
    reply = ask(Mode.OK, llm_prices={MODEL: Rates(input=Decimal(10), output=Decimal(0))})
    row = calls(empty_db)[0]
    assert reply.price_usd == Decimal(reply.usage.input_tokens) * 20 / 1_000_000
    assert (row.price_usd, row.charged_usd) == (reply.price_usd, reply.price_usd)


def test_a_cap_reserves_what_the_tenants_profile_says(ask: Ask, empty_db: Engine, tenant: UUID) -> None:
    with empty_db.begin() as db:
        set_override(
            Scope(db, tenant), ProfileOverride(MODEL, input_usd=Decimal(0), output_usd=Decimal(1_000_000))
        )
    with pytest.raises(BudgetDeniedError) as denied:
        ask(caps=Caps(tenant_usd_per_day=Decimal(99)))
    assert denied.value.denial.wanted == 100


EVERY_FAILURE = [
    (Mode.RATE_LIMITED, FailureKind.RETRY_AFTER, Cause.RATE_LIMIT),
    (Mode.OUT_OF_QUOTA_429, FailureKind.QUOTA, Cause.BILLING),
    (Mode.OUT_OF_QUOTA, FailureKind.QUOTA, Cause.BILLING),
    (Mode.SERVER_ERROR, FailureKind.RETRY_BACKOFF, Cause.SERVER),
    (Mode.UNAVAILABLE, FailureKind.RETRY_BACKOFF, Cause.SERVER),
    (Mode.RESET, FailureKind.RETRY_BACKOFF, Cause.CONNECTION),
    (Mode.TRUNCATED_JSON, FailureKind.MALFORMED, Cause.BAD_RESPONSE),
    (Mode.NO_CHOICES, FailureKind.EMPTY, Cause.NO_CHOICES),
    (Mode.EMPTY, FailureKind.EMPTY, Cause.NO_CONTENT),
    (Mode.REASONED_AWAY, FailureKind.EMPTY, Cause.NO_CONTENT),
    (Mode.TOOL_CALL, FailureKind.EMPTY, Cause.NO_CONTENT),
    (Mode.CUT_OFF, FailureKind.TRUNCATED, Cause.OUTPUT_CAP),
    (Mode.CONTENT_FILTER, FailureKind.REFUSED, Cause.CONTENT_FILTER),
    (Mode.CONTEXT_LENGTH, FailureKind.SHRINK_INPUT, Cause.CONTEXT_LENGTH),
    (Mode.BAD_KEY, FailureKind.PERMANENT, Cause.AUTH),
    (Mode.FORBIDDEN, FailureKind.PERMANENT, Cause.AUTH),
    (Mode.MISSING_MODEL, FailureKind.PERMANENT, Cause.MISSING_MODEL),
    (Mode.BAD_REQUEST, FailureKind.PERMANENT, Cause.INVALID_REQUEST),
]


@pytest.mark.parametrize("failure", EVERY_FAILURE, ids=lambda failure: failure[0])
def test_every_failure_is_typed_settled_and_asked_once(
    ask: Ask, server: ScriptedServer, empty_db: Engine, failure: tuple[Mode, FailureKind, Cause]
) -> None:
    mode, kind, cause = failure
    with pytest.raises(LlmFailure) as failed:
        ask(mode)
    assert (failed.value.kind, failed.value.cause) == (kind, cause)
    assert server.count == 1
    assert [(row.state, row.failure) for row in calls(empty_db)] == [("failed", cause)]


@pytest.mark.parametrize(
    "mode",
    [
        Mode.REFUSAL,
        Mode.WRONG_LANGUAGE,
        Mode.ERROR_TEXT,
        Mode.TOOL_CALL_TEXT,
        Mode.FENCED,
        Mode.THINK_UNCLOSED,
    ],
)
def test_words_are_handed_on_as_they_came_for_the_gate_to_judge(ask: Ask, mode: Mode) -> None:
    assert ask(mode).text.strip()


def test_words_come_without_what_no_database_holds(ask: Ask) -> None:
    assert ask(Step(Mode.OK, text="a\0b")).text == "ab"


def test_a_rate_limit_says_how_long_to_wait(ask: Ask) -> None:
    with pytest.raises(LlmFailure) as failed:
        ask(Step(Mode.RATE_LIMITED, retry_after_s=17))
    assert failed.value.retry_after_s == 17


def test_an_overflow_tells_the_real_window(ask: Ask) -> None:
    with pytest.raises(LlmFailure) as failed:
        ask(Mode.CONTEXT_LENGTH)
    assert failed.value.limit_tokens == 8192


def test_an_answer_without_words_is_still_paid_for(ask: Ask, empty_db: Engine) -> None:
    with pytest.raises(LlmFailure):
        ask(Step(Mode.REASONED_AWAY, reasoning_tokens=50))
    assert calls(empty_db)[0].reasoning_tokens == 50


def test_a_refused_call_is_not_charged(ask: Ask, empty_db: Engine) -> None:
    with pytest.raises(LlmFailure):
        ask(Mode.BAD_KEY)
    row = calls(empty_db)[0]
    assert (row.charged_tokens, row.charged_usd) == (0, Decimal(0))


@pytest.mark.parametrize("mode", [Mode.HANG, Mode.DRIP, Mode.DRIP_HEADERS])
def test_the_deadline_holds_on_the_clock_whatever_arrives(ask: Ask, empty_db: Engine, mode: Mode) -> None:
    ask(Mode.OK)  # the import is not what is measured
    started_s = time.monotonic()
    with pytest.raises(LlmFailure) as failed:
        ask(Step(mode, drip_s=15), **deadline(0.5))
    assert time.monotonic() - started_s < 10
    assert (failed.value.kind, failed.value.cause) == (FailureKind.RETRY_BACKOFF, Cause.TIMEOUT)
    assert calls(empty_db)[-1].charged_tokens == 120


def deadline(seconds: float) -> dict[str, float]:
    return {"llm_deadline_base_s": seconds, "llm_deadline_max_s": seconds, "llm_connect_timeout_s": seconds}


def test_a_late_answer_after_the_deadline_settles_nothing_twice(
    ask: Ask, server: ScriptedServer, empty_db: Engine
) -> None:
    earlier = running_calls()
    with pytest.raises(LlmFailure):
        ask(Mode.HANG, **deadline(0.3))
    server.release()
    wait_until(lambda: running_calls() <= earlier, within_s=30, what="the late answer has come to nobody")
    ask(Mode.OK)
    assert [row.state for row in calls(empty_db)] == ["failed", "ok"]


@pytest.mark.parametrize("mode", [Mode.BAD_KEY, Mode.BAD_REQUEST, Mode.SERVER_ERROR, Mode.CONTEXT_LENGTH])
def test_an_error_text_holds_neither_the_prompt_nor_the_key(ask: Ask, empty_db: Engine, mode: Mode) -> None:
    with pytest.raises(LlmFailure) as failed:
        ask(Step(mode, text=f"Cannot use key {SECRET_KEY} for the prompt: {PROMPT}"))
    kept = calls(empty_db)[0].detail
    assert kept
    stored = f"{failed.value} {failed.value.detail} {kept}"
    assert SECRET_KEY not in stored
    assert "berlin" not in stored
    assert "4711" not in stored
    assert failed.value.__context__ is None


def test_a_bad_key_parks_the_model_for_everybody(ask: Ask, server: ScriptedServer, empty_db: Engine) -> None:
    with pytest.raises(LlmFailure):
        ask(Mode.BAD_KEY)
    with pytest.raises(ProviderParkedError, match="auth"):
        ask(Mode.OK)
    assert server.count == 1
    assert len(calls(empty_db)) == 1


def test_an_outage_opens_the_breaker_after_its_limit(ask: Ask, server: ScriptedServer) -> None:
    for _ in range(3):
        with pytest.raises(LlmFailure):
            ask(Mode.SERVER_ERROR)
    with pytest.raises(ProviderParkedError):
        ask(Mode.OK)
    assert server.count == 3


@pytest.mark.parametrize("mode", [Mode.CONTEXT_LENGTH, Mode.EMPTY, Mode.CUT_OFF, Mode.BAD_REQUEST])
def test_a_question_at_fault_does_not_park_the_model(ask: Ask, mode: Mode) -> None:
    for _ in range(4):
        with pytest.raises(LlmFailure):
            ask(mode)
    assert ask(Mode.OK).text == "ok"


def test_a_used_up_cap_denies_before_anything_is_sent(
    ask: Ask, server: ScriptedServer, empty_db: Engine
) -> None:
    caps = Caps(session_tokens_per_day=200)
    small = {"summarizer_window_tokens": 1000, "summarizer_max_output_tokens": 100}
    windows = {**small, "planner_window_tokens": 1000, "planner_max_output_tokens": 100}
    with pytest.raises(ValueError, match="AFTERTURN_SESSION_TOKENS_PER_DAY"):
        ask(caps=caps, **windows)
    with pytest.raises(BudgetDeniedError):
        ask(caps=Caps(session_usd_per_day=Decimal("0.001")))
    assert server.count == 0
    assert calls(empty_db) == []


def test_a_denied_call_does_not_use_up_the_probe(ask: Ask) -> None:
    with pytest.raises(LlmFailure):
        ask(Mode.BAD_KEY, llm_park_s=0.001)
    with suppress(BudgetDeniedError):
        ask(caps=Caps(session_usd_per_day=Decimal("0.001")))
    assert ask(Mode.OK).text == "ok"


@pytest.mark.parametrize("mode", [Mode.BAD_KEY, Mode.SERVER_ERROR, Mode.RATE_LIMITED, Mode.OUT_OF_QUOTA])
def test_a_fallback_answers_where_the_model_is_down(ask: Ask, empty_db: Engine, mode: Mode) -> None:
    reply = ask(mode, Mode.OK, llm_fallback_models="openai/other")
    assert reply.model == "openai/other"
    assert [(row.model, row.state) for row in calls(empty_db)] == [(MODEL, "failed"), ("openai/other", "ok")]


def test_a_parked_model_goes_straight_to_its_fallback(ask: Ask, server: ScriptedServer) -> None:
    with pytest.raises(LlmFailure):
        ask(Mode.BAD_KEY)
    assert ask(Mode.OK, llm_fallback_models="openai/other").model == "openai/other"
    assert [seen.model for seen in server.requests] == ["scripted", "other"]


def test_a_fallback_is_not_asked_where_the_question_is_at_fault(ask: Ask, server: ScriptedServer) -> None:
    with pytest.raises(LlmFailure):
        ask(Mode.CONTEXT_LENGTH, llm_fallback_models="openai/other")
    assert server.count == 1


def test_what_is_sent_is_what_was_asked(ask: Ask, server: ScriptedServer, tenant: UUID) -> None:
    ask(Mode.OK, request=question(tenant, response_format={"type": "json_object"}))
    body = server.requests[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("scripted", 0, 100)
    assert body["messages"] == [{"role": "user", "content": PROMPT}]
    assert body["response_format"] == {"type": "json_object"}
    assert not body.get("stream")


@pytest.mark.parametrize("name", ["local-model", "meta-llama/llama-local"])
def test_a_name_without_a_provider_works_at_an_own_server(
    ask: Ask, server: ScriptedServer, tenant: UUID, name: str
) -> None:
    ask(Mode.OK, request=question(tenant, name))
    assert server.requests[0].model == name


def test_a_name_without_a_provider_and_without_a_server_is_a_missing_model(tenant: UUID) -> None:
    with pytest.raises(LlmFailure) as failed:
        Gateway(LlmSettings(), Caps()).complete(question(tenant, "no-such-model-anywhere"))
    assert failed.value.cause is Cause.MISSING_MODEL


def test_a_model_without_its_key_says_so(tenant: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(LlmFailure) as failed:
        Gateway(LlmSettings(), Caps()).complete(question(tenant, "gpt-4o-mini"))
    assert failed.value.cause is Cause.AUTH


class SoftLimitError(Exception):
    """Stands for what a worker raises out of a signal handler when a task takes too long."""


def raise_soft_limit(_signal: int, _frame: object) -> None:
    raise SoftLimitError


def strike(server: ScriptedServer) -> None:
    """Interrupt the second call while the model is at it."""
    wait_until(lambda: server.count == 2, within_s=30, what="the call is on its way")
    os.kill(os.getpid(), signal.SIGUSR1)


def test_a_call_interrupted_by_a_signal_is_settled_as_interrupted(
    ask: Ask, server: ScriptedServer, empty_db: Engine
) -> None:
    ask(Mode.OK)
    before = signal.signal(signal.SIGUSR1, raise_soft_limit)
    striker = threading.Thread(target=strike, args=(server,))
    striker.start()
    with pytest.raises(SoftLimitError):
        ask(Mode.HANG)
    striker.join()
    server.release()
    signal.signal(signal.SIGUSR1, before)
    row = calls(empty_db)[1]
    assert (row.state, row.failure, row.charged_tokens) == ("failed", "interrupted", 120)


@pytest.mark.parametrize("mode", [Mode.HANG, Mode.DRIP])
def test_the_thread_left_behind_ends_soon_after_the_deadline(ask: Ask, mode: Mode) -> None:
    earlier = running_calls()
    with pytest.raises(LlmFailure):
        ask(Step(mode, drip_s=60), **deadline(0.3))
    wait_until(lambda: running_calls() <= earlier, within_s=60, what="the call's thread ends")


def running_calls() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "llm-call"}


def line(seq: int, text: str) -> RenderedLine:
    return RenderedLine(seq, LineKind.TEXT, Role.USER, "Ana (user)", text, seq)


def test_the_built_in_model_answers_free_of_charge_and_says_its_name(
    ask: Ask, server: ScriptedServer, empty_db: Engine, tenant: UUID
) -> None:
    asked = SummaryInput(tuple(line(seq, f"{PROMPT} Step {seq}.") for seq in range(1, 9)), 200, "en")
    reply = ask(request=question(tenant, EXTRACTIVE, summary_input=asked))
    row = calls(empty_db)[0]
    assert "4711" in reply.text
    assert (reply.model, reply.answered_by, reply.price_usd) == (EXTRACTIVE, EXTRACTIVE, 0)
    assert (row.state, row.charged_tokens) == ("ok", 0)
    assert (row.price_usd, row.charged_usd) == (Decimal(0), Decimal(0))
    assert server.count == 0


def test_the_built_in_model_says_what_it_cannot_do(ask: Ask, tenant: UUID) -> None:
    with pytest.raises(LlmFailure) as failed:
        ask(request=question(tenant, EXTRACTIVE))
    assert failed.value.cause is Cause.INVALID_REQUEST


def test_no_row_of_the_ledger_holds_words_of_the_conversation(ask: Ask, empty_db: Engine) -> None:
    with suppress(LlmFailure):
        ask(Step(Mode.BAD_REQUEST, text=PROMPT))
    with empty_db.begin() as db:
        rows = db.execute(select(LlmCall.__table__)).mappings().all()
    assert "berlin" not in json.dumps([dict(row) for row in rows], default=str)


def test_what_a_provider_said_to_one_tenant_is_not_kept_for_all(ask: Ask, empty_db: Engine) -> None:
    """The breaker of a model is everybody's, and no erasure of a tenant's rows reaches it."""
    with pytest.raises(LlmFailure) as failed:
        ask(Step(Mode.SERVER_ERROR, text="no room for Zanzibar"))
    assert "Zanzibar" in failed.value.message
    with empty_db.begin() as db:
        reason = db.execute(select(ProviderGate.reason)).scalar_one()
    assert reason == "retry-backoff (server)"


MOST_CHARS = LEAST_LIMIT_CHARS + 100 * MOST_CHARS_PER_TOKEN
MOST_BYTES = LEAST_LIMIT_BYTES + 100 * MOST_BYTES_PER_TOKEN


@pytest.mark.parametrize("chars", [MOST_CHARS - 1, MOST_CHARS])
def test_an_answer_may_be_somewhat_longer_than_was_asked(ask: Ask, chars: int) -> None:
    assert len(ask(Step(Mode.OK, text="x" * chars)).text) == chars


@pytest.mark.parametrize("chars", [MOST_CHARS + 1, LEAST_LIMIT_BYTES // 2, MOST_BYTES + 1, 22 * 2**20])
def test_an_answer_of_many_times_what_was_asked_is_refused_unread(
    ask: Ask, empty_db: Engine, chars: int
) -> None:
    """To judge one of 22 MB took seven minutes, and the lease ran out meanwhile."""
    with pytest.raises(LlmFailure) as failed:
        ask(Step(Mode.OK, text="- padding\n" * (chars // 10) + "x" * (chars % 10)))
    assert (failed.value.kind, failed.value.cause) == (FailureKind.TRUNCATED, Cause.TOO_LONG)
    assert not failed.value.transient
    [row] = calls(empty_db)
    assert (row.state, row.failure) == ("failed", "too-long")
    assert row.charged_tokens > 0
    assert "padding" not in str(row.detail)


def test_a_deadline_is_longer_after_one_that_was_not_kept(server: ScriptedServer, tenant: UUID) -> None:
    """The same call with the same deadline would be cut at the same place, and paid for again."""
    settings = slow_settings(server)
    server.reset()
    server.next(Mode.HANG, Mode.HANG)
    details = []
    for _ in range(2):
        with pytest.raises(LlmFailure) as failed:
            Gateway(settings, Caps()).complete(question(tenant))
        details.append(failed.value.detail)
    server.release()
    assert details == ["no answer within 2 s", "no answer within 4 s"], "each worker knows of the others"
    assert Gateway(settings, Caps())._deadline_s(question(tenant)) == pytest.approx(8)


def test_a_wire_that_ends_before_the_waiting_tells_of_the_same_deadline(
    server: ScriptedServer, tenant: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the thread that waits wakes up late, and the wire has given up by then."""
    waits = run_with_deadline
    monkeypatch.setattr("llm.call.run_with_deadline", lambda work, deadline_s: waits(work, deadline_s + 30))
    server.reset()
    server.next(Mode.HANG)
    with pytest.raises(LlmFailure) as failed:
        Gateway(slow_settings(server), Caps()).complete(question(tenant))
    server.release()
    assert (failed.value.cause, failed.value.detail) == (Cause.TIMEOUT, "no answer within 2 s")


@pytest.mark.parametrize(
    ("ends", "deadline_s"),
    [
        ([("timeout", 7), ("timeout", 7)], 8.0),
        ([("timeout", 7), (None, 7)], 2.0),
        ([("timeout", 7), ("no-content", 7)], 2.0),
        ([("timeout", 7), ("server", 7), ("interrupted", 7), ("rate-limit", 7)], 4.0),
        ([("timeout", 7), ("timeout", 7), *[(None, 8)] * 25], 8.0),
        ([("timeout", 7), (None, 8), (None, 9)], 4.0),
        ([("timeout", 8), ("timeout", 9)], 8.0),
        ([("timeout", 8), (None, 9)], 2.0),
    ],
)
def test_a_deadline_goes_by_the_newest_calls_of_the_model_or_of_the_work(
    server: ScriptedServer, tenant: UUID, ends: list[tuple[str | None, int]], deadline_s: float
) -> None:
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    asked = replace(question(tenant), work_id=7)
    for failure, work_id in ends:
        with session.transaction() as db:
            now = session.database_now(db)
            made = Reservation(tenant, asked.purpose, asked.model, 1, Decimal(0), work_id=work_id)
            call_id = reserve(db, made, caps=Caps(), now=now)
            settle(Scope(db, tenant), call_id, Settlement(1.0, failure=failure), now=now)
    gateway = Gateway(slow_settings(server), Caps())
    assert gateway._deadline_s(asked) == pytest.approx(deadline_s)
    assert gateway._deadline_s(replace(asked, tenant_id=other)) == pytest.approx(2)
    assert gateway._deadline_s(replace(asked, model="openai/else")) == pytest.approx(2)


def slow_settings(server: ScriptedServer) -> LlmSettings:
    return LlmSettings(
        llm_api_base=server.base_url,
        llm_breaker_failures=99,
        llm_output_tokens_per_s=1_000,
        llm_connect_timeout_s=1.4,
        llm_deadline_base_s=1.4,
        llm_deadline_max_s=60,
    )

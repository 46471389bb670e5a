"""A model is asked no oftener than it may be, by all workers together, and nobody who waits is forgotten."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, text

from llm.gateway import Gateway
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models.database import transaction
from models.ledger.caps import Caps
from models.providers.circuit_breaker import ProviderPacedError, take_turn
from tests.integration.test_gateway import question

NOW = datetime(2026, 3, 9, 22, 30, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def taken(db: Connection, at: datetime, *, per_minute: int = 60, model: str = "m") -> datetime | None:
    return take_turn(db, model, per_minute=per_minute, now=at)


def test_the_calls_of_ten_seconds_may_come_at_once_and_no_more(db: Connection) -> None:
    assert [taken(db, NOW) for _ in range(10)] == [None] * 10
    assert taken(db, NOW) == after(1)


def test_who_comes_in_vain_is_sent_behind_those_before(db: Connection) -> None:
    for _ in range(10):
        taken(db, NOW)
    assert [taken(db, NOW) for _ in range(4)] == [after(seconds) for seconds in (1, 2, 3, 4)]


def test_who_comes_again_when_told_has_a_call(db: Connection) -> None:
    for _ in range(10):
        taken(db, NOW)
    told = [taken(db, NOW) for _ in range(4)]
    assert [taken(db, at) for at in told if at] == [None] * 4


@pytest.mark.parametrize("per_minute", [1, 5, 6, 30])
def test_a_small_bound_admits_one_at_once(db: Connection, per_minute: int) -> None:
    burst = max(per_minute // 6, 1)
    assert [taken(db, NOW, per_minute=per_minute) for _ in range(burst)] == [None] * burst
    assert taken(db, NOW, per_minute=per_minute) == after(60 / per_minute)


def test_each_model_has_its_own(db: Connection) -> None:
    assert taken(db, NOW, per_minute=1) is None
    assert taken(db, NOW, per_minute=1) is not None
    assert taken(db, NOW, per_minute=1, model="other") is None


def test_workers_at_once_take_no_call_twice(empty_db: Engine) -> None:
    def one(_: int) -> datetime | None:
        with transaction() as db:
            return take_turn(db, "m", per_minute=60, now=NOW)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(one, range(24)))
    assert told.count(None) == 10
    assert sorted(at for at in told if at) == [after(second) for second in range(1, 15)]
    del empty_db


def test_the_gateway_asks_no_oftener_and_no_other_model_instead(tenant_id: UUID) -> None:
    with ScriptedServer(default=Step(Mode.OK)) as server:
        settings = LlmSettings(
            llm_api_base=server.base_url,
            llm_api_key="sk-x",
            llm_calls_per_minute=6,
            llm_fallback_models=("openai/other",),
        )
        asked = Gateway(settings, Caps())
        assert asked.complete(question(tenant_id)).text == "ok"
        with pytest.raises(ProviderPacedError, match="AFTERTURN_LLM_CALLS_PER_MINUTE is 6") as paced:
            asked.complete(question(tenant_id))
        assert 1 <= paced.value.retry_in_s <= 10
        assert len(server.requests) == 1
        with transaction() as db:
            assert db.execute(text("select count(*) from llm_call")).scalar_one() == 1


def test_without_a_bound_nothing_is_written(tenant_id: UUID) -> None:
    with ScriptedServer(default=Step(Mode.OK)) as server:
        asked = Gateway(LlmSettings(llm_api_base=server.base_url, llm_api_key="sk-x"), Caps())
        for _ in range(3):
            asked.complete(question(tenant_id))
    with transaction() as db:
        assert db.execute(text("select count(*) from provider_pace")).scalar_one() == 0

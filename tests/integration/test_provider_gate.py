"""The breaker of each model, on a real database."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from models.providers.circuit_breaker import (
    BreakerRules,
    GateState,
    ProviderParkedError,
    admit,
    list_gates,
    note_failure,
    note_success,
    reopen,
)

NOW = datetime(2026, 3, 9, 22, 30, tzinfo=UTC)
RULES = BreakerRules(failures=3, open_s=30, open_max_s=100, park_s=900)


def fail(
    db: Connection, *, now: datetime = NOW, parks: bool = False, retry_after_s: float | None = None
) -> None:
    note_failure(db, "m", reason="why", now=now, rules=RULES, parks=parks, retry_after_s=retry_after_s)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_model_without_failures_is_admitted(db: Connection) -> None:
    admit(db, "m", now=NOW, probe_s=60)
    assert list_gates(db, now=NOW) == []


def test_a_few_failures_do_not_open_the_breaker(db: Connection) -> None:
    fail(db)
    fail(db)
    admit(db, "m", now=NOW, probe_s=60)
    assert [(gate.state, gate.failures) for gate in list_gates(db, now=NOW)] == [(GateState.CLOSED, 2)]


def test_failures_in_a_row_open_the_breaker_briefly(db: Connection) -> None:
    for _ in range(3):
        fail(db)
    with pytest.raises(ProviderParkedError) as parked:
        admit(db, "m", now=after(29), probe_s=60)
    assert (parked.value.until, parked.value.reason) == (after(30), "why")
    assert parked.value.retry_in_s == 1


def test_an_answer_in_between_starts_the_count_anew(db: Connection) -> None:
    fail(db)
    fail(db)
    note_success(db, "m", began_at=after(1))
    fail(db)
    admit(db, "m", now=NOW, probe_s=60)


@pytest.mark.parametrize("held", [{"parks": True}, {"retry_after_s": 120}], ids=str)
def test_an_answer_that_was_on_its_way_lifts_no_limit(db: Connection, held: dict[str, Any]) -> None:
    """Calls that were begun before say nothing of what the provider wants now."""
    fail(db, **held)
    note_success(db, "m", began_at=after(-1))
    with pytest.raises(ProviderParkedError):
        admit(db, "m", now=after(100), probe_s=60)
    note_success(db, "m", began_at=after(1))
    admit(db, "m", now=after(100), probe_s=60)


def test_a_bad_key_parks_the_model_at_once_and_for_long(db: Connection) -> None:
    fail(db, parks=True)
    with pytest.raises(ProviderParkedError) as parked:
        admit(db, "m", now=after(899), probe_s=60)
    assert parked.value.until == after(900)


def test_a_rate_limit_keeps_everybody_away_for_as_long_as_it_says(db: Connection) -> None:
    fail(db, retry_after_s=20)
    with pytest.raises(ProviderParkedError):
        admit(db, "m", now=after(19), probe_s=60)
    admit(db, "m", now=after(20), probe_s=60)


def test_one_probe_at_a_time_tries_a_half_open_breaker(db: Connection) -> None:
    fail(db, parks=True)
    assert list_gates(db, now=after(901))[0].state is GateState.HALF_OPEN
    admit(db, "m", now=after(901), probe_s=60)
    with pytest.raises(ProviderParkedError) as parked:
        admit(db, "m", now=after(902), probe_s=60)
    assert parked.value.until == after(961)


def test_a_probe_that_died_does_not_park_the_model_for_ever(db: Connection) -> None:
    fail(db, parks=True)
    admit(db, "m", now=after(901), probe_s=60)
    admit(db, "m", now=after(961), probe_s=60)


def test_a_probe_that_fails_opens_the_breaker_again(db: Connection) -> None:
    fail(db, parks=True)
    admit(db, "m", now=after(901), probe_s=60)
    fail(db, now=after(902))
    with pytest.raises(ProviderParkedError):
        admit(db, "m", now=after(931), probe_s=60)


def test_a_probe_that_answers_closes_the_breaker(db: Connection) -> None:
    fail(db, parks=True)
    admit(db, "m", now=after(901), probe_s=60)
    note_success(db, "m", began_at=after(901))
    admit(db, "m", now=after(902), probe_s=60)
    assert list_gates(db, now=after(902)) == []


def test_a_shorter_wait_never_shortens_a_longer_one(db: Connection) -> None:
    fail(db, parks=True)
    fail(db, retry_after_s=1)
    with pytest.raises(ProviderParkedError) as parked:
        admit(db, "m", now=after(5), probe_s=60)
    assert parked.value.until == after(900)


def test_an_operator_can_reopen_a_parked_model(db: Connection) -> None:
    fail(db, parks=True)
    assert reopen(db, "m")
    admit(db, "m", now=NOW, probe_s=60)


def test_one_model_does_not_park_another(db: Connection) -> None:
    fail(db, parks=True)
    admit(db, "n", now=NOW, probe_s=60)


def test_two_callers_at_once_get_one_probe(empty_db: Engine) -> None:
    with empty_db.begin() as db:
        fail(db, parks=True)
    start = threading.Barrier(4)
    admitted: list[bool] = []

    def probe() -> None:
        start.wait()
        try:
            with empty_db.begin() as db:
                admit(db, "m", now=after(901), probe_s=60)
            admitted.append(True)
        except ProviderParkedError:
            pass

    threads = [threading.Thread(target=probe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert admitted == [True]

"""The simulation of the queue and the formulas beside it: nothing lost, and both agree where both hold."""

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scaling.capacity import Habits, Measured, Need, need
from benchmarks.scaling.meter import Cost
from benchmarks.scaling.queueing import Ask, Queue, Rules, poisson
from benchmarks.scaling.theory import (
    DAY_S,
    Service,
    catch_up,
    day_curve,
    erlang_c,
    servers_needed,
    wait_quantile_s,
)

ASKS = st.lists(st.tuples(st.floats(0, 50), st.integers(0, 5)), min_size=1, max_size=40)


def asks(drawn: list[tuple[float, int]]) -> list[Ask]:
    return [Ask(at, key) for at, key in sorted(drawn)]


@given(drawn=ASKS, servers=st.integers(1, 4), seed=st.integers(0, 9))
def test_every_ask_is_followed_by_the_end_of_its_work(
    drawn: list[tuple[float, int]], servers: int, seed: int
) -> None:
    made = asks(drawn)
    done = Queue(Rules(servers, outage=(10, 30)), lambda rng: rng.uniform(0, 5), seed).run(made)
    assert done.asks == len(made)
    assert len(done.sojourns_s) >= len({ask.key for ask in made})
    assert done.last_end_s >= max(ask.at_s for ask in made)
    assert min(done.sojourns_s) > 0


@given(drawn=ASKS, servers=st.integers(1, 4))
def test_workers_are_never_busier_than_there_are_of_them(
    drawn: list[tuple[float, int]], servers: int
) -> None:
    made = asks(drawn)
    done = Queue(Rules(servers), lambda _: 1.0, 1).run(made)
    assert done.busy_s <= servers * (done.last_end_s - made[0].at_s) + 1e-9


def test_ten_quick_asks_make_one_piece_of_work() -> None:
    done = Queue(Rules(1, debounce_s=1), lambda _: 1.0, 1).run([Ask(at / 20, 7) for at in range(10)])
    assert len(done.sojourns_s) == 1


def test_an_ask_while_it_runs_makes_it_run_again() -> None:
    done = Queue(Rules(1, debounce_s=0, poll_s=0), lambda _: 10.0, 1).run([Ask(0, 7), Ask(5, 7)])
    assert done.ends_s == [10, 20]


def test_nothing_ends_while_the_model_is_away() -> None:
    made = [Ask(float(at), at) for at in range(100)]
    done = Queue(Rules(4, outage=(0, 200)), lambda _: 0.5, 1).run(made)
    assert min(done.ends_s) >= 200
    assert (len(done.ends_s), done.put_off > 0) == (100, True)


def test_arrivals_come_at_the_rate_that_is_asked_for() -> None:
    times = poisson(lambda at: 10 if at < 500 else 0, 10, 1_000, Random(1))  # noqa: S311 (the same each time)
    assert len(times) == pytest.approx(5_000, rel=0.05)
    assert max(times) < 500


def test_one_server_waits_as_often_as_it_is_busy() -> None:
    """M/M/1: the probability to wait is the load."""
    assert erlang_c(1, 0.7) == pytest.approx(0.7)


def test_the_waits_of_ten_servers_are_those_of_the_tables() -> None:
    assert erlang_c(10, 8.0) == pytest.approx(0.4092, abs=1e-4)


@given(servers=st.integers(1, 300), share=st.floats(0.01, 2))
def test_a_wait_is_a_probability(servers: int, share: float) -> None:
    assert 0 <= erlang_c(servers, servers * share) <= 1


@given(rate=st.floats(0.01, 500), mean_s=st.floats(0.01, 20))
def test_with_one_worker_less_the_wait_would_be_too_long(rate: float, mean_s: float) -> None:
    service = Service(mean_s, 1.0)
    enough = servers_needed(rate, service, most_wait_s=2.0)
    assert wait_quantile_s(enough, rate, service, 0.95) <= 2.0
    assert enough == 1 or wait_quantile_s(enough - 1, rate, service, 0.95) > 2.0


def test_a_queue_of_exponential_service_waits_as_its_formula_says() -> None:
    rate, servers = 3.0, 4
    times = poisson(lambda _: rate, rate, 20_000, Random(2))  # noqa: S311 (the same each time)
    made = [Ask(at, number) for number, at in enumerate(times)]
    done = Queue(Rules(servers, debounce_s=0, poll_s=0), lambda rng: rng.expovariate(1.0), 3).run(made)
    waited = sum(wait > 1e-9 for wait in done.waits_s) / len(done.waits_s)
    assert waited == pytest.approx(erlang_c(servers, rate), abs=0.03)


@pytest.mark.parametrize("factor", [1.0, 1.8, 2.5, 6.0])
def test_a_day_has_the_mean_that_is_asked_for_and_its_peak(factor: float) -> None:
    rates = [day_curve(at, peak_factor=factor) for at in range(0, int(DAY_S), 60)]
    assert sum(rates) / len(rates) == pytest.approx(1, abs=1e-3)
    assert max(rates) == pytest.approx(factor, abs=1e-3)


def test_what_an_outage_left_is_worked_off_by_the_workers_to_spare() -> None:
    """Ten a second for an hour; five a second more than come."""
    found = catch_up(lambda _: 10.0, begins_s=0, lasts_s=3600, servers=15, mean_s=1.0, sessions=math.inf)
    assert found.backlog == pytest.approx(36_000)
    assert found.catch_up_s == pytest.approx(7_200, rel=0.01)


def test_without_workers_to_spare_it_is_never_worked_off() -> None:
    found = catch_up(lambda _: 10.0, begins_s=0, lasts_s=3600, servers=10, mean_s=1.0, sessions=math.inf)
    assert found.catch_up_s == math.inf


def test_no_more_waits_than_there_are_sessions() -> None:
    found = catch_up(lambda _: 10.0, begins_s=0, lasts_s=86_400, servers=15, mean_s=1.0, sessions=5_000)
    assert found.backlog <= 5_000


COSTS = {
    name: Cost(1, 0.0, 0.0, 0.0, 40.0, 5.0, 1.0)
    for name in ("intake", "context", "preflight", "job summarize", "job recall")
}


def needed(**habits: int) -> Need:
    measured = Measured(COSTS, {"summarize": 0.5, "recall": 0.2}, {"summarize": 1.0}, 3_000.0, 1.0, 60.0)
    return need(1_000_000, measured, replace(Habits(), **habits))


def test_a_process_waits_for_many_models_and_computes_for_one_job() -> None:
    one, many = needed(pieces_at_once=1), needed(pieces_at_once=50)
    assert many.places == one.places
    assert many.queues["summaries"].processes == math.ceil(one.queues["summaries"].processes / 50)
    assert many.queues["maintenance"].processes == one.queues["maintenance"].processes
    assert many.connections < one.connections


def test_places_without_end_still_need_processors() -> None:
    queue = needed(pieces_at_once=10_000).queues["summaries"]
    assert queue.processes >= queue.jobs_per_s * 0.040 / Habits().busy

"""Limits of calls per key: together where there is a store, each process for itself where there is none."""

import math
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import httpx2
import pytest
from fastapi.testclient import TestClient
from redis import Redis

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.servers import valkey_program
from api.http.caller_limits import LocalBuckets, limits
from api.http.process_group import WAYS
from api.settings import api_settings
from models.tenants.rate_limit import Rate, SharedBuckets, take
from tests.integration.agents import MESSAGES, request
from tests.integration.conftest import make_key
from tests.waiting import wait_until

SLOW = Rate(per_s=0.01, burst=3)
SOON_S = 60.0
"""A busy machine may be late; a connection that hangs would take for ever."""


@pytest.fixture
def store_url(valkey_url: str) -> Iterator[str]:
    """A store beside the broker, empty."""
    url = f"{valkey_url.removesuffix('/0')}/1"
    with Redis.from_url(url) as store:
        store.flushdb()
        yield url


@contextmanager
def buckets(url: str, timeout_s: float = 20.0, *, ready: bool = True) -> Iterator[SharedBuckets]:
    """One process's way to the store."""
    one = SharedBuckets(url, timeout_s)
    try:
        if ready:
            wait_until(lambda: is_connected(one), within_s=30, what="the store is connected")
        yield one
    finally:
        one.close()


def is_connected(one: SharedBuckets) -> bool:
    """Whether there is a connection; a busy machine may need another try."""
    one.prepare()
    return one.is_ready


Limit = Callable[..., None]


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limit]:
    """Set the limits of the API, which begin anew."""

    def set_to(**settings: object) -> None:
        for name, value in settings.items():
            monkeypatch.setenv(f"AFTERTURN_{name.upper()}", str(value))
        api_settings.cache_clear()
        limits.close()
        limits.begin()
        limits.open()

    yield set_to
    monkeypatch.undo()
    api_settings.cache_clear()
    limits.close()
    limits.begin()
    limits.open()


def ask(client: TestClient, key: str | None = None) -> httpx2.Response:
    return client.get("/v1/usage", headers={"Authorization": f"Bearer {key}"} if key else None)


def test_a_key_that_calls_too_often_is_told_when_to_come_back(client: TestClient, limit: Limit) -> None:
    limit(rate_per_s=0.05, rate_burst=2)
    assert [ask(client).status_code for _ in range(2)] == [200, 200]
    answer = ask(client)
    assert answer.status_code == 429
    assert answer.headers["content-type"] == "application/problem+json"
    assert 1 <= int(answer.headers["retry-after"]) <= 20
    assert answer.json() == {
        "type": "rate-limited",
        "title": "Rate limited",
        "status": 429,
        "detail": "this key may call 0.05 times a second, 2 times at once after a rest",
        "per_s": 0.05,
        "burst": 2,
        "retry_after_s": int(answer.headers["retry-after"]),
    }


def test_one_key_does_not_use_up_another(client: TestClient, tenant_id: UUID, limit: Limit) -> None:
    other = make_key(tenant_id)
    limit(rate_per_s=0.01, rate_burst=1)
    assert [ask(client).status_code, ask(client).status_code, ask(client, other).status_code] == [
        200,
        429,
        200,
    ]


def test_a_large_body_of_a_key_that_called_too_often_is_not_read(client: TestClient, limit: Limit) -> None:
    limit(rate_per_s=0.01, rate_burst=1)
    too_large = b" " * (api_settings().max_body_bytes + 1)
    codes = [client.post("/v1/sessions/s/turns", content=too_large).status_code for _ in range(2)]
    assert codes == [413, 429]


def test_a_turn_that_is_refused_is_not_stored(client: TestClient, tenant_id: UUID, limit: Limit) -> None:
    limit(rate_per_s=0.01, rate_burst=1)
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]
    codes = [
        client.post("/v1/sessions/s/turns", json={"turn_id": turn, "messages": said}).status_code
        for turn in ("t1", "t2")
    ]
    assert codes == [202, 429]
    assert client.get("/v1/sessions/s", headers=bearer(make_key(tenant_id))).json()["turns"] == 1


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_without_a_limit_nobody_is_refused(client: TestClient, limit: Limit) -> None:
    limit(rate_per_s=0, rate_burst=1)
    assert {ask(client).status_code for _ in range(20)} == {200}


def test_the_usual_limit_is_above_what_a_platform_does(client: TestClient) -> None:
    assert {ask(client).status_code for _ in range(60)} == {200}


def test_a_call_by_the_other_protocol_counts_once(client: TestClient, limit: Limit) -> None:
    limit(rate_per_s=0.01, rate_burst=2)
    reads = request("resources/read", uri="afterturn://my-plans")
    answers = [client.post("/mcp", json=reads, headers=MESSAGES) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert all("result" in answer.json() for answer in answers[:2])


def test_a_stranger_uses_up_nothing(client: TestClient, limit: Limit) -> None:
    limit(rate_per_s=0.01, rate_burst=1)
    assert {ask(client, "aft_000000000000_wrong").status_code for _ in range(5)} == {401}
    assert ask(client).status_code == 200


def test_two_processes_count_together_in_the_store(store_url: str) -> None:
    with buckets(store_url) as one, buckets(store_url) as other:
        waits = [each.take("a", SLOW) for each in (one, other, one, other, one)]
    assert waits[:3] == [0, 0, 0]
    assert all(wait is not None and 90 < wait <= 100 for wait in waits[3:])


def test_the_store_counts_as_a_process_would(store_url: str) -> None:
    rate = Rate(per_s=0.002, burst=2)
    with buckets(store_url) as one:
        told = [one.take("a", rate) for _ in range(4)]
    full_at, expected = 0.0, []
    for _ in range(4):
        full_at, wait_s = take(full_at, 100.0, rate)
        expected.append(wait_s)
    assert told == [pytest.approx(wait_s, abs=SOON_S) for wait_s in expected]
    assert [wait_s == 0 for wait_s in told] == [wait_s == 0 for wait_s in expected]


def test_a_bucket_in_the_store_goes_away_once_it_is_full(store_url: str) -> None:
    with buckets(store_url) as one, Redis.from_url(store_url) as store:
        one.take("a", Rate(per_s=0.1, burst=20))
        [name] = store.keys()
        assert 0 < store.pttl(name) <= 10_001


def test_the_api_counts_in_the_store(
    client: TestClient, tenant_id: UUID, limit: Limit, store_url: str
) -> None:
    limit(rate_per_s=0.01, rate_burst=5, rate_url=store_url, rate_timeout_ms=1_000)
    key = make_key(tenant_id)
    wait_until(
        lambda: limits._shared is not None and limits._shared.is_ready,
        within_s=30,
        what="the store is connected",
    )
    with buckets(store_url) as elsewhere:
        for _ in range(5):
            assert elsewhere.take(key.split("_")[1], Rate(0.01, 5)) == 0
    # Where the store is late once, the process counts that call by itself, and has counted none so far.
    codes = [ask(client, key).status_code for _ in range(3)]
    assert 429 in codes


def hears_nothing() -> socket.socket:
    """A server that takes connections and never says a word."""
    server = socket.create_server(("127.0.0.1", 0))
    server.listen(64)
    return server


def test_a_store_that_never_answers_holds_no_call_up(client: TestClient, limit: Limit) -> None:
    with hears_nothing() as server:
        limit(rate_per_s=0.01, rate_burst=3, rate_url=f"redis://127.0.0.1:{server.getsockname()[1]}/1")
        ask(client)
        began = time.monotonic()
        assert [ask(client).status_code for _ in range(3)] == [200, 200, 429]
        assert time.monotonic() - began < SOON_S


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[str]:
    """A store that nobody else waits for."""
    with ReservedPorts() as ports:
        port = ports.reserve()
        command = [str(valkey_program()), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as started:
            yield f"redis://127.0.0.1:{port}/1"
            started.kill()


def test_a_store_that_falls_silent_costs_one_wait_and_then_none(own_store: str) -> None:
    with Redis.from_url(own_store) as store, buckets(own_store, timeout_s=0.5) as one:
        assert one.take("a", SLOW) == 0
        store.client_pause(600_000, all=True)
        began = time.monotonic()
        waits = [one.take("a", SLOW) for _ in range(400)]
        assert set(waits) == {None}
        assert time.monotonic() - began < SOON_S, "not each of them has waited"


def test_a_store_that_went_away_is_used_again_once_it_is_back(store_url: str) -> None:
    with Redis.from_url(store_url) as store, buckets(store_url) as one:
        assert one.take("a", SLOW) == 0
        for _ in range(20):
            store.client_kill_filter(_type="normal", skipme=True)
            one.take("a", SLOW)
        wait_until(lambda: one.take("b", SLOW) == 0, within_s=30, what="the store counts again")


def test_a_store_that_forgot_the_script_learns_it_again(store_url: str) -> None:
    with Redis.from_url(store_url) as store, buckets(store_url) as one:
        store.script_flush()
        wait_until(lambda: one.take("b", SLOW) == 0, within_s=30, what="the store counts again")


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/1", "redis://nowhere.invalid:6379/1"])
def test_no_store_at_all_means_that_the_process_counts(url: str) -> None:
    with buckets(url, timeout_s=1.0, ready=False) as one:
        began = time.monotonic()
        assert [one.take("a", SLOW) for _ in range(100)] == [None] * 100
        assert time.monotonic() - began < SOON_S


def test_the_memory_of_a_process_is_bounded() -> None:
    local = LocalBuckets(sets=2)
    for number in range(1_000):
        local.take(str(number), SLOW)
    known = [number for number in range(1_000) if local._rows.find(str(number)) is not None]
    assert 0 < len(known) <= 2 * WAYS


def test_a_process_that_reaches_its_bound_remembers_who_called_too_often() -> None:
    local = LocalBuckets(sets=1)
    for _ in range(3):
        assert local.take("often", SLOW) == 0
    fast = Rate(per_s=1e6, burst=1)
    for number in range(30):
        local.take(str(number), fast)
    assert math.ceil(local.take("often", SLOW)) > 0

"""Several processes behind one port: they share the calls and the limits, and outlive each other."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event
from uuid import UUID

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from afterturn.stack.compose import ReservedPorts
from models import database as session
from tests.data import ROOT
from tests.integration.conftest import make_key
from tests.integration.held_rows import held, held_from_all, waiting
from tests.waiting import wait_until

PROCESSES = 2
SOON_S = 300.0
TURN = {
    "messages": [{"role": "user", "content": "Is it up?"}, {"role": "assistant", "content": "It is up."}],
}


class Served:
    """An API as a process with its children, and clients of it."""

    def __init__(self, port: int, key: str, **settings: str) -> None:
        self.url, self._key = f"http://127.0.0.1:{port}", key
        at = {"AFTERTURN_API_HOST": "127.0.0.1", "AFTERTURN_API_PORT": str(port)}
        patient = {"AFTERTURN_LOCK_TIMEOUT_MS": "300000", "AFTERTURN_STATEMENT_TIMEOUT_MS": "300000"}
        settings = {"AFTERTURN_API_PROCESSES": str(PROCESSES), **patient, **settings}
        self.parent = subprocess.Popen(
            [sys.executable, "-m", "api"],
            cwd=ROOT,
            env={**os.environ, **at, **settings},
            stderr=subprocess.DEVNULL,
        )

    def client(self) -> httpx.Client:
        """A client with a connection of its own."""
        return httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=60,
            transport=httpx.HTTPTransport(limits=httpx.Limits(max_connections=1)),
        )

    @property
    def children(self) -> set[int]:
        found = Path(f"/proc/{self.parent.pid}/task/{self.parent.pid}/children").read_text()
        return {int(pid) for pid in found.split()}

    def wait_ready(self) -> None:
        """Wait until every place of the group is taken."""
        wait_until(self.is_whole, within_s=SOON_S, what="all processes serve")

    def is_whole(self) -> bool:
        with suppress(httpx.TransportError), self.client() as client:
            return bool(client.get("/readyz").json()["checks"]["processes"] == f"{PROCESSES} of {PROCESSES}")
        return False

    def clients_of_each(self, stack: ExitStack, each: int = 1) -> dict[int, list[httpx.Client]]:
        """Clients whose connections stand open, so many in each process, by its pid."""
        found: dict[int, list[httpx.Client]] = defaultdict(list)
        for _ in range(4 * PROCESSES * each):
            client = stack.enter_context(self.client())
            found[self.process_of(client.get("/healthz"))].append(client)
            if len(found) == PROCESSES and min(map(len, found.values())) >= each:
                return found
        raise AssertionError("connections are spread")

    def process_of(self, answer: httpx.Response) -> int:
        """Return the child that holds the other end of an answer's connection."""
        port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        ends = f":{httpx.URL(self.url).port:04X}", f":{port:04X}"
        [inode] = [row[9] for row in rows if (row[1][-5:], row[2][-5:]) == ends]
        return next(pid for pid in self.children if f"socket:[{inode}]" in files_of(pid))


def files_of(pid: int) -> set[str]:
    """Return the names of all open files of a process."""
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(str(file.readlink()))
    return found


@contextmanager
def served(tenant_id: UUID, **settings: str) -> Iterator[Served]:
    with ReservedPorts() as ports:
        one = Served(ports.reserve(), make_key(tenant_id), **settings)
        try:
            one.wait_ready()
            yield one
        finally:
            one.parent.send_signal(signal.SIGTERM)
            one.parent.wait(SOON_S)


def figures(client: httpx.Client) -> dict[tuple[str, str], float]:
    """Sums of the metrics by name and route."""
    found: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            at = (sample.name, sample.labels.get("route", ""))
            found[at] = found.get(at, 0.0) + sample.value
    return found


def test_a_process_killed_under_load_comes_back_and_the_other_serves_on(tenant_id: UUID) -> None:
    with served(tenant_id) as api, ExitStack() as open_clients:
        before, stop = api.children, Event()
        assert len(before) == PROCESSES

        def load(number: int) -> tuple[int, int]:
            done = broken = 0
            while not stop.is_set():
                try:
                    with api.client() as client:
                        while not stop.is_set():
                            turn = {"turn_id": f"{number}-{done}-{broken}", **TURN}
                            assert client.post(f"/v1/sessions/s{number}/turns", json=turn).status_code == 202
                            done += 1
                except httpx.TransportError:
                    broken += 1
            return done, broken

        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(load, number) for number in range(4)]
            [steady, killed] = sorted(before)
            wait_until(lambda: stored() > 8, within_s=SOON_S, what="turns are stored")
            os.kill(killed, signal.SIGKILL)
            wait_until(
                lambda: len(api.children - before) == 1 and api.is_whole(), within_s=SOON_S, what="it is back"
            )
            seen = stored()
            wait_until(lambda: stored() > seen + 8, within_s=SOON_S, what="turns are stored again")
            stop.set()
            done, broken = (sum(column) for column in zip(*(one.result() for one in running), strict=True))
        assert steady in api.children
        assert done <= stored() <= done + broken, "what was acknowledged is stored"
        assert broken <= 4, "connections of the other process were not touched"
        api.clients_of_each(open_clients)


def stored() -> int:
    with session.read_transaction() as db:
        return int(db.execute(text("select count(*) from turn")).scalar_one())


def test_keys_and_strangers_have_one_limit_over_both(tenant_id: UUID) -> None:
    limits = {
        "AFTERTURN_RATE_PER_S": "0.001",
        "AFTERTURN_RATE_BURST": "7",
        "AFTERTURN_RATE_URL": "",
        "AFTERTURN_WRONG_KEY_PER_S": "0.001",
        "AFTERTURN_WRONG_KEY_BURST": "4",
    }
    wrong = {"Authorization": "Bearer aft_000000000000_wrong"}
    with served(tenant_id, **limits) as api, ExitStack() as stack:
        clients = [client for client, *_ in api.clients_of_each(stack).values()]
        codes = [client.get("/v1/usage").status_code for _ in range(8) for client in clients]
        strangers = [
            client.get("/v1/usage", headers=wrong).status_code for _ in range(4) for client in clients
        ]
    assert sorted(codes) == [200] * 7 + [429] * 9
    assert sorted(strangers) == [401] * 4 + [429] * 4


def test_places_are_counted_over_both_and_pass_from_one_to_the_other(tenant_id: UUID) -> None:
    """Two places, both taken in one process; the other gets one when it is left, or when its holder dies."""
    narrow = {
        "AFTERTURN_TENANT_CALLS": "2",
        "AFTERTURN_TENANT_CALLS_WAITING": "1",
        "AFTERTURN_TENANT_WAIT_S": "60",
    }
    with served(tenant_id, **narrow) as api, ExitStack() as stack, ThreadPoolExecutor(4) as pool:
        path = "/v1/sessions/s"
        with api.client() as client:
            assert client.post(f"{path}/turns", json={"turn_id": "t", **TURN}).status_code == 202

        def fill() -> tuple[int, list[Future[httpx.Response]], list[httpx.Client]]:
            (busy, [one, two, *_]), (_, idle) = api.clients_of_each(stack, 2).items()
            slow = [pool.submit(client.get, path) for client in (one, two)]
            wait_until(lambda: waiting() == 2, within_s=SOON_S, what="both wait")
            return busy, slow, idle[:2]

        def ask_until_answered() -> int:
            """Ask anew where the process asked dies: a connection that stood idle may be another by now."""
            while True:
                with suppress(httpx.TransportError), api.client() as client:
                    return client.get("/v1/usage").status_code

        with held_from_all():
            _, slow, idle = fill()
            late = [pool.submit(client.get, "/v1/usage") for client in idle]
            wait_until(lambda: any(call.done() for call in late), within_s=SOON_S, what="one is refused")
            assert not all(call.done() for call in late)
        assert [call.result().status_code for call in slow] == [200, 200]
        assert sorted(call.result().status_code for call in late) == [200, 429]
        with held_from_all():
            busy, slow, _ = fill()
            last = pool.submit(ask_until_answered)
            time.sleep(0.2)
            assert not last.done()
            os.kill(busy, signal.SIGKILL)
            assert last.result() == 200
        assert all(isinstance(call.exception(), httpx.TransportError) for call in slow)


def test_metrics_are_those_of_both_and_outlive_a_process(tenant_id: UUID) -> None:
    usage, calls = ("afterturn_http_request_seconds_count", "/v1/usage"), 6
    with served(tenant_id) as api, ExitStack() as stack:
        clients = [client for client, *_ in api.clients_of_each(stack).values()]
        for client in clients:
            for _ in range(calls):
                client.get("/v1/usage")
        told = [figures(client) for client in clients]
        assert [each[usage] for each in told] == [calls * PROCESSES] * 2
        assert [each["afterturn_http_requests_running", ""] for each in told] == [1.0, 1.0]
        assert all(each["process_resident_memory_bytes", ""] > 100e6 * PROCESSES for each in told)
        os.kill(api.children.pop(), signal.SIGKILL)
        time.sleep(0.1)
        api.wait_ready()
        with api.client() as client:
            after = figures(client)
        assert after[usage] == calls * PROCESSES
        assert after["afterturn_http_requests_running", ""] == 1.0
        assert after["process_cpu_seconds_total", ""] >= told[-1]["process_cpu_seconds_total", ""]


def folders_of(parent: int) -> list[Path]:
    return list(Path("/dev/shm").glob(f"afterturn-api-{parent}-*"))  # noqa: S108


def test_told_to_end_it_finishes_what_is_under_way_and_leaves_nothing(tenant_id: UUID) -> None:
    with served(tenant_id) as api, ExitStack() as stack, ThreadPoolExecutor() as pool:
        assert len(folders_of(api.parent.pid)) == 1
        clients = [client for client, *_ in api.clients_of_each(stack).values()]
        assert clients[0].post("/v1/sessions/s/turns", json={"turn_id": "t", **TURN}).status_code == 202
        children = api.children
        with held("s"):
            slow = [
                pool.submit(client.post, "/v1/sessions/s/turns", json={"turn_id": f"slow-{at}", **TURN})
                for at, client in enumerate(clients)
            ]
            wait_until(lambda: waiting() == 2, within_s=30, what="both wait for the session")
            api.parent.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        assert [call.result().status_code for call in slow] == [202, 202]
        assert api.parent.wait(SOON_S) == -signal.SIGTERM
        assert not any(Path(f"/proc/{pid}").exists() for pid in children)
        assert folders_of(api.parent.pid) == []


def test_children_end_with_a_parent_that_is_killed(tenant_id: UUID) -> None:
    with served(tenant_id) as api:
        children = api.children
        api.parent.kill()
        wait_until(lambda: not any(map(is_running, children)), within_s=SOON_S, what="children have ended")
        assert folders_of(api.parent.pid) == []


def is_running(pid: int) -> bool:
    """Whether a process lives; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("processes", [1, 2])
def test_a_port_that_is_taken_ends_it_with_a_status(tenant_id: UUID, processes: int) -> None:
    del tenant_id
    with socket.create_server(("127.0.0.1", 0)) as taken:
        at = {"AFTERTURN_API_PORT": str(taken.getsockname()[1]), "AFTERTURN_API_PROCESSES": str(processes)}
        ended = subprocess.run(
            [sys.executable, "-m", "api"],
            cwd=ROOT,
            env={**os.environ, **at},
            capture_output=True,
            text=True,
            timeout=SOON_S,
            check=False,
        )
    assert ended.returncode > 0
    assert re.search("address already in use", ended.stderr, re.IGNORECASE)

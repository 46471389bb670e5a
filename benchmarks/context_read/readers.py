"""Many readers of realistic sessions: closed and open loops, one process and several, two checkouts."""

import http.client
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from afterturn.stack.roles import LOOPBACK, application_environment
from afterturn.stack.stack import Stack
from api.http.process_group import usable_cores
from benchmarks.context_read.cases import CASES, SESSION, body_of, questions
from benchmarks.context_read.server import cpu_s, free_port, wait_ready
from tests.data import ROOT

READERS = 50
OPEN_SHARE = 0.7
"""Rate of the open loop against the reads a second of the closed one."""

Times = list[float]


@contextmanager
def serving_as_installed(stack: Stack, processes: int | None, root: Path) -> Iterator[tuple[int, int]]:
    """Run `python -m api` of a checkout; give its port and its pid."""
    port = free_port()
    at = stack.at
    settings = application_environment(database_url=at.database_url, broker_url=at.broker_url, api_port=port)
    more = {"AFTERTURN_API_PROCESSES": str(processes)} if processes else {}
    child = subprocess.Popen(
        [sys.executable, "-m", "api"],
        cwd=root,
        env={**os.environ, **settings, **more, "AFTERTURN_TENANT_CALLS": "0", "PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_ready(f"http://{LOOPBACK}:{port}", child)
        yield port, child.pid
    finally:
        child.terminate()
        child.wait(30)


def all_cpu_s(pid: int) -> float:
    """Processor time of a process and its children, in seconds."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_s(pid) + sum(cpu_s(int(child)) for child in children)


def measure_readers(
    stack: Stack, keys: Sequence[str], seconds: float, before: Path | None
) -> dict[str, dict[str, float]]:
    """Read with one process, with as many as there are cores, and with another checkout's code.

    Args:
        stack: The stack with the sessions.
        keys: A key of each tenant; readers take turns among them.
        seconds: Length of a loop.
        before: Root of another checkout, such as the commit before a change; None for none.
    """
    cores = usable_cores()
    cases = [("one process", 1, ROOT), (f"{cores} processes", cores, ROOT)]
    if before is not None:
        cases.insert(0, ("before", 1, before))
    asked = questions()
    found = {}
    for name, processes, root in cases:
        with serving_as_installed(stack, processes, root) as (port, pid):
            found[name] = _measure(port, pid, keys, asked, seconds)
    return found


def _measure(
    port: int, pid: int, keys: Sequence[str], asked: Iterator[str], seconds: float
) -> dict[str, float]:
    readers = [Reader(port, keys[number % len(keys)]) for number in range(READERS)]
    for reader in readers[: 2 * len(keys)]:
        for _ in range(5):
            reader.ask(_body(asked))
    alone = [readers[0].ask(_body(asked)) for _ in range(40)]
    bodies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    for _ in range(int(400 * seconds)):
        bodies.put(_body(asked))
    began, used, until = time.perf_counter(), all_cpu_s(pid), time.perf_counter() + seconds
    closed = _run(readers, lambda reader: _closed(reader, bodies, until))
    spent, used = time.perf_counter() - began, all_cpu_s(pid) - used
    rate = len(closed) / spent
    due = iter(enumerate_times(rate * OPEN_SHARE, seconds))
    lock = threading.Lock()
    opened = _run(readers, lambda reader: _open(reader, bodies, due, lock, time.perf_counter()))
    return {
        "reads_a_second": rate,
        "cpu_ms_a_read": used / len(closed) * 1000,
        "alone_p50_ms": statistics.median(alone),
        "closed_p50_ms": statistics.median(closed),
        "closed_p99_ms": statistics.quantiles(closed, n=100)[98],
        "fair_share_ms": READERS / rate * 1000,
        "p99_of_fair_share": statistics.quantiles(closed, n=100)[98] / (READERS / rate * 1000),
        "open_p50_ms": statistics.median(opened),
        "open_p99_ms": statistics.quantiles(opened, n=100)[98],
        "open_p99_of_alone": statistics.quantiles(opened, n=100)[98] / statistics.median(alone),
    }


class Reader:
    """A connection of its own that stays open; its client costs little processor time."""

    def __init__(self, port: int, key: str) -> None:
        """Connect at the first question."""
        self._at = http.client.HTTPConnection(LOOPBACK, port, timeout=120)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, body: bytes) -> float:
        """Read a context. Returns the time in ms.

        Raises:
            RuntimeError: The answer is not a context.
        """
        began = time.perf_counter()
        try:
            answer = self._send(body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._at.close()  # it stood idle for longer than the server keeps it
            answer = self._send(body)
        said = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(said.decode())
        return (time.perf_counter() - began) * 1000

    def _send(self, body: bytes) -> http.client.HTTPResponse:
        self._at.request("POST", f"/v1/sessions/{SESSION}/context", body, self._headers)
        return self._at.getresponse()


def _body(asked: Iterator[str]) -> bytes:
    return json.dumps(body_of(CASES[0], next(asked))).encode()


def enumerate_times(rate: float, seconds: float) -> list[float]:
    """List moments at a rate, evenly, in seconds from the start."""
    return [number / rate for number in range(int(rate * seconds))]


def _run(readers: Sequence[Reader], read: Callable[[Reader], Times]) -> Times:
    results: list[Times] = []
    threads = [
        threading.Thread(target=lambda reader=reader: results.append(read(reader))) for reader in readers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [took for times in results for took in times]


def _closed(reader: Reader, bodies: "queue.SimpleQueue[bytes]", until: float) -> Times:
    times: Times = []
    while time.perf_counter() < until:
        times.append(reader.ask(bodies.get()))
    return times


def _open(
    reader: Reader,
    bodies: "queue.SimpleQueue[bytes]",
    due: Iterator[float],
    lock: "threading.Lock",
    began: float,
) -> Times:
    """Ask at moments that no answer moves; a time counts from the moment, waiting for a reader included."""
    times: Times = []
    while True:
        with lock:
            at = next(due, None)
        if at is None:
            return times
        time.sleep(max(began + at - time.perf_counter(), 0))
        reader.ask(bodies.get())
        times.append((time.perf_counter() - began - at) * 1000)

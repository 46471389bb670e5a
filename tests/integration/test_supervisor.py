"""The supervisor keeps real processes running, on a clock that the test turns."""

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from afterturn.stack.processes import Launch, StartError, Supervisor, Unit, delay_after, limit_log, tail
from tests.waiting import wait_until

WITHIN_S = 60.0


def wait_a_little() -> bool:
    """Give processes the time to end; nobody asked to hurry."""
    time.sleep(0.005)
    return False


class Harness:
    """A supervisor over small processes, and what it said."""

    def __init__(self, logs: Path, *units: Unit) -> None:
        self.now = 0.0
        self.events: list[dict[str, Any]] = []
        self.supervisor = Supervisor(units, logs, lambda event: self.events.append(dict(event)))

    def step_until(self, condition: Callable[[], bool], what: str) -> None:
        def step() -> bool:
            self.supervisor.step(self.now)
            return condition()

        wait_until(step, within_s=WITHIN_S, what=what)

    def saw(self, **facts: Any) -> bool:
        return any(facts.items() <= event.items() for event in self.events)

    def close(self) -> None:
        self.supervisor.stop(wait=lambda: True, clock=time.monotonic)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Callable[..., Harness]]:
    made: list[Harness] = []

    def make(*units: Unit) -> Harness:
        made.append(Harness(tmp_path, *units))
        return made[-1]

    yield make
    for one in made:
        one.close()


def python(code: str, **settings: Any) -> Callable[[], Launch]:
    command = (sys.executable, "-I", "-S", "-c", code)
    return lambda: Launch(command, {"PATH": os.defpath}, Path("/"), **settings)


SLEEPS = python("import time; time.sleep(600)")


def test_a_killed_process_is_started_again_after_its_delay(harness: Callable[..., Harness]) -> None:
    watched = harness(Unit("sleeper", SLEEPS))
    watched.step_until(lambda: watched.supervisor.is_ready, "the sleeper runs")
    first = watched.supervisor.pids["sleeper"]
    os.kill(first, signal.SIGKILL)
    watched.step_until(lambda: watched.saw(event="crashed", again_in_s=0.25), "the crash is seen")
    watched.supervisor.step(watched.now + 0.2)
    assert watched.supervisor.pids == {}
    watched.now += 0.3
    watched.step_until(lambda: watched.supervisor.is_ready, "the sleeper runs again")
    assert watched.supervisor.pids["sleeper"] != first


def test_a_process_that_lived_long_is_forgiven_its_crashes(harness: Callable[..., Harness]) -> None:
    watched = harness(Unit("sleeper", SLEEPS))
    for _ in range(2):
        watched.step_until(lambda: watched.supervisor.is_ready, "the sleeper runs")
        watched.now += 3600
        os.kill(watched.supervisor.pids["sleeper"], signal.SIGKILL)
        watched.step_until(lambda: not watched.supervisor.is_ready, "the crash is seen")
        watched.now += 1
    assert [event["again_in_s"] for event in watched.events if event["event"] == "crashed"] == [0.25, 0.25]


def test_a_process_that_never_comes_up_shows_the_end_of_its_log(harness: Callable[..., Harness]) -> None:
    watched = harness(Unit("broken", python("raise SystemExit('no such setting')"), lambda: False))
    watched.step_until(lambda: watched.saw(event="crashed"), "the first crash is seen")
    watched.now += 1
    with pytest.raises(StartError, match=r"(?s)broken ended with status 1.*no such setting"):
        watched.step_until(lambda: False, "it is given up")


def test_a_process_that_hangs_at_its_start_is_reported(harness: Callable[..., Harness]) -> None:
    watched = harness(Unit("hanging", SLEEPS, lambda: False, ready_within_s=5))
    watched.supervisor.step(0)
    with pytest.raises(StartError, match="hanging was not ready after 5 s"):
        watched.supervisor.step(6)


def test_a_long_start_is_probed_less_and_less_often(harness: Callable[..., Harness]) -> None:
    probed_at: list[float] = []

    def is_ready() -> bool:
        probed_at.append(watched.now)
        return False

    watched = harness(Unit("slow", SLEEPS, is_ready))
    while watched.now < 100:
        watched.supervisor.step(watched.now)
        watched.now += 0.05
    pauses = [after - before for before, after in itertools.pairwise(probed_at)]
    assert max(pauses[:15]) < 0.06
    assert 0.25 <= min(pauses[100:]) <= max(pauses) < 0.31


def test_a_unit_waits_for_the_ones_before_it(harness: Callable[..., Harness]) -> None:
    opened: list[bool] = []
    watched = harness(Unit("first", SLEEPS, lambda: bool(opened)), Unit("second", SLEEPS, after=("first",)))
    watched.supervisor.step(0)
    watched.supervisor.step(0)
    assert set(watched.supervisor.pids) == {"first"}
    opened.append(True)
    watched.step_until(lambda: watched.supervisor.is_ready, "both run")


def test_a_failed_preparation_is_not_tried_again(harness: Callable[..., Harness]) -> None:
    watched = harness(Unit("prepare", python("raise SystemExit(3)"), once=True))
    with pytest.raises(StartError, match="status 3"):
        watched.step_until(lambda: False, "it fails")


def test_children_of_a_killed_process_end_with_it(harness: Callable[..., Harness], tmp_path: Path) -> None:
    child = tmp_path / "child"
    code = (
        f"import os, time\nif (pid := os.fork()): open({str(child)!r}, 'w').write(str(pid))\ntime.sleep(600)"
    )
    watched = harness(Unit("parent", python(code)))
    watched.step_until(lambda: child.exists() and child.read_text() != "", "the child exists")
    os.kill(watched.supervisor.pids["parent"], signal.SIGKILL)
    watched.step_until(lambda: watched.saw(event="crashed"), "the crash is seen")
    wait_until(lambda: not runs(int(child.read_text())), within_s=WITHIN_S, what="the child is gone")


def test_a_process_that_ignores_the_polite_signal_is_killed(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(600)"
    )
    watched = harness(Unit("deaf", python(code)))
    watched.supervisor.step(0)
    pid = watched.supervisor.pids["deaf"]
    wait_until(lambda: tail(tmp_path / "deaf.log"), within_s=WITHIN_S, what="it is deaf")
    ticks = itertools.count(0, 4)
    watched.supervisor.stop(wait=wait_a_little, clock=lambda: float(next(ticks)))
    assert not runs(pid)


def runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return ") Z" not in status


@pytest.mark.parametrize(("crashes", "delay_s"), [(1, 0.25), (2, 0.5), (4, 2.0), (8, 30.0), (10_000, 30.0)])
def test_the_delay_doubles_and_is_bounded(crashes: int, delay_s: float) -> None:
    assert delay_after(crashes) == delay_s


def test_a_long_log_keeps_its_end_aside_and_its_writer_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"old\n" * 100)
        limit_log(log, limit_bytes=200)
        writer.write(b"new\n")
    assert log.read_text() == "new\n"
    assert (tmp_path / "worker.old.log").read_text() == "old\n" * 25


def test_the_tail_of_a_log_that_never_was_is_empty(tmp_path: Path) -> None:
    assert tail(tmp_path / "none.log") == ""

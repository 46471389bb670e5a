"""Dispatcher and beat are started and ended again and again while turns arrive.

python -m tests.acceptance.faults.restarts [--rounds 40] [--seed N]
"""

import argparse
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from afterturn.progress import stop_signals
from afterturn.stack.roles import StackRole, beat_command, dispatcher_command
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.faults.chaos import say, unkept
from tests.acceptance.faults.processes import STOP_S
from tests.acceptance.platform import ROLES, SOON_S, Platform, environment
from tests.data import ROOT
from tests.waiting import wait_until

ENDS = (signal.SIGTERM, signal.SIGKILL)
LONGEST_S = 1.5
"""In the first moments of a process; later ends come when it is at work."""

ENDED_WELL = 0


class Restarts:
    """Starts and ends processes of a platform whose own dispatcher and beat stand still."""

    def __init__(self, platform: Platform, place: Path, seed: int) -> None:
        """Decide by the seed when what ends; logs and beat's memory are kept in a place."""
        self._platform, self._place = platform, place
        self._chance = random.Random(seed)  # noqa: S311 - ends that repeat by their seed
        self._settings = platform.environment_of(StackRole.DISPATCHER)
        self.faults: list[str] = []

    def go(self, rounds: int) -> None:
        """Start and end both, so often; then start both once more, until all that is due is done."""
        with self._platform.paused(StackRole.DISPATCHER), self._platform.paused(StackRole.BEAT):
            nights = asked_to_learn(self._platform)
            self._platform.rows("delete from learning_night returning night")
            with self._platform.traffic(["restarts"]):
                for number in range(rounds):
                    self._round(number)
            self._finally(nights)

    def _round(self, number: int) -> None:
        """Both are at work in every second round; in the others they end while they start."""
        started = {role: self._start(role) for role in (StackRole.DISPATCHER, StackRole.BEAT)}
        at_work = number % 2 == 0
        if at_work:
            self._are_at_work(started)
        else:
            time.sleep(self._chance.uniform(0, LONGEST_S))
        for role, process in started.items():
            end = ENDS[number // 2 % len(ENDS)] if at_work else self._chance.choice(ENDS)
            self.faults += (
                f"round {number}, {role}: {fault}" for fault in ended(process, end, at_work=at_work)
            )

    def _finally(self, nights: int) -> None:
        started = {role: self._start(role) for role in (StackRole.DISPATCHER, StackRole.BEAT)}
        self._are_at_work(started)
        wait_until(
            lambda: asked_to_learn(self._platform) > nights, within_s=SOON_S, what="the night has begun"
        )
        once = "select 1 from due_work where kind = 'learn' and key = 'tenants' and state = 'idle'"
        wait_until(lambda: self._platform.rows(once), within_s=SOON_S, what="the night has ended")
        for role, process in started.items():
            self.faults += (f"{role}: {fault}" for fault in ended(process, signal.SIGTERM, at_work=True))
        if (asked := asked_to_learn(self._platform) - nights) != 1:
            self.faults.append(f"the night's learning was asked for {asked} times")
        sweeps = [
            key
            for (key,) in self._platform.rows("select key from due_work where kind = 'sweep' order by key")
        ]
        if sweeps != ["artifacts", "caps", "retention", "tables"]:
            self.faults.append(f"there are {len(sweeps)} sweeps")

    def _start(self, role: StackRole) -> subprocess.Popen[bytes]:
        command = dispatcher_command() if role == StackRole.DISPATCHER else self._beat()
        with (self._place / role).open("ab") as output:
            return subprocess.Popen(
                [sys.executable, *command[1:]],
                cwd=ROOT,
                env=self._settings,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _beat(self) -> list[str]:
        """Every beat goes on with what the one before it remembered, however that ended."""
        return beat_command(str(self._place / "schedule"))

    def _are_at_work(self, started: Mapping[StackRole, subprocess.Popen[bytes]]) -> None:
        alive = "select 1 from heartbeat where role = %s and instance = %s and seen_at > %s"
        [(now,)] = self._platform.rows("select now()")
        for role, process in started.items():
            me = f"{socket.gethostname()}:{process.pid}"
            wait_until(
                lambda role=role, me=me: self._platform.rows(alive, role, me, now),  # type: ignore[misc]
                within_s=SOON_S,
                what=f"{role} is at work",
            )


def asked_to_learn(platform: Platform) -> int:
    """How often the learning of all tenants was asked for."""
    query = "select coalesce(max(wanted), 0) from due_work where kind = 'learn' and key = 'tenants'"
    [(asked,)] = platform.rows(query)
    return int(asked)


def ended(process: subprocess.Popen[bytes], end: signal.Signals, *, at_work: bool) -> Iterator[str]:
    """End a process. Yields what is wrong with how it went, and with what it left."""
    process.send_signal(end)
    try:
        status = process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        yield f"it did not end within {STOP_S} s of {end.name}"
        return
    if at_work and end == signal.SIGTERM and status != ENDED_WELL:
        yield f"asked to stop, it ended with status {status}"
    if left := session_of(process.pid):
        yield f"it left {left}"


def session_of(leader: int) -> list[str]:
    """The commands that still run in the session of a process that has ended."""
    return [
        (stat.parent / "cmdline").read_text().replace("\0", " ")
        for stat in Path("/proc").glob("[0-9]*/stat")
        if _session(stat) == leader
    ]


def _session(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None


def main() -> int:
    """Start and end both on a stack of its own, and say what was broken.

    Returns:
        0 where nothing was, else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    given = parser.parse_args()
    say(f"seed {given.seed}, {given.rounds} rounds")
    with stop_signals(), ScriptedServer() as model, tempfile.TemporaryDirectory() as place:
        os.environ.update(environment(model))
        with Stack(roles=ROLES) as stack:
            platform = Platform(stack, model)
            restarts = Restarts(platform, Path(place), given.seed)
            restarts.go(given.rounds)
            faults = [*restarts.faults, *unkept(platform)]
            say(f"{platform.log.turns} turns acknowledged meanwhile")
            platform.close()
    for fault in faults:
        say(f"BROKEN {fault}")
    say(f"{len(faults)} promises broken")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

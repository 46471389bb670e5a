"""A storm: random faults while several clients talk, and at the end every promise must be kept.

python -m tests.acceptance.faults.chaos [--seconds 60] [--seed N] [--clients 4]
"""

import argparse
import os
import random
import secrets
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import redis

from afterturn.stack.roles import Role
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.acceptance.platform import ROLES, WISH, Platform, children_of, dialogue, environment
from tests.acceptance.windows import broken_window

PROCESSES = (Role.API, Role.DISPATCHER, Role.WORKER, Role.BEAT, Role.VALKEY, Role.POSTGRES)
ANSWERS = (
    Step(Mode.UNAVAILABLE, retry_after_s=None),
    Step(Mode.RATE_LIMITED, retry_after_s=1),
    Step(Mode.RESET),
    Step(Mode.EMPTY),
    Step(Mode.CUT_OFF),
    Step(Mode.REFUSAL),
    Step(Mode.TRUNCATED_JSON),
    Step(Mode.SUMMARY, delay_s=3),
    Step(Mode.SUMMARY, delay_s=6),
)
PAUSE_S, FREEZE_S = (0.3, 2.0), (0.5, 4.0)
TURNS_A_SESSION = 12


class Storm:
    """Faults of every kind, in an order that a seed decides."""

    def __init__(self, platform: Platform, seed: int) -> None:
        self._platform = platform
        self._chance = random.Random(seed)  # noqa: S311 - faults that repeat by their seed
        self.done: Counter[str] = Counter()
        self._kinds: tuple[Callable[[], str], ...] = (
            self._kill,
            self._kill,
            self._kill_children,
            self._stop,
            self._freeze,
            self._flush,
            self._spoil_answers,
        )

    def blow(self, seconds: float) -> None:
        """One fault after another, until the time is over."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            self.done[self._chance.choice(self._kinds)()] += 1
            time.sleep(self._chance.uniform(*PAUSE_S))

    def _kill(self) -> str:
        role = self._chance.choice(PROCESSES)
        self._platform.end(self._platform.pid(role))
        return f"kill {role}"

    def _kill_children(self) -> str:
        for pid in children_of_if_there(self._platform.pid(Role.WORKER)):
            self._platform.end(pid)
        return "kill the worker's children"

    def _stop(self) -> str:
        role = self._chance.choice((Role.API, Role.DISPATCHER, Role.WORKER, Role.BEAT))
        send(self._platform.pid(role), signal.SIGTERM)
        return f"stop {role}"

    def _freeze(self) -> str:
        role = self._chance.choice(PROCESSES)
        frozen = [pid := self._platform.pid(role), *children_of_if_there(pid)]
        for one in frozen:
            send(one, signal.SIGSTOP)
        time.sleep(self._chance.uniform(*FREEZE_S))
        for one in frozen:
            send(one, signal.SIGCONT)
        return f"freeze {role}"

    def _flush(self) -> str:
        try:
            with redis.Redis.from_url(
                self._platform.broker_url, socket_timeout=2, socket_connect_timeout=2
            ) as broker:
                broker.flushall()
        except redis.RedisError:
            return "flush a broker that is away"
        return "flush the broker"

    def _spoil_answers(self) -> str:
        step = self._chance.choice(ANSWERS)
        self._platform.model.next(step)
        return f"model: {step.mode}"


class Crowd:
    """Clients that send turns until they are acknowledged, ask for contexts, and send turns twice."""

    def __init__(self, platform: Platform, seed: int) -> None:
        self._platform = platform
        self._seed = seed
        self._ends = threading.Event()
        self.faults: list[str] = []
        self.contexts = 0

    @contextmanager
    def talking(self, clients: int) -> Iterator[None]:
        """Talk while the block runs."""
        threads = [threading.Thread(target=self._talk, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join()

    def _talk(self, client: int) -> None:
        chance = random.Random(f"{self._seed} {client}")  # noqa: S311
        number = 0
        try:
            while not self._ends.is_set():
                number += 1
                session_id = f"client-{client}-{number // TURNS_A_SESSION}"
                turn = (session_id, f"turn-{number}", spoken(number))
                self._platform.send_until_accepted(*turn)
                if chance.random() < 0.2 and not self._platform.send_until_accepted(*turn):
                    self.faults.append(f"{session_id}: turn-{number} was taken twice")
                if chance.random() < 0.5:
                    self._ask(session_id)
        except BaseException as failure:  # noqa: BLE001 - a client that fails is what this looks for
            self.faults.append(f"client {client}: {type(failure).__name__}: {failure}")

    def _ask(self, session_id: str) -> None:
        try:
            answer = self._platform.client.post(f"/v1/sessions/{session_id}/context", json=WISH)
        except httpx.TransportError:
            return
        if not answer.is_success:
            if not answer.is_server_error:
                self.faults.append(f"{session_id}: {answer.status_code} {answer.text[:200]}")
            return
        self.contexts += 1
        self.faults += [f"{session_id}: {broken}" for broken in broken_window(answer.json())]


def spoken(number: int) -> list[dict[str, Any]]:
    """A turn; every third one calls two tools between its question and its answer."""
    question, answer = dialogue(number)
    if number % 3:
        return [question, answer]
    calls = [f"call-{number}-{part}" for part in range(2)]
    wished = [
        {"id": call, "type": "function", "function": {"name": "order", "arguments": "{}"}} for call in calls
    ]
    results = [{"role": "tool", "tool_call_id": call, "content": f"{call}: wet"} for call in calls]
    return [question, {"role": "assistant", "content": None, "tool_calls": wished}, *results, answer]


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that may be gone already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def children_of_if_there(pid: int) -> list[int]:
    """The children of a process that may be gone already."""
    try:
        return children_of(pid)
    except OSError:
        return []


def main() -> int:
    """Run a storm, let it settle, and say which promises were broken.

    Returns:
        0 where none was, else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    say(f"seed {given.seed}, {given.seconds:g} s, {given.clients} clients")
    with ScriptedServer() as model:
        os.environ.update(environment(model))
        with Stack(roles=ROLES) as stack:
            platform = Platform(stack, model)
            storm, crowd = Storm(platform, given.seed), Crowd(platform, given.seed)
            with crowd.talking(given.clients):
                storm.blow(given.seconds)
            model.script.clear()
            faults = [*crowd.faults, *unkept(platform)]
            report(platform, storm, crowd, faults)
            platform.close()
    return 1 if faults else 0


def unkept(platform: Platform) -> list[str]:
    """What is wrong after all has come to rest."""
    try:
        platform.keeps_its_promises()
    except AssertionError as broken:
        return [str(broken)]
    return []


def report(platform: Platform, storm: Storm, crowd: Crowd, faults: list[str]) -> None:
    """Say what was done to it, what it did meanwhile, and what it broke."""
    for fault, times in sorted(storm.done.items()):
        say(f"  {times:4} x {fault}")
    [(summaries,)] = platform.rows("select count(*) from summary where state = 'active'")
    states = platform.rows("select state, count(*) from llm_call group by state order by state")
    say(
        f"{platform.log.turns} turns acknowledged, {crowd.contexts} contexts, {summaries} summaries, "
        f"calls of the model: {', '.join(f'{count} {state}' for state, count in states)}"
    )
    for fault in faults:
        say(f"BROKEN {fault}")
    say(f"{len(faults)} promises broken")


def say(line: str) -> None:
    """One line for whoever watches."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

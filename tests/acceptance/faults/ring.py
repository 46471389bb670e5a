"""An API, a dispatcher and a worker that die at a trigger point, each started again as soon as it is gone."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.roles import StackRole, api_command, dispatcher_command, worker_command
from tests.acceptance.faults.points import Triggers
from tests.acceptance.faults.processes import OWN_BROKER, Kept, answers
from tests.acceptance.platform import SOON_S, Platform
from tests.waiting import wait_until

RENEW_S = 0.25
SETTINGS = {
    "AFTERTURN_LEASE_S": "1",
    "AFTERTURN_RENEW_S": str(RENEW_S),
    "AFTERTURN_POLL_S": "0.05",
    "AFTERTURN_SUMMARIZE_DEBOUNCE_S": "0.1",
    "AFTERTURN_LEARN_SPREAD_S": "0",
    # No work here waits for a cap, and a look at the caps would come to some lives and not to others.
    "AFTERTURN_CAP_LOOK_S": "3600",
    # On a busy machine a lease so short is lost now and then; what dies of that is another test's.
    "AFTERTURN_MAX_CRASHES": "20",
}
PATIENCE_S = 0.05


@dataclass
class Ring:
    """Processes beside those of the stack, through which a life goes.

    Attributes:
        platform: The stack, of which dispatcher and beat stand still.
        client: A client of the API that dies.
        triggers: The points that are passed.
        settings: What each process has.
        place: For their logs.
    """

    platform: Platform
    client: httpx.Client
    triggers: Triggers
    settings: Mapping[str, str]
    place: Path

    def ask(self, method: str, path: str, body: Any = None, *, gone: bool = False) -> httpx.Response:
        """Ask again and again, as a careful client does.

        Args:
            method: Of the call.
            path: Of the call.
            body: Sent as JSON.
            gone: Whether "not found" is an answer: the call was done, and nobody was told.
        """
        deadline = time.monotonic() + SOON_S
        while True:
            try:
                answer = self.client.request(method, path, json=body)
            except httpx.TransportError:
                answer = None
            if answer is not None and (answer.is_success or (gone and answer.status_code == 404)):
                return answer
            assert answer is None or answer.is_server_error, answer.text
            assert time.monotonic() < deadline, f"{method} {path} is not answered: {answer and answer.text}"
            time.sleep(PATIENCE_S)

    def is_done(self, key: str) -> None:
        """Wait until nothing is to be done for a key any more, and something was."""
        query = "select state, last_error, last_outcome from due_work where key = %s"
        wait_until(
            lambda: (found := self.platform.rows(query, key)) and {state for state, *_ in found} == {"idle"},
            within_s=SOON_S,
            what=lambda: f"{key} is done: {self.platform.rows(query, key)}",
        )

    def rests(self) -> None:
        """Wait until nothing at all is due."""
        due = "select kind, key, state, last_error from due_work where state = 'running' or due_at <= now()"
        query = f"{due} and state in ('ready', 'running')"
        wait_until(lambda: not self.platform.rows(query), within_s=SOON_S, what="nothing is due")


@contextmanager
def ring_around(platform: Platform, place: Path) -> Iterator[Ring]:
    """Let processes that die at trigger points do the work; those of the stack get none meanwhile."""
    triggers = Triggers(place / "triggers")
    broker_url = f"{platform.broker_url.rsplit('/', 1)[0]}/{OWN_BROKER}"
    settings = {
        **platform.environment_of(StackRole.DISPATCHER),
        **SETTINGS,
        "AFTERTURN_BROKER_URL": broker_url,
    }
    commands = {
        StackRole.API: api_command(),
        StackRole.DISPATCHER: dispatcher_command(),
        StackRole.WORKER: worker_command(concurrency=2, name="own"),
    }
    with ExitStack() as running, ReservedPorts() as ports:
        port = ports.reserve()
        settings["AFTERTURN_API_PORT"] = str(port)
        for role in (StackRole.BEAT, StackRole.DISPATCHER):
            running.enter_context(platform.paused(role))
        for role, command in commands.items():
            running.enter_context(Kept(command, {**settings, **triggers.told(role)}, place / role))
        client = running.enter_context(
            httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=platform.client.headers, timeout=60)
        )
        wait_until(lambda: answers(client), within_s=SOON_S, what="the other API answers")
        yield Ring(platform, client, triggers, settings, place)

"""A chat platform before a running stack, a scripted model behind it, and a hand on every process."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psycopg
import redis

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.command import afterturn
from tests.acceptance.ledger import find_uncounted, marked
from tests.acceptance.logs import Logs
from tests.acceptance.windows import broken_window
from tests.oracle import AckLog, Messages, find_violations, is_at_rest
from tests.waiting import wait_until

T = TypeVar("T")

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)
SECRET_KEY = "sk-theprovidersverysecretkey"
MARKER = "marigold"
"""A word of every message: it may be in Postgres and in what the model is sent, and nowhere else."""

WISH = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Is the seal broken?"}]}
"""A context that somebody asks for."""

LEASE_S = 4
SOON_S = float(os.environ.get("TESTS_SOON_S", "240"))
"""Within this all is as it should be again, on a busy machine too; alone it takes a lease or a start."""

SETTINGS = {
    "AFTERTURN_LEASE_S": str(LEASE_S),
    "AFTERTURN_RENEW_S": "1",
    "AFTERTURN_POLL_S": "0.1",
    "AFTERTURN_BACKOFF_S": "0.5",
    "AFTERTURN_TICK_S": "1",
    "AFTERTURN_LEARN_AT_HOUR_UTC": "0",
    "AFTERTURN_CAP_LOOK_S": "2",
    "AFTERTURN_MODEL_LOOK_S": "1",
    "AFTERTURN_SUMMARIZE_MESSAGE_COUNT": "6",
    "AFTERTURN_SUMMARIZE_LEAST_SHARE": "0",
    "AFTERTURN_SUMMARIZE_LEAST_TOKENS": "0",
    "AFTERTURN_SUMMARIZE_KEEP_MESSAGES": "2",
    "AFTERTURN_SUMMARIZE_DEBOUNCE_S": "0.2",
    # What a read does without on a busy machine would change its window from call to call.
    "AFTERTURN_RECALL_TIMEOUT_MS": "5000",
    "AFTERTURN_LLM_CONNECT_TIMEOUT_S": "3",
    "AFTERTURN_LLM_DEADLINE_BASE_S": "8",
    "AFTERTURN_LLM_DEADLINE_MAX_S": "9",
    "AFTERTURN_LLM_LOST_AFTER_S": "10",
    "AFTERTURN_LLM_BREAKER_OPEN_S": "4",
    "AFTERTURN_ARTIFACT_PRICE_SHARE": "0.003",
    "AFTERTURN_SPECULATION_ALLOWANCE_TOKENS": "100000000",
}


def environment(model: ScriptedServer) -> dict[str, str]:
    """Short leases and quick looks, and the scripted model as the provider."""
    return {
        **SETTINGS,
        "SUMMARIZER_MODEL": "openai/scripted",
        "CONTEXT_PLANNER_MODEL": "openai/scripted",
        "AFTERTURN_LLM_API_BASE": model.base_url,
        "AFTERTURN_LLM_API_KEY": SECRET_KEY,
    }


LONG = 8
"""With so many messages that no summary covers, a session of `SETTINGS` calls for one."""

MOST_SHOWN = 10
"""Pieces of work that a failure names."""


class Platform:
    """Sends turns, remembers which were accepted, and knows what became of them."""

    def __init__(self, stack: Stack, model: ScriptedServer) -> None:
        self._stack, self.model = stack, model
        self.log = AckLog()
        self._talked = set[str]()
        self.client = httpx.Client(
            base_url=stack.at.base_url, headers={"Authorization": f"Bearer {stack.at.api_key}"}, timeout=60
        )

    def close(self) -> None:
        self.client.close()

    @contextmanager
    def through(self, client: httpx.Client) -> Iterator[None]:
        """Talk to another API meanwhile."""
        before, self.client = self.client, client
        try:
            yield
        finally:
            self.client = before

    @property
    def database_url(self) -> str:
        return self._stack.at.database_url

    @property
    def broker_url(self) -> str:
        return self._stack.at.broker_url

    @property
    def logs(self) -> Logs:
        return Logs(self._stack.at.directory / "logs", SOON_S)

    def pid(self, role: StackRole) -> int:
        """The process that has this role now."""
        self._stack.poll()
        return self._stack.at.pids[role]

    def kill(self, role: StackRole) -> None:
        """End a process as a power cut would; its supervisor starts another.

        Those of the API end together: a child that outlives its parent would answer for a moment more.
        """
        (os.killpg if role is StackRole.API else os.kill)(self.pid(role), signal.SIGKILL)

    def end(self, pid: int) -> None:
        """End a process that may be gone already."""
        sent(pid, signal.SIGKILL)

    def at_once(self, call: Callable[[], T], *, times: int) -> list[T]:
        """Make the same call from several threads together."""
        with ThreadPoolExecutor(times) as pool:
            return [one.result() for one in [pool.submit(call) for _ in range(times)]]

    def environment_of(self, role: StackRole) -> dict[str, str]:
        """What a process of the stack was given."""
        entries = Path(f"/proc/{self.pid(role)}/environ").read_bytes().split(b"\0")
        return dict(os.fsdecode(entry).split("=", 1) for entry in entries if b"=" in entry)

    @contextmanager
    def paused(self, role: StackRole) -> Iterator[None]:
        """Let a process and its pool stand still."""
        pid = self.pid(role)
        os.kill(pid, signal.SIGSTOP)
        stopped = [pid]
        try:
            # Only then does it begin no more of its children, and those that there are may be about to end.
            wait_until(lambda: stands_still(pid), within_s=SOON_S, what=f"{role} stands still")
            stopped += (child for child in children_of(pid) if sent(child, signal.SIGSTOP))
            yield
        finally:
            for one in stopped:  # whoever was killed meanwhile is gone
                sent(one, signal.SIGCONT)

    @contextmanager
    def broker(self) -> Iterator[redis.Redis]:
        """A connection to the broker as it is now."""
        with redis.Redis.from_url(self.broker_url) as connection:
            yield connection

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database itself."""
        with psycopg.connect(self.database_url) as database:
            return database.execute(query.encode(), values or None).fetchall()

    def database_answers(self) -> bool:
        """Whether the database takes connections."""
        try:
            return bool(self.rows("select 1"))
        except psycopg.OperationalError:
            return False

    def send(self, session_id: str, turn_id: str, messages: Messages) -> httpx.Response | None:
        """Send a turn and note what was promised; None where no answer came."""
        self.log.sends(session_id, turn_id)
        self._talked.add(session_id)
        try:
            answer = self.client.post(
                f"/v1/sessions/{session_id}/turns", json={"turn_id": turn_id, "messages": messages}
            )
        except httpx.TransportError:
            return None
        if answer.is_success:
            self.log.accepted(answer.json(), messages)
        return answer

    def send_until_accepted(self, session_id: str, turn_id: str, messages: Messages) -> bool:
        """Send a turn again and again, as a careful client does; whether it was there already."""
        deadline = time.monotonic() + SOON_S
        while True:
            answer = self.send(session_id, turn_id, messages)
            if answer is not None and answer.is_success:
                return bool(answer.json()["duplicate"])
            assert answer is None or answer.is_server_error, answer.text
            assert time.monotonic() < deadline, f"{turn_id} is not accepted: {answer and answer.text}"
            time.sleep(0.05)

    def talk(self, session_id: str, numbers: Sequence[int] = range(1, 5)) -> None:
        """Send turns; the four are just enough to call for one summary."""
        for number in numbers:
            answer = self.send(session_id, f"{session_id}-{number}", dialogue(number, session_id))
            assert answer is not None
            assert answer.status_code == httpx.codes.ACCEPTED, answer.text

    @contextmanager
    def traffic(self, sessions: Sequence[str]) -> Iterator[None]:
        """Send turns of all these sessions at once, a client each, until the block ends."""
        ends, failures = threading.Event(), list[BaseException]()

        def run(session_id: str) -> None:
            number = 0
            try:
                while not ends.is_set():
                    number += 1
                    self.send_until_accepted(session_id, f"{session_id}-{number}", spoken(number, session_id))
            except BaseException as failure:  # noqa: BLE001 - told to the test, in its own thread
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(session_id,)) for session_id in sessions]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        assert failures == []

    def flows(self, turns: int = 10) -> None:
        """Wait until so many more turns were acknowledged."""
        before = self.log.turns
        wait_until(lambda: self.log.turns >= before + turns, within_s=SOON_S, what="traffic flows")

    def keeps_its_promises(self) -> None:
        """Wait until all has come to rest: every acknowledged turn is there once, nothing is forgotten.

        And every session that was talked to is read once more: its window holds what its certificate says.
        """
        self._comes_to_rest()
        assert self._broken_windows() == []
        self._comes_to_rest()
        broken = find_violations(self.database_url, self.log, raw_messages=LONG)
        broken += find_uncounted(self.database_url, list(self.model.requests), self.log.promised)
        assert not broken, "\n".join(broken)
        asked = self.model.count
        [(noted,)] = self.rows("select count(*) from llm_call")
        assert noted >= asked, "the model was asked something that the ledger does not know"

    def _comes_to_rest(self) -> None:
        """Wait as long as work is done: a busy machine does it slowly, a stuck one does none."""
        least = len(self.unfinished())
        while not self._rests_or_goes_on(least):
            least = len(self.unfinished())

    def _rests_or_goes_on(self, least: int) -> bool:
        """Whether all rests; False as soon as less is left to do than there was.

        Raises:
            AssertionError: Nothing was done for long.
        """

        def has_changed() -> str:
            if is_at_rest(self.database_url):
                return "rests"
            return "goes on" if len(self.unfinished()) < least else ""

        left = f"rest: {least} left, {self.unfinished()[:MOST_SHOWN]}"
        return wait_until(has_changed, within_s=SOON_S, what=left) == "rests"

    def _broken_windows(self) -> list[str]:
        """What is wrong with the windows of the sessions that were talked to since this was asked last."""
        talked, self._talked = self._talked, set()
        faults = list[str]()
        for session_id in sorted(talked & self.log.promised.keys()):
            promised = self.log.promised[session_id].values()
            known_seq = max((promise.last_seq for promise in promised), default=0)
            broken = broken_window(self.window(session_id), known_seq=known_seq)
            faults += [f"{session_id}: {fault}" for fault in broken]
        return faults

    def window(self, session_id: str) -> dict[str, Any]:
        """The next request of a session, as the platform would send it."""
        answer = self.client.post(f"/v1/sessions/{session_id}/context", json=WISH)
        assert answer.is_success, f"{session_id}: {answer.status_code} {answer.text}"
        found: dict[str, Any] = answer.json()
        return found

    def operator(self, *words: str) -> str:
        """Run a command of `afterturn` on this stack. Returns what it prints."""
        return afterturn(self._stack.at.directory, *words)

    def unfinished(self) -> list[tuple[Any, ...]]:
        """The work that is not done, for a failure."""
        query = "select kind, key, state, attempts, crashes, last_error from due_work where state <> 'idle'"
        return self.rows(query)

    def work_id(self, session_id: str) -> int:
        """The work that summarizes a session."""
        query = "select work_id from due_work where kind = 'summarize' and key = %s"
        [(work_id,)] = self.rows(query, session_id)
        return int(work_id)

    def due_work(self, session_id: str) -> dict[str, Any]:
        """The work of a session, as the platform is shown it."""
        [shown] = self.client.get(f"/v1/sessions/{session_id}").json()["due_work"]
        found: dict[str, Any] = shown
        return found

    def begins_to_summarize(self, session_id: str) -> None:
        """Talk, and wait until the model has been asked."""
        before = self.model.count
        self.talk(session_id)
        wait_until(lambda: self.model.count > before, within_s=SOON_S, what="the model is asked")

    def is_summarized(self, session_id: str) -> None:
        """Wait for the summary: it must come soon, be the only one, and leave nothing to summarize."""
        query = """
            select 1 from due_work
            where key = %s and kind = 'summarize' and state = 'idle' and finished_at is not null
        """
        wait_until(
            lambda: self.rows(query, session_id),
            within_s=SOON_S,
            what=lambda: f"a summary of {session_id}: {self.told(session_id)}",
        )
        found = self.client.get(f"/v1/sessions/{session_id}/summaries").json()["summaries"]
        assert [(one["version"], one["state"], one["from_seq"], one["to_seq"]) for one in found] == [
            (1, "active", 1, 6)
        ], found

    def told(self, session_id: str) -> Any:
        """What the work says of itself, for a failure."""
        return self.rows(
            "select kind, state, attempts, crashes, last_error, last_outcome from due_work where key = %s",
            session_id,
        )

    def calls(self, session_id: str) -> list[str]:
        """The states of the session's calls in the ledger."""
        found = self.rows(
            "select state from llm_call where session_id = %s order by created_at, call_id", session_id
        )
        return [state for (state,) in found]


def children_of(pid: int) -> list[int]:
    """The direct children of a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sent(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process that may be gone. Returns whether it was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def stands_still(pid: int) -> bool:
    """Whether a process is stopped, or is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "TZX"
    except OSError:
        return True


def dialogue(number: int, session_id: str = "") -> list[dict[str, str]]:
    """A turn with something in it to summarize; by the session's id its prompts are told apart."""
    return [
        {
            "role": "user",
            "content": (
                f"Please look at {MARKER} order M-{4000 + number} of {marked(session_id)}. The driver says "
                "that the seal is broken and that the boxes at the bottom are wet. We must tell the customer "
                "before noon, and I would like to know whether the insurance needs photographs of every "
                "single box."
            ),
        },
        {
            "role": "assistant",
            "content": (
                f"I have looked at the record of order M-{4000 + number} of {marked(session_id)}. It came in "
                "at six this morning and the seal was noted as whole at the gate. The insurance of "
                f"{MARKER} wants a photograph of each side and one of the label. I suggest that we move the "
                "wet boxes to the drying room."
            ),
        },
    ]


def spoken(number: int, session_id: str = "") -> list[dict[str, Any]]:
    """A turn; every third one calls two tools between its question and its answer."""
    question, answer = dialogue(number, session_id)
    if number % 3:
        return [question, answer]
    calls = [f"call-{number}-{part}" for part in range(2)]
    wished = [
        {"id": call, "type": "function", "function": {"name": "order", "arguments": "{}"}} for call in calls
    ]
    results = [{"role": "tool", "tool_call_id": call, "content": f"{call}: wet"} for call in calls]
    return [question, {"role": "assistant", "content": None, "tool_calls": wished}, *results, answer]


def messages_in(broker: redis.Redis, queue: str) -> list[dict[str, Any]]:
    """What waits in a queue."""
    return [json.loads(message) for message in broker.lrange(queue, 0, -1)]

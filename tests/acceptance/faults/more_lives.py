"""Lives beside that of a turn: artifacts, plans, erasures, nights, and what processes do by the clock."""

from collections.abc import Iterator
from typing import Any

from afterturn.stack.roles import StackRole, beat_command
from context.artifacts.content import artifact_id_of
from tests.acceptance.faults.lives import BY_THE_CLOCK, Life, SummaryLife, faults_of_session
from tests.acceptance.faults.points import Point
from tests.acceptance.faults.processes import Kept
from tests.acceptance.faults.ring import Ring
from tests.acceptance.ledger import marked
from tests.acceptance.platform import SOON_S, dialogue
from tests.oracle import find_remains, find_word
from tests.waiting import wait_until

CATALOG = {
    "packs": [
        {"name": "blog.draft", "description": "Draft a blog article from a brief."},
        {"name": "image.generate", "description": "Generate an illustration from a description."},
    ]
}


READ = [("general", "ready"), ("turn", "ready")]
"""What is read of an artifact for its own sake, and for the turn that brought it."""


class ArtifactLife(Life):
    """A tool returns more than a message may hold: it is read ahead, and planned when a context asks."""

    name = "artifact"

    def live(self, ring: Ring, key: str) -> None:
        """Send the turn, wait for what is read ahead, and ask for it."""
        with ring.platform.through(ring.client):
            ring.platform.send_until_accepted(key, f"{key}-1", report_turn(key))
        wait_until(
            lambda: readings(ring, key) == READ, within_s=SOON_S, what=f"the artifact of {key} is read"
        )
        ring.rests()
        asked = {"role": "user", "content": f"What is the state of berth 12 of {key}?"}
        ring.ask("POST", f"/v1/sessions/{key}/context", {"model": "gpt-4o-mini", "messages": [asked]})
        ring.rests()

    def faults(self, ring: Ring, key: str) -> Iterator[str]:
        """Each reading is there once and ready."""
        yield from faults_of_session(ring, key)
        if (found := readings(ring, key)) != READ:
            yield f"{key}: its artifact was read as {found}"
        yield from open_work(ring, artifact_id_of(report(key)))


def readings(ring: Ring, key: str) -> list[tuple[Any, ...]]:
    """How the artifact of a life was read ahead."""
    query = """
        select origin, state from artifact_summary
        where artifact_id = %s and origin in ('general', 'turn') order by origin
    """
    return ring.platform.rows(query, artifact_id_of(report(key)))


def report(key: str) -> str:
    """The result of a tool, longer than a message may hold."""
    return "".join(
        f"Berth {number} of {key}: crane {number * 7} is at rest, draught {number} m. "
        for number in range(150)
    )


def report_turn(key: str) -> list[dict[str, Any]]:
    """A turn with such a result."""
    call = {"id": "c1", "type": "function", "function": {"name": "read_berths", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"Which crane of {key} is at rest, and what is its draught?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": report(key)},
        {"role": "assistant", "content": "All of them are."},
    ]


def open_work(ring: Ring, key: str) -> Iterator[str]:
    """Work of a key that has not ended well."""
    query = "select kind, state, last_error from due_work where key = %s and state <> 'idle'"
    for kind, state, error in ring.platform.rows(query, key):
        yield f"{key}: its {kind} is {state}: {error}"


class PlanLife(Life):
    """A plan is asked for, made by a worker, and its outcome is told."""

    name = "plan"

    def __init__(self) -> None:
        """No plan is asked for yet."""
        self._plans = dict[str, str]()

    def live(self, ring: Ring, key: str) -> None:
        """Ask until a plan is promised, wait for it, and say how it went."""
        ring.ask("PUT", "/v1/catalogs/points", CATALOG)
        asked = {
            "intent": f"Draft a blog article about {key} and generate an illustration for it",
            "catalog": "points",
            "model": "openai/scripted",
        }
        plan_id = self._plans[key] = ring.ask("POST", "/v1/plans", asked).json()["plan_id"]
        path = f"/v1/plans/{plan_id}"
        wait_until(
            lambda: ring.ask("GET", path).json()["status"] != "wanted",
            within_s=SOON_S,
            what=f"the plan of {key}",
        )
        ring.ask("POST", f"{path}/outcome", {"steps": [{"order": 1, "outcome": "ok"}]})
        ring.rests()

    def faults(self, ring: Ring, key: str) -> Iterator[str]:
        """The plan is ready, and its outcome counts once."""
        plan_id = self._plans[key]
        plan = ring.ask("GET", f"/v1/plans/{plan_id}").json()
        tools = [(step["tool"], step["outcome"]) for step in plan["steps"] or []]
        if (plan["status"], tools) != ("ready", [("blog.draft", "ok")]):
            yield f"{key}: its plan is {plan['status']}: {tools}"
        yield from open_work(ring, plan_id)


class EraseLife(Life):
    """A user of two sessions is erased, with the summaries and whatever else was made of them."""

    name = "erase"

    def prepare(self, ring: Ring, key: str) -> None:
        """Two sessions, summarized and indexed."""
        for session_id in sessions_of(key):
            messages = [message for number in range(1, 5) for message in dialogue(number, session_id)]
            turn = {"turn_id": "t1", "messages": messages, "user_id": key}
            assert ring.platform.client.post(f"/v1/sessions/{session_id}/turns", json=turn).is_success
        for session_id in sessions_of(key):
            ring.is_done(session_id)

    def live(self, ring: Ring, key: str) -> None:
        """Erase the user, again where no answer came."""
        ring.ask("DELETE", f"/v1/users/{key}", gone=True)
        ring.rests()

    def faults(self, ring: Ring, key: str) -> Iterator[str]:
        """No row holds a word of it."""
        yield from find_remains(ring.platform.database_url, sessions_of(key))
        for session_id in sessions_of(key):
            yield from (
                f"{session_id} is in {t}" for t in find_word(ring.platform.database_url, marked(session_id))
            )
            yield from open_work(ring, session_id)


def sessions_of(key: str) -> list[str]:
    """The sessions of a user who is erased."""
    return [f"{key}-{part}" for part in "ab"]


class NightLife(Life):
    """A tick of beat begins a night: every tenant learns from what its plans taught."""

    name = "night"

    def __init__(self) -> None:
        """No night has begun yet."""
        self._plan, self._asked = PlanLife(), dict[str, int]()

    def prepare(self, ring: Ring, key: str) -> None:
        """There is something to learn, and this night was not yet."""
        self._plan.live(ring, key)
        ring.platform.rows("delete from learning_night returning night")
        self._asked[key] = asked_to_learn(ring)

    def takes(self, point: Point) -> bool:
        """Ticks come again and again: the first of each kind is taken."""
        return point.times == 1 and not point.what.endswith(BY_THE_CLOCK[0]) and not _dispatcher_lives(point)

    def live(self, ring: Ring, key: str) -> None:
        """Let beat tick until all has been learned."""
        command = beat_command(str(ring.place / f"{key}-schedule"))
        log = ring.place / "beat"
        with Kept(command, {**ring.settings, **ring.triggers.told(StackRole.BEAT)}, log):
            wait_until(
                lambda: asked_to_learn(ring) > self._asked[key], within_s=SOON_S, what="the night begins"
            )
            wait_until(
                lambda: not open_nights(ring), within_s=SOON_S, what=lambda: f"it ends: {open_nights(ring)}"
            )
            if ring.triggers.is_armed:
                wait_until(
                    lambda: ring.triggers.has_struck, within_s=SOON_S, what="a tick comes to the point"
                )
        ring.rests()

    def faults(self, ring: Ring, key: str) -> Iterator[str]:
        """It was asked for once, and all that was asked for was done."""
        asked = asked_to_learn(ring) - self._asked[key]
        if asked != 1:
            yield f"{key}: its night was asked for {asked} times"
        yield from (f"{key}: {work}" for work in open_nights(ring))
        [(nights,)] = ring.platform.rows("select count(*) from learning_night")
        if nights != 1:
            yield f"{key}: {nights} nights are noted"


def _dispatcher_lives(point: Point) -> bool:
    return point.role == StackRole.DISPATCHER and point.what.endswith(BY_THE_CLOCK)


def asked_to_learn(ring: Ring) -> int:
    """How often the learning of all tenants was asked for."""
    query = "select coalesce(max(wanted), 0) from due_work where kind = 'learn' and key = 'tenants'"
    [(asked,)] = ring.platform.rows(query)
    return int(asked)


def open_nights(ring: Ring) -> list[tuple[Any, ...]]:
    """Learning that has not ended well."""
    query = "select key, state, last_error from due_work where kind = 'learn' and state <> 'idle'"
    return ring.platform.rows(query)


class ClockLife(SummaryLife):
    """What processes commit by the clock, and after it the life of a turn."""

    name = "clock"

    def takes(self, point: Point) -> bool:
        """The first of each kind."""
        return point.what.endswith(BY_THE_CLOCK) and point.times == 1

    def live(self, ring: Ring, key: str) -> None:
        """Wait for it, then go on as usual."""
        if ring.triggers.is_armed:
            wait_until(lambda: ring.triggers.has_struck, within_s=SOON_S, what="the clock")
        super().live(ring, key)
        if not ring.triggers.is_armed:
            wait_until(lambda: self._came(ring), within_s=SOON_S, what="what comes by the clock")

    def _came(self, ring: Ring) -> bool:
        """Whether everything that comes by the clock did; a worker shows its life at its start only."""
        passed = {
            (point.role, end)
            for point in ring.triggers.found()
            for end in BY_THE_CLOCK
            if point.what.endswith(end)
        }
        flush, show = BY_THE_CLOCK
        return passed >= {(StackRole.API, flush), (StackRole.WORKER, flush), (StackRole.DISPATCHER, show)}

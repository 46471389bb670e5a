"""A chat platform: what it knows of its tenants and sessions, and everything that it may do next."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.soak import bodies, words
from benchmarks.soak.call import Book, Caller
from benchmarks.soak.promises import Session

MOST_OPEN = 12
"""Sessions that a tenant has going at once."""

REFUSED_MODEL = "local/small"
"""What the emergency call is about: limits are learned of this model and of no other."""

MCP = {"Accept": "application/json, text/event-stream"}


@dataclass
class Tenant:
    """One customer of the platform.

    Attributes:
        label: Part of every id.
        caller: Calls with the tenant's key.
        open: Sessions that go on.
        left: Sessions that have ended; kept for the reckoning.
        attachments: Documents.
        plans: Plans whose outcome was not told yet.
    """

    label: str
    caller: Caller
    open: list[Session] = field(default_factory=list)
    left: list[Session] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)

    @property
    def sessions(self) -> list[Session]:
        """All of them."""
        return [*self.left, *self.open]


class Platform:
    """Does one thing after another, each drawn from a seed."""

    def __init__(self, seed: str, tenants: list[Tenant], book: Book) -> None:
        """Begin with nothing stored."""
        self.rng = Random(seed)  # noqa: S311 (repeatable, not secret)
        self.tenants, self.book = tenants, book
        self._made = 0

    def prepare(self) -> None:
        """Give every tenant its catalog."""
        for tenant in self.tenants:
            tenant.caller.send(
                "put catalog",
                "PUT",
                f"/v1/catalogs/{bodies.CATALOG}",
                bodies.catalog(self.rng, 1),
                expect=GOOD,
            )

    def step(self, due: float) -> None:
        """Do the next thing, which was due at this time of `time.monotonic`."""
        tenant = self.rng.choice(self.tenants)
        tenant.caller.due = due
        act: Callable[[Platform, Tenant], None] = self.rng.choices(_ACTS, _WEIGHTS)[0]
        act(self, tenant)

    def number(self) -> int:
        """The next one."""
        self._made += 1
        return self._made

    def session(self, tenant: Tenant) -> Session:
        """One that goes on, or a new one where there is room."""
        if len(tenant.open) < MOST_OPEN and (not tenant.open or self.rng.random() < 0.2):
            name = f"{tenant.label}-{self.number()}"
            wanted = 3 + int(self.rng.expovariate(1 / 20))
            tenant.open.append(Session(name, f"user-{name}", wanted))
            return tenant.open[-1]
        return self.rng.choice(tenant.open)

    def stored(self, tenant: Tenant) -> Session | None:
        """One that has a turn."""
        having = [session for session in tenant.open if session.turns]
        return self.rng.choice(having) if having else None

    def leave(self, tenant: Tenant, session: Session) -> None:
        """No more of it."""
        tenant.open.remove(session)
        tenant.left.append(session)

    def accept(self, session: Session, event: bodies.Body, receipt: object) -> None:
        """Write a receipt into the log of promises."""
        if isinstance(receipt, dict) and (wrong := session.keep(event, receipt)):
            self.book.blame(wrong)


GOOD = (200, 201, 202)
REFUSED = (400, 404, 409, 413, 415, 422)


def turn(platform: Platform, tenant: Tenant) -> None:
    """A turn is finished."""
    session = platform.session(tenant)
    number = platform.number()
    event = bodies.turn(platform.rng, f"t{number}", number, session.user_id)
    answer = tenant.caller.send("turn", "POST", f"{session.path}/turns", event, expect=(202,))
    if answer.ok:
        platform.accept(session, event, answer.body)
    if len(session.turns) >= session.wanted:
        platform.leave(tenant, session)


def batch(platform: Platform, tenant: Tenant) -> None:
    """Several turns of one session in one call, one of them twice."""
    session = platform.session(tenant)
    numbers = [platform.number() for _ in range(4)]
    events = [bodies.turn(platform.rng, f"t{number}", number, session.user_id) for number in numbers]
    events.append(events[0])
    lines = [json.dumps({"session_id": session.session_id, **event}) for event in events]
    answer = tenant.caller.send("batch", "POST", "/v1/turns", "\n".join(lines).encode())
    for event, result in zip(events, answer.body["results"] if answer.ok else (), strict=answer.ok):
        if "error" in result:
            platform.book.blame(f"a right line was answered {result['error']}")
        else:
            platform.accept(session, event, result)


def turn_again(platform: Platform, tenant: Tenant) -> None:
    """The platform did not hear the answer, and sends a turn once more."""
    session = platform.stored(tenant)
    if session and session.last:
        answer = tenant.caller.send("turn again", "POST", f"{session.path}/turns", session.last)
        if answer.ok:
            platform.accept(session, session.last, answer.body)


def wrong(platform: Platform, tenant: Tenant) -> None:
    """Something that nobody should send."""
    session = platform.session(tenant)
    raw = bodies.wrong(platform.rng, f"w{platform.number()}")
    tenant.caller.send("wrong", "POST", f"{session.path}/turns", raw, expect=REFUSED)


def context(platform: Platform, tenant: Tenant) -> None:
    """The next message is there: what is sent to the model?"""
    session = platform.session(tenant)
    body = bodies.context(platform.rng, tenant.attachments)
    answer = tenant.caller.send("context", "POST", f"{session.path}/context", body)
    if answer.ok:
        certificate = answer.body["certificate"]
        if not (certificate["fits"] and certificate["tool_pairs_intact"]):
            platform.book.blame(f"{session.session_id}: a window does not fit, or its pairs are torn")


def compress(platform: Platform, tenant: Tenant) -> None:
    """The provider refused the window."""
    session = platform.stored(tenant)
    if session:
        body = {**bodies.context(platform.rng, []), "model": REFUSED_MODEL, "context_window": 16_000}
        body["error"] = "This model's maximum context length is 12000 tokens."
        # A session of which nothing can be left out says so.
        tenant.caller.send("compress", "POST", f"{session.path}/compress", body, expect=(200, 422))


def edit(platform: Platform, tenant: Tenant) -> None:
    """Somebody puts other words in the place of a question."""
    session = platform.stored(tenant)
    asked = [first for first, _ in session.turns.values() if first in session.live] if session else []
    if session and asked:
        seq, message = platform.rng.choice(asked), bodies.user(platform.rng)
        path = f"{session.path}/messages/{seq}"
        answer = tenant.caller.send("edit", "PATCH", path, {"message": message})
        if answer.ok:
            session.changed(answer.body, seq, message)
            session.last = None


def erase_message(platform: Platform, tenant: Tenant) -> None:
    """Somebody wants a question forgotten."""
    session = platform.stored(tenant)
    asked = [first for first, _ in session.turns.values() if first in session.live] if session else []
    if session and asked:
        path = f"{session.path}/messages/{platform.rng.choice(asked)}"
        answer = tenant.caller.send("erase message", "DELETE", path)
        if answer.ok:
            session.changed(answer.body)
            session.last = None


def erase_session(platform: Platform, tenant: Tenant) -> None:
    """A session is erased, in one of two ways."""
    session = platform.stored(tenant)
    if session:
        whole = platform.rng.random() < 0.5
        path = session.path if whole else f"/v1/users/{session.user_id}"
        answer = tenant.caller.send("erase session" if whole else "erase user", "DELETE", path)
        session.is_erased = answer.ok
        platform.leave(tenant, session)


def reset(platform: Platform, tenant: Tenant) -> None:
    """A session begins anew."""
    session = platform.stored(tenant)
    if session:
        answer = tenant.caller.send("reset", "POST", f"{session.path}/reset", {})
        if answer.ok:
            session.start = answer.body["starts_after"]


def read(platform: Platform, tenant: Tenant) -> None:
    """Somebody looks."""
    session = platform.stored(tenant)
    if session:
        what, path = platform.rng.choice(
            (
                ("session", session.path),
                ("summaries", f"{session.path}/summaries"),
                ("log", f"{session.path}/turns?from=1"),
            )
        )
        tenant.caller.send(what, "GET", path)


def preflight(platform: Platform, tenant: Tenant) -> None:
    """What is a message about?"""
    session = platform.stored(tenant)
    body = {"message": bodies.intent(platform.rng), **({"session_id": session.session_id} if session else {})}
    tenant.caller.send("preflight", "POST", "/v1/preflight", body)


def plan(platform: Platform, tenant: Tenant) -> None:
    """A plan is wanted; now and then somebody waits for it."""
    body: bodies.Body = {
        "intent": bodies.intent(platform.rng),
        "catalog": bodies.CATALOG,
        "model": "openai/scripted",
    }
    waits = platform.rng.random() < 0.3
    if waits:
        body["wait_ms"] = 5_000
    name = "plan, awaited" if waits else "plan"
    answer = tenant.caller.send(name, "POST", "/v1/plans", body, expect=GOOD)
    if answer.ok:
        tenant.plans.append(answer.body["plan_id"])


def outcome(platform: Platform, tenant: Tenant) -> None:
    """What became of the steps of the oldest plan."""
    if not tenant.plans:
        return
    path = f"/v1/plans/{tenant.plans.pop(0)}"
    answer = tenant.caller.send("read plan", "GET", path)
    orders = [step["order"] for step in (answer.body or {}).get("steps") or ()]
    if orders:
        ends = ("ok", "ok", "ok", "error")
        told = [{"order": order, "outcome": platform.rng.choice(ends)} for order in orders]
        tenant.caller.send("outcome", "POST", f"{path}/outcome", {"steps": told})


def catalog(platform: Platform, tenant: Tenant) -> None:
    """The catalog is asked, or replaced."""
    where = f"/v1/catalogs/{bodies.CATALOG}"
    drawn = platform.rng.random()
    if drawn < 0.05:
        body = bodies.catalog(platform.rng, platform.number())
        tenant.caller.send("put catalog", "PUT", where, body, expect=GOOD)
    elif drawn < 0.8:
        tenant.caller.send(
            "rank", "POST", f"{where}/rank", {"intent": bodies.intent(platform.rng), "top_n": 8}
        )
    else:
        body = {"model": "qwen/qwen-2.5-7b", "intent": bodies.intent(platform.rng)}
        tenant.caller.send("compact", "POST", f"{where}/compact", body)


def attach(platform: Platform, tenant: Tenant) -> None:
    """A document comes in, or one is to be read ahead."""
    if tenant.attachments and platform.rng.random() < 0.5:
        path = f"/v1/artifacts/{platform.rng.choice(tenant.attachments)}/summaries"
        focus = {"focus": words.sentence(platform.rng)}
        tenant.caller.send("read ahead", "PUT", path, focus, expect=GOOD)
    else:
        answer = tenant.caller.send(
            "attach", "POST", "/v1/attachments", bodies.document(platform.rng), expect=GOOD
        )
        if answer.ok:
            tenant.attachments = [*tenant.attachments[-20:], answer.body["attachment_id"]]


def agent(platform: Platform, tenant: Tenant) -> None:
    """An agent asks by the Model Context Protocol."""
    asked = {
        "name": "rank_catalog",
        "arguments": {"catalog": bodies.CATALOG, "intent": bodies.intent(platform.rng)},
    }
    message = {"jsonrpc": "2.0", "id": platform.number(), "method": "tools/call", "params": asked}
    answer = tenant.caller.send("mcp", "POST", "/mcp", message, headers=MCP)
    if answer.ok and (answer.body is None or "error" in answer.body):
        platform.book.blame(f"mcp answered {str(answer.body)[:300]}")


def look(platform: Platform, tenant: Tenant) -> None:
    """The calls of operators."""
    paths = ("/v1/usage", "/v1/my-plans", "/v1/context-budgets", "/readyz", "/metrics")
    path = platform.rng.choice(paths)
    tenant.caller.send(path.removeprefix("/v1").removeprefix("/"), "GET", path)


MIX: tuple[tuple[Callable[[Platform, Tenant], None], float], ...] = (
    (turn, 34),
    (context, 30),
    (batch, 2),
    (turn_again, 3),
    (wrong, 3),
    (compress, 1.5),
    (edit, 1),
    (erase_message, 0.7),
    (erase_session, 0.5),
    (reset, 0.4),
    (read, 4),
    (preflight, 5),
    (plan, 3),
    (outcome, 3),
    (catalog, 4),
    (attach, 2),
    (agent, 2),
    (look, 0.9),
)
"""What a platform does, and how often: once in so many steps of the sum."""

_ACTS, _WEIGHTS = zip(*MIX, strict=True)

"""What else a platform calls: documents, catalogs, plans, preflight; and what nobody ever should call."""

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import encode, segment
from tests.integration.fuzz.texts import name, text, value


def upload(actor: Actor) -> None:
    """A document, inside JSON or as it is."""
    if actor.rng.random() < 0.2:
        query = actor.rng.choice(
            ("", "title=x", "raw=true", "raw=maybe", "title=%00%ff", "attachment_type=A")
        )
        kind = actor.rng.choice(
            (*bodies.KINDS[:4], "text/plain; charset=utf-16", "text/plain; charset=nope", "\x7f")
        )
        raw = text(actor.rng, 2_000).encode("utf-8", "surrogatepass")
        answer = actor.door.send(
            "upload raw", "POST", "/v1/attachments", raw, query=query, headers={"content-type": kind}
        )
    else:
        answer = actor.door.send("upload", "POST", "/v1/attachments", actor.raw(bodies.upload(actor.rng))[0])
    if answer.ok:
        actor.artifacts = [*actor.artifacts[-20:], answer.body["artifact_id"]]


def read_documents(actor: Actor) -> None:
    """An attachment, an artifact, a slice or a summary of it."""
    known = actor.rng.choice([*actor.artifacts, "art_" + "0" * 32, "art_", "x", "%00"])
    query = actor.rng.choice(
        ("", "from=0&to=9", "from=9&to=1", "from=999999999", "to=x", "x=1", "content=true", "focus=x")
    )
    what, path = actor.rng.choice(
        (
            ("attachment", f"/v1/attachments/{known}"),
            ("artifact", f"/v1/artifacts/{known}"),
            ("artifact summary", f"/v1/artifacts/{known}/summaries"),
        )
    )
    actor.door.send(what, "GET", path, query=query)


def want_summary(actor: Actor) -> None:
    """A summary of an artifact, ahead of use."""
    known = actor.rng.choice([*actor.artifacts, "art_" + "0" * 32])
    focus = text(actor.rng, 200)
    wish = {"focus": focus, "wait_ms": 1, "again": actor.rng.random() < 0.3}
    path = f"/v1/artifacts/{known}/summaries"
    actor.door.send("want summary", "PUT", path, actor.raw(wish)[0])
    actor.door.send("artifact summary", "GET", path, query=f"focus={segment(focus)}")


def catalogs(actor: Actor) -> None:
    """Put a catalog, read it, rank it or fit it."""
    names = (*bodies.CATALOGS, *bodies.CATALOGS, "none", name(actor.rng))
    where = f"/v1/catalogs/{segment(actor.rng.choice(names))}"
    drawn = actor.rng.randrange(5)
    if drawn == 0:
        answer = actor.door.send("put catalog", "PUT", where, actor.raw(bodies.catalog(actor.rng))[0])
        actor.digests += [answer.body["digest"]] if answer.ok else []
    elif drawn == 1:
        query = (
            f"digest={actor.rng.choice((*actor.digests[-3:], 'x', '0' * 64))}"
            if actor.rng.random() < 0.5
            else ""
        )
        tag = actor.rng.choice(('"x"', "*", "", ", ,", *(f'"{digest}"' for digest in actor.digests[-3:])))
        actor.door.send("catalog", "GET", where, query=query, headers={"if-none-match": tag})
    elif drawn < 4:
        body = {
            "intent": text(actor.rng) or "x",
            "explain": actor.rng.random() < 0.5,
            "top_n": actor.rng.randint(1, 9),
        }
        actor.door.send("rank", "POST", f"{where}/rank", actor.raw(body)[0])
    else:
        body = {
            "model": actor.rng.choice(bodies.MODELS),
            "intent": text(actor.rng) or "x",
            "reserve_tokens": actor.rng.choice((0, 900, 10**8)),
        }
        actor.door.send("compact", "POST", f"{where}/compact", actor.raw(body)[0])


def plan(actor: Actor) -> None:
    """Ask for a plan, read one, or say how it ended."""
    names = actor.names()
    known = actor.rng.choice([*actor.plans, "x", "00000000-0000-0000-0000-000000000000", "{}", "%00"])
    drawn = actor.rng.randrange(3)
    if drawn == 0:
        answer = actor.door.send("plan", "POST", "/v1/plans", actor.raw(bodies.plan(actor.rng, names))[0])
        actor.plans = [*actor.plans[-20:], answer.body["plan_id"]] if answer.ok else actor.plans
    elif drawn == 1:
        actor.door.send("read plan", "GET", f"/v1/plans/{known}")
    else:
        actor.door.send(
            "outcome", "POST", f"/v1/plans/{known}/outcome", actor.raw(bodies.outcome(actor.rng))[0]
        )


def preflight(actor: Actor) -> None:
    """Classify a message; now and then by another policy."""
    names = actor.names()
    if actor.rng.random() < 0.12:
        actor.door.send("policy", "PUT", "/v1/preflight/config", actor.raw(bodies.policy(actor.rng))[0])
    actor.door.send("preflight", "POST", "/v1/preflight", actor.raw(bodies.preflight(actor.rng, names))[0])


def look(actor: Actor) -> None:
    """The calls that take an address alone."""
    odd = segment(text(actor.rng, 40))
    day = actor.rng.choice(("2026-01-01", "0001-01-01", "9999-12-31", "x", "2026-02-30", odd))
    path, query = actor.rng.choice(
        (
            ("/v1/usage", f"from={day}"),
            ("/v1/usage", f"to={day}"),
            ("/v1/my-plans", f"user_id={odd}&limit={actor.rng.choice((0, 1, 100, 101, 'x'))}"),
            ("/v1/my-plans", f"catalog={odd}"),
            ("/v1/my-plans", f"limit=100&catalog={segment(actor.rng.choice(bodies.CATALOGS))}&catalog={odd}"),
            ("/v1/usage", f"from={day}&to=2026-05-14&to={day}"),
            ("/v1/catalogs", odd),
            ("/v1/context-budgets", f"model={odd}"),
            ("/metrics", odd),
            ("/openapi.json", ""),
            ("/docs", odd),
            ("/v1/preflight/config", ""),
            ("/healthz", ""),
            ("/readyz", odd),
        )
    )
    actor.door.send("look", "GET", path, query=query)


def wander(actor: Actor) -> None:
    """A path, a method, a header or an id that nobody uses."""
    odd = segment(text(actor.rng, 250))
    path = actor.rng.choice(
        (
            f"/{odd}",
            f"/v1/sessions/{odd}",
            f"/v1/sessions/{odd}/turns",
            f"/v1/sessions/{odd}/context",
            f"/v1/users/{odd}",
            f"/v1/catalogs/{odd}",
            f"/v1/plans/{odd}",
            f"/v1/attachments/{odd}",
            f"/v1/artifacts/{odd}/summaries",
            "/v1/turns/",
            "/mcp",
        )
    )
    key = actor.rng.choice(("", "Bearer", "Bearer x", "Basic \xe9", "bearer \x7f" * 50))
    headers = {"authorization": key} if actor.rng.random() < 0.3 else {}
    if path == "/mcp":
        headers |= {"accept": "application/json, text/event-stream"}
    method = actor.rng.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"))
    if path == "/mcp" and method != "POST":
        return
    actor.door.send("wander", method, path, encode(value(actor.rng)), headers=headers)

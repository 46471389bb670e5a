"""Two requests at the same time on one session: they end as if one had come after the other."""

from typing import Any

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import Answer, Request, encode, segment
from tests.integration.fuzz.ledger import Promised
from tests.integration.fuzz.texts import text


def same_turn(actor: Actor) -> None:
    """One turn twice, or two under one id: stored once."""
    session = actor.session()
    turn_id = f"p-{actor.number()}"
    raws = [_raw(actor, session, turn_id)] * 2
    if actor.rng.random() < 0.4:
        said = [{"role": "user", "content": f"other {actor.number()}"}]
        owned = {"user_id": session.user_id} if session.user_id else {}
        raws[1] = encode({"turn_id": turn_id, "messages": said, "wire": "openai", **owned})
    asked = [_turn(session, raw) for raw in raws]
    answers = actor.door.send_all(asked)
    right = [200, 202] if raws[0] == raws[1] else [202, 409]
    if sorted(answer.status for answer in answers) != right:
        told = [answer.status for answer in answers]
        actor.door.blame(f"one turn id twice at once was answered {told}", answers[1])
    by_first = sorted(zip(answers, raws, strict=True), key=lambda pair: pair[0].status != 202)
    for answer, raw in by_first:
        actor.accept(session, answer, raw)


def two_turns(actor: Actor) -> None:
    """Two to four turns at once, alone or in batches that name the same sessions in another order."""
    one, other = actor.session(), actor.session()
    if actor.rng.random() < 0.5:
        raws = [_raw(actor, one, f"p-{actor.number()}") for _ in range(actor.rng.randint(2, 4))]
        for answer, raw in zip(actor.door.send_all([_turn(one, raw) for raw in raws]), raws, strict=True):
            if answer.status != 202:
                actor.door.blame(f"a turn beside another was answered {answer.status}", answer)
            actor.accept(one, answer, raw)
        return
    batches = [[(held, _line(actor, held)) for held in order] for order in ((one, other), (other, one))]
    asked = [
        Request("pair batch", "POST", "/v1/turns", b"\n".join(raw for _, raw in lines)) for lines in batches
    ]
    for lines, answer in zip(batches, actor.door.send_all(asked), strict=True):
        if not answer.ok:
            actor.door.blame(f"a batch beside another was answered {answer.status}", answer)
            continue
        for (session, raw), result in zip(lines, answer.body["results"], strict=True):
            if "error" in result:
                actor.door.blame(f"a line beside another was answered {result['error']}", answer)
            else:
                actor.accept(session, Answer(200, result, answer.request), raw)


def turn_and_end(actor: Actor) -> None:
    """A turn while its session is erased: it is gone with it, or the first of the next."""
    session = actor.stored()
    raw = _raw(actor, session, f"p-{actor.number()}")
    path = session.path
    if session.user_id and actor.rng.random() < 0.5:
        path = f"/v1/users/{segment(session.user_id)}"
    ends = Request("pair erase", "DELETE", path)
    stored, erased = actor.door.send_all([_turn(session, raw), ends])
    if stored.status != 202:
        actor.door.blame(f"a turn beside an erasure was answered {stored.status}", stored)
    if not erased.ok:
        if session.turns:
            actor.door.blame(f"an erasure beside a turn was answered {erased.status}", erased)
        actor.accept(session, stored, raw)
        return
    session.forget()
    read = actor.door.send("read the log", "GET", f"{session.path}/turns")
    if stored.ok and read.ok and read.body["turns"]:
        actor.accept(session, stored, raw)


def same_call(actor: Actor) -> None:
    """One call of any other kind several times at once: a row is made once, and nobody stands in the way."""
    rng, session = actor.rng, actor.stored()
    artifact = rng.choice([*actor.artifacts, "art_" + "0" * 32])
    catalog = f"/v1/catalogs/{segment(rng.choice(bodies.CATALOGS))}"
    refused = bodies.compress(rng, actor.scribe(), actor.artifacts)
    kinds = (
        ("POST", "/v1/attachments", bodies.upload(rng)),
        ("POST", "/v1/attachments", bodies.upload(rng) | {"user_id": session.user_id or "u"}),
        ("PUT", f"/v1/artifacts/{artifact}/summaries", {"focus": text(rng, 90), "again": rng.random() < 0.5}),
        ("PUT", catalog, bodies.catalog(rng)),
        ("DELETE", catalog, None),
        ("POST", f"{catalog}/rank", {"intent": text(rng) or "x"}),
        ("POST", "/v1/plans", bodies.plan(rng, actor.names())),
        ("POST", f"/v1/plans/{rng.choice([*actor.plans, 'x'])}/outcome", bodies.outcome(rng)),
        ("POST", f"{session.path}/compress", refused | {"observed_limit": rng.choice((512, 4_096))}),
        ("POST", f"{session.path}/context", bodies.context(rng, actor.scribe(), actor.artifacts)),
        ("POST", f"{session.path}/summaries/{rng.choice((1, 2, 3))}/activate", None),
        ("POST", "/v1/preflight", bodies.preflight(rng, actor.names())),
        ("PUT", "/v1/preflight/config", bodies.policy(rng)),
        ("PUT", "/v1/retention", {"plan_days": rng.choice((0, 30))}),
    )
    asked = []
    for method, path, body in rng.sample(kinds, rng.choice((1, 1, 2))):
        raw = b"" if body is None else encode(body)
        asked += [Request("at once", method, path, raw)] * rng.randint(2, 3)
    actor.door.send_all(asked)
    session.is_cut = session.is_cut or any("/compress" in one.path for one in asked)


def changes(actor: Actor) -> None:
    """Edits and erasures of the same messages at once, beside a window or a reset."""
    session, rng = actor.stored(), actor.rng
    live = session.live()[-6:]
    if not live:
        return
    asked = [_change(actor, session, rng.choice(live)) for _ in range(2)]
    window = encode(bodies.plain_context(session.wire))
    asked.append(
        rng.choice(
            (
                Request("pair context", "POST", f"{session.path}/context", window),
                Request("pair turns", "GET", f"{session.path}/turns"),
                Request("pair session", "GET", session.path),
                Request("pair reset", "POST", f"{session.path}/reset"),
            )
        )
    )
    for request, answer in zip(asked, actor.door.send_all(asked), strict=True):
        _take_change(actor, session, request, answer)


def _change(actor: Actor, session: Promised, seq: int) -> Request:
    path = f"{session.path}/messages/{seq}"
    if actor.rng.random() < 0.4:
        return Request("pair erase message", "DELETE", path)
    said = {at: message for at, _, message in session.expected()}.get(seq)
    body: dict[str, Any] = dict(said) if isinstance(said, dict) else {"role": "user"}
    body["content" if isinstance(body.get("content"), str) else "x"] = text(actor.rng)
    return Request("pair edit", "PATCH", path, encode({"message": body}))


def _take_change(actor: Actor, session: Promised, request: Request, answer: Answer) -> None:
    """Two edits of a message at once leave one of them; which one is anybody's guess."""
    if not answer.ok:
        if answer.status not in (404, 409, 422):
            actor.door.blame(f"a change beside another was answered {answer.status}", answer)
    elif request.operation == "pair reset":
        session.start = answer.body["starts_after"]
    elif "messages" in answer.body and "removed" in answer.body["messages"]:
        session.change(answer.body["messages"])
        session.told[int(request.path.rpartition("/")[2])] = None


def _raw(actor: Actor, session: Promised, turn_id: str) -> bytes:
    return encode(bodies.turn(actor.rng, actor.scribe(session.wire), turn_id, session.user_id))


def _line(actor: Actor, session: Promised) -> bytes:
    turn = bodies.turn(actor.rng, actor.scribe(session.wire), f"p-{actor.number()}", session.user_id)
    return encode({**turn, "session_id": session.session_id})


def _turn(session: Promised, raw: bytes) -> Request:
    return Request("pair turn", "POST", f"{session.path}/turns", raw)

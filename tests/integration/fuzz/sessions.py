"""What a platform does with conversations: store, send again, ask for windows, read, edit, erase."""

import json
from typing import Any

from context.text.sanitize import clean_json
from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import MOST_TURNS, Actor, session_of
from tests.integration.fuzz.door import Answer, encode, segment
from tests.integration.fuzz.ledger import Promised
from tests.integration.fuzz.texts import name, text, value

READ_ENDS = (0, 1, -1, 5, 2**63 - 1, 2**63, 10**30, "x", "", "1.5", "%00", "%D9%A3")
VERSIONS = (1, 0, -1, "x", 2**31 - 1, 2**31, 10**30)


def turn(actor: Actor) -> None:
    """Store a new turn."""
    session = actor.session()
    if len(session.turns) >= MOST_TURNS:
        session = actor.new_session()
    wire = session.wire if actor.rng.random() < 0.95 else None
    turn_id = f"{name(actor.rng)}-{actor.number()}"
    raw, right = actor.raw(bodies.turn(actor.rng, actor.scribe(wire), turn_id, session.user_id))
    answer = actor.door.send("turn", "POST", f"{session.path}/turns", raw)
    actor.accept(session, answer, raw)
    if right and answer.status != 202:
        actor.door.blame(f"a right turn was answered {answer.status}", answer)


def turn_again(actor: Actor) -> None:
    """Send a turn once more, or another one under its id."""
    session = actor.stored()
    if not session.turns:
        return
    known = actor.rng.choice(list(session.turns.values()))
    raw, other = known.raw, actor.rng.random() < 0.4
    if other:
        said = {"role": "user", "content": f"other {actor.number()}"}
        raw = encode({**json.loads(raw), "messages": [said], "wire": "openai"})
    answer = actor.door.send("turn again", "POST", f"{session.path}/turns", raw)
    changed = any(known.first_seq <= seq <= known.last_seq for seq in (*session.gone, *session.told))
    right = 409 if other and not changed else 200
    if answer.status != right:
        actor.door.blame(f"a turn that is known was answered {answer.status}, not {right}", answer)
    actor.accept(session, answer, raw)


def batch(actor: Actor) -> None:
    """Store many turns in a call; a wrong line is its own affair."""
    lines = [line for _ in range(actor.rng.choice((1, 3, 8))) if (line := _line(actor))]
    if lines and actor.rng.random() < 0.2:
        lines.append(lines[0])
    between = actor.rng.choice((b"\n", b"\n", b"\r\n", b"\n\n \t\n", b" \n "))
    answer = actor.door.send("batch", "POST", "/v1/turns", between.join(raw for _, raw, _ in lines))
    if not answer.ok or len(answer.body["results"]) != len(lines):
        actor.door.blame("a batch was not answered by line", answer)
        return
    for (session, raw, right), result in zip(lines, answer.body["results"], strict=True):
        if "error" not in result:
            actor.accept(session, Answer(200, result, answer.request), raw)
        elif right:
            actor.door.blame(f"a right line was answered {result['error']}", answer)


def _line(actor: Actor) -> tuple[Promised, bytes, bool] | None:
    session = actor.session()
    body = bodies.turn(actor.rng, actor.scribe(session.wire), f"b-{actor.number()}", session.user_id)
    raw, right = actor.raw({**body, "session_id": session.session_id})
    is_line = b"\n" not in raw and bool(raw.strip())
    return (session, raw, right) if is_line and session_of(raw) in (session.session_id, None) else None


def context(actor: Actor) -> None:
    """Ask for a window of some size, in some format, for some model."""
    session = actor.session() if actor.rng.random() < 0.1 else actor.stored()
    actor.ask("context", session, bodies.context(actor.rng, actor.scribe(), actor.artifacts))


def plain_context(actor: Actor) -> None:
    """Ask for what any platform may ask for, in every format."""
    actor.ask_plainly(actor.session())


def compress(actor: Actor) -> None:
    """Say that a window was refused."""
    session = actor.stored()
    session.is_cut = True
    actor.ask("compress", session, bodies.compress(actor.rng, actor.scribe(), actor.artifacts))


def read_session(actor: Actor) -> None:
    """Read how a session stands and its summaries; put one of them in force."""
    session = actor.session()
    actor.door.send("session", "GET", session.path)
    answer = actor.door.send("summaries", "GET", f"{session.path}/summaries")
    versions = [one["version"] for one in answer.body["summaries"]] if answer.ok else []
    version = actor.rng.choice([*versions, *VERSIONS])
    if actor.rng.random() < 0.4:
        actor.door.send("activate", "POST", f"{session.path}/summaries/{version}/activate")


def read_turns(actor: Actor) -> None:
    """Read a part of a log."""
    ends = [f"{end}={actor.rng.choice(READ_ENDS)}" for end in ("from", "to") if actor.rng.random() < 0.7]
    actor.door.send("turns", "GET", f"{actor.session().path}/turns", query="&".join(ends))


def reset(actor: Actor) -> None:
    """Begin a new life."""
    session = actor.session()
    answer = actor.door.send("reset", "POST", f"{session.path}/reset")
    if answer.ok:
        session.start = answer.body["starts_after"]


def edit(actor: Actor) -> None:
    """Put other words in a message's place."""
    session, rng = actor.stored(), actor.rng
    seq = _seq(actor, session)
    said = {at: message for at, _, message in session.expected()}.get(seq) if isinstance(seq, int) else None
    body = dict(said) if isinstance(said, dict) else actor.scribe(session.wire).user()
    body["content" if isinstance(body.get("content"), str) else "x"] = (
        text(rng) if rng.random() < 0.8 else value(rng)
    )
    raw, _ = actor.raw({"message": body})
    answer = actor.door.send("edit", "PATCH", f"{session.path}/messages/{seq}", raw)
    if answer.ok:
        session.change(answer.body["messages"])
        session.told[seq] = clean_json(json.loads(raw)["message"], max_depth=500)[0]


def erase_message(actor: Actor) -> None:
    """Erase a message, and what cannot stay without it."""
    session = actor.stored()
    path = f"{session.path}/messages/{_seq(actor, session)}"
    answer = actor.door.send("erase message", "DELETE", path)
    if answer.ok:
        session.change(answer.body["messages"])


def _seq(actor: Actor, session: Promised) -> Any:
    live = session.live()[-20:] or [1]
    return actor.rng.choice(live if actor.rng.random() < 0.8 else [0, 10**6, 2**63, "x"])


def erase_session(actor: Actor) -> None:
    """Erase a whole session."""
    session = actor.session()
    answer = actor.door.send("erase session", "DELETE", session.path)
    if answer.ok:
        session.forget()
    elif session.turns:
        actor.door.blame("a session was not erased", answer)


def erase_user(actor: Actor) -> None:
    """Erase all of a user's."""
    session = actor.stored()
    user = session.user_id or name(actor.rng)
    answer = actor.door.send("erase user", "DELETE", f"/v1/users/{segment(user)}")
    if answer.ok and session.user_id:
        session.forget()
    elif session.user_id and session.turns:
        actor.door.blame("a user was not erased", answer)

"""The same ids in another life: erased and made again, sent again after a reset, put and taken away."""

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import encode, segment
from tests.integration.fuzz.ledger import Promised, check_log
from tests.integration.fuzz.texts import name, text


def session_again(actor: Actor) -> None:
    """Erase a session and store what it held once more, in another order: it begins anew, at 1."""
    session, rng = actor.stored(), actor.rng
    held = [turn.raw for turn in session.turns.values()][-4:]
    if rng.random() < 0.3:
        actor.door.send("edit", "PATCH", f"{session.path}/messages/{session.last_seq}", b"{}")
    erased = actor.door.send("erase session", "DELETE", session.path)
    if not erased.ok:
        if session.turns:
            actor.door.blame("a session was not erased", erased)
        return
    session.forget()
    again = actor.door.send("erase session", "DELETE", session.path)
    if not (again.ok and again.body.get("repeated")):
        actor.door.blame("a receipt was not answered again", again)
    rng.shuffle(held)
    for raw in held:
        answer = actor.door.send("turn reborn", "POST", f"{session.path}/turns", raw)
        if answer.status != 202:
            actor.door.blame(f"a turn of an erased session was answered {answer.status}", answer)
        actor.accept(session, answer, raw)
    first = min((turn.first_seq for turn in session.turns.values()), default=1)
    if first != 1:
        actor.door.blame(f"a session that was erased begins at {first}", erased)
    actor.compared += check_log(actor.door, session)


def message_again(actor: Actor) -> None:
    """Erase a message twice, edit what is gone, send its turn again, store another, and ask for a window."""
    session, rng = actor.stored(), actor.rng
    live = session.live()
    if not live:
        return
    path = f"{session.path}/messages/{rng.choice(live[-8:])}"
    first = actor.door.send("erase message", "DELETE", path)
    if not first.ok:
        actor.door.blame(f"a message that is there was answered {first.status}", first)
        return
    session.change(first.body["messages"])
    second = actor.door.send("erase message", "DELETE", path)
    if not (second.ok and second.body.get("repeated")):
        actor.door.blame("a receipt was not answered again", second)
    gone = actor.door.send("edit", "PATCH", path, encode({"message": {"role": "user", "content": "x"}}))
    if gone.status != 404:
        actor.door.blame(f"an erased message was edited: {gone.status}", gone)
    known = rng.choice(list(session.turns.values()))
    again = actor.door.send("turn again", "POST", f"{session.path}/turns", known.raw)
    actor.accept(session, again, known.raw)
    _store(actor, session)
    actor.ask("context", session, bodies.plain_context(session.wire), 0)


def reset_again(actor: Actor) -> None:
    """Reset a session twice with a turn between, and send turns of each life again."""
    session = actor.stored()
    old = list(session.turns.values())[-2:]
    for _ in range(2):
        answer = actor.door.send("reset", "POST", f"{session.path}/reset")
        if answer.ok:
            session.start = answer.body["starts_after"]
            if session.start != session.last_seq:
                actor.door.blame(f"a new life starts after {session.start}", answer)
        _store(actor, session)
    for turn in old:
        again = actor.door.send("turn again", "POST", f"{session.path}/turns", turn.raw)
        if again.status != 200:
            actor.door.blame(f"a turn of an older life was answered {again.status}", again)
        actor.accept(session, again, turn.raw)
    actor.ask("context", session, bodies.plain_context(session.wire), 0)


def user_again(actor: Actor) -> None:
    """Erase a user and begin again under the same name."""
    user = f"{name(actor.rng)}-{actor.number()}"
    session = actor.new_session()
    session.user_id = user
    for _ in range(2):
        _store(actor, session)
        _store(actor, session)
        actor.ask("context", session, bodies.plain_context(session.wire), 0)
        _erase_user(actor, user)
        session.forget()
        actor.compared += check_log(actor.door, session)


def shared_session(actor: Actor) -> None:
    """Two users and turns of nobody in one session: one of the users is erased, then the other."""
    session, rng = actor.new_session(), actor.rng
    users = [f"{name(rng)}-{actor.number()}" for _ in range(2)]
    owned: dict[str, list[str]] = {user: [] for user in (*users, "")}
    for user in (*users, rng.choice((*users, "")), rng.choice((*users, ""))):
        session.user_id = user
        owned[user].append(_store(actor, session, is_tidy=True))
    session.user_id = ""
    first, last = users
    _erase_user(actor, first)
    gone = [turn for turn_id in owned[first] if (turn := session.turns.pop(turn_id, None))]
    for turn in gone:
        session.gone |= set(range(turn.first_seq, turn.last_seq + 1))
    _look(actor, session)
    for turn in gone:
        answer = actor.door.send("turn reborn", "POST", f"{session.path}/turns", turn.raw)
        if answer.status != 202:
            actor.door.blame(f"a turn of an erased user was answered {answer.status}", answer)
        actor.accept(session, answer, turn.raw)
    _look(actor, session)
    _erase_user(actor, first)
    _erase_user(actor, last)
    session.forget()
    _look(actor, session)


def catalog_again(actor: Actor) -> None:
    """Put a catalog, take it away and put it again, and ask for it and for plans at each step."""
    rng = actor.rng
    where = f"/v1/catalogs/c-{actor.number()}"
    listed = {"intent": text(rng) or "x"}
    for _ in range(2):
        put = actor.door.send("put catalog", "PUT", where, encode(bodies.catalog(rng)))
        found = actor.door.send("catalog", "GET", where)
        if not (put.ok and found.ok):
            actor.door.blame(f"a catalog was answered {put.status}, {found.status}", found)
        actor.door.send("rank", "POST", f"{where}/rank", encode(listed))
        wish = {**listed, "catalog": where.rpartition("/")[2], "model": "extractive", "wait_ms": 1}
        actor.door.send("plan", "POST", "/v1/plans", encode(wish))
        actor.door.send("erase catalog", "DELETE", where)
        lost = actor.door.send("catalog", "GET", where)
        if lost.status != 404:
            actor.door.blame(f"a catalog that was taken away was answered {lost.status}", lost)
    actor.door.send("erase catalog", "DELETE", where)
    actor.door.send("catalogs", "GET", "/v1/catalogs")


def _erase_user(actor: Actor, user: str) -> None:
    erased = actor.door.send("erase user", "DELETE", f"/v1/users/{segment(user)}")
    if not erased.ok:
        actor.door.blame(f"a user was not erased: {erased.status}", erased)


def _look(actor: Actor, session: Promised) -> None:
    """Read the log back, and ask for a window."""
    actor.compared += check_log(actor.door, session)
    actor.ask("context", session, bodies.plain_context(session.wire), 0)


def _store(actor: Actor, session: Promised, *, is_tidy: bool = False) -> str:
    """Store a new turn; a tidy one has nothing that goes with a message of another turn. Returns its id."""
    turn_id, scribe = f"n-{actor.number()}", actor.scribe(session.wire)
    body = bodies.turn(actor.rng, scribe, turn_id, session.user_id)
    if is_tidy:
        scribe.mess = 0.0
        body |= {"messages": [scribe.user(), *scribe.step(), scribe.assistant()], "wire": scribe.wire}
    raw = encode(body)
    answer = actor.door.send("turn", "POST", f"{session.path}/turns", raw)
    if answer.status != 202:
        actor.door.blame(f"a right turn was answered {answer.status}", answer)
    actor.accept(session, answer, raw)
    return turn_id

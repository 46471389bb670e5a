"""Turns that are right, and larger than expected: many messages, calls, parts, fields, or one long text."""

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import encode
from tests.integration.fuzz.texts import ODD, name, text
from tests.integration.fuzz.turns import Body, Scribe

RUNS = (
    "x",
    "界",
    "e\u0301",
    "\U0001f469\u200d",
    " ",
    "\n",
    "0",
    "{",
    "\\",
    '"',
    "\ufdfa",
    "<b>",
    "a-",
    "\u202e",
)


def wide_turn(actor: Actor) -> None:
    """Store such a turn in a session of its own, and ask for windows that hold it and that cannot."""
    session, rng = actor.new_session(), actor.rng
    body = bodies.turn(rng, actor.scribe(session.wire), f"w-{actor.number()}", session.user_id)
    body["messages"] = _wide(actor.scribe(session.wire))
    raw = encode(body)
    answer = actor.door.send("wide turn", "POST", f"{session.path}/turns", raw)
    if answer.status != 202:
        actor.door.blame(f"a wide turn was answered {answer.status}", answer)
    actor.accept(session, answer, raw)
    small = bodies.plain_context(session.wire) | {"context_window": rng.choice((900, 4_000, 20_000))}
    actor.ask("context", session, small | {"max_tokens": 200}, 0)
    actor.ask("context", session, bodies.plain_context(rng.choice(("openai", "anthropic", "responses"))), 0)


def _wide(scribe: Scribe) -> list[Body]:
    rng = scribe.rng
    drawn = rng.randrange(5)
    if drawn == 0:  # many messages
        return [
            one
            for _ in range(120)
            for one in ({"role": "user", "content": text(rng, 40)}, scribe.assistant())
        ]
    if drawn == 1:  # many calls at once
        ids = [f"call_{number}" for number in range(150)]
        return [scribe.user(), *scribe.calls(ids), *scribe.results(ids[: rng.choice((150, 149))])]
    if drawn == 2:  # many parts
        kind = "input_text" if scribe.wire == "responses" else "text"
        parts = [{"type": kind, "text": rng.choice((*ODD, "ok"))} for _ in range(600)]
        return [{"role": "user", "content": parts}]
    if drawn == 3:  # one long text of one kind
        return [{"role": "user", "content": rng.choice(RUNS) * 60_000}, scribe.assistant()]
    more: Body = {f"x_{number}": rng.choice((None, 1, [], {name(rng): 0})) for number in range(800)}
    return [{**scribe.user(), **more, "x_deep": _nested(55)}, scribe.assistant()]


def _nested(levels: int) -> Body:
    found: Body = {}
    for _ in range(levels):
        found = {"a": found}
    return found

"""The background at work while a session is changed, reset or erased: nothing that is gone comes back."""

from threading import Thread

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import Answer, Request, encode, segment
from tests.integration.fuzz.ledger import Promised, check_log
from tests.integration.fuzz.work import Background

MOST_WORK = 8
"""So many jobs are done meanwhile, a part of them before the change comes."""

MOST_BEFORE = 12


def beside_work(actor: Actor, background: Background) -> None:
    """End, empty or change a session while the jobs that its turns made due are done."""
    session = actor.stored()
    if not session.turns:
        return
    window = encode(bodies.plain_context(session.wire))
    asked = [Request("beside: context", "POST", f"{session.path}/context", window), _change(actor, session)]
    jobs = Thread(target=background.work, args=(MOST_WORK, session.session_id))
    jobs.start()
    for _ in range(
        actor.rng.randint(0, MOST_BEFORE)
    ):  # so that it comes anywhere between two steps of the jobs
        actor.door.send("beside: session", "GET", session.path)
    _, told = actor.door.send_all(asked)
    jobs.join()
    if told.ok:
        _take(session, asked[1], told)
    elif told.status != 404:
        actor.door.blame(f"a change beside the work was answered {told.status}", told)
    background.work(MOST_WORK)
    actor.compared += check_log(actor.door, session)
    answer = actor.ask("context", session, bodies.plain_context(session.wire), 0)
    covers = answer.body["certificate"]["summary_covers"] if answer.ok else None
    if covers and (covers[1] <= session.start or not session.turns):
        actor.door.blame(f"a summary of {covers} is in the window of a session that begins anew", answer)


def _change(actor: Actor, session: Promised) -> Request:
    rng = actor.rng
    seq = rng.choice(session.live()[-9:] or [1])
    latest = next(reversed(session.turns.values())).raw
    user = f"/v1/users/{segment(session.user_id)}" if session.user_id else session.path
    return rng.choice(
        (
            Request("beside: erase session", "DELETE", session.path),
            Request("beside: erase user", "DELETE", user),
            Request("beside: reset", "POST", f"{session.path}/reset"),
            Request("beside: erase message", "DELETE", f"{session.path}/messages/{seq}"),
            Request("beside: turn", "POST", f"{session.path}/turns", latest),
        )
    )


def _take(session: Promised, request: Request, told: Answer) -> None:
    if request.operation in ("beside: erase session", "beside: erase user"):
        session.forget()
    elif request.operation == "beside: reset":
        session.start = told.body["starts_after"]
    elif request.operation == "beside: erase message":
        session.change(told.body["messages"])

"""A platform that does everything, in any order, with texts of every kind; and who would tell of a fault."""

import pytest
from sqlalchemy import text

from models import database as session
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import Answer, Door, Request, encode
from tests.integration.fuzz.ledger import Promised, check_log
from tests.integration.fuzz.run import fuzz_platform
from tests.integration.fuzz.windows import check_window

REQUESTS = 600
SAID = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "In hall seven."}]


@pytest.mark.timeout(900)
def test_no_request_breaks_loses_hides_or_poisons_anything(door: Door) -> None:
    result = fuzz_platform(door, "what a platform does", REQUESTS)
    assert [str(fault) for fault in door.faults] == []
    assert door.requests >= REQUESTS
    assert result.compared > REQUESTS / 4
    assert {status for _, status, _ in door.counts} >= {200, 201, 202, 400, 404, 405, 409, 422}


@pytest.fixture
def stored(door: Door) -> Promised:
    """A session with one turn that was acknowledged."""
    promised, raw = Promised("s1", "openai"), encode({"turn_id": "t1", "messages": SAID})
    answer = door.send("turn", "POST", f"{promised.path}/turns", raw)
    assert promised.keep(answer.body, raw) is None
    return promised


def test_what_is_there_is_found_as_it_was_sent(door: Door, stored: Promised) -> None:
    assert check_log(door, stored) == len(SAID)
    assert door.faults == []


def test_a_lost_message_is_noticed(door: Door, stored: Promised) -> None:
    with session.transaction() as db:
        db.execute(text("delete from message where seq = 2"))
    check_log(door, stored)
    assert [fault.what for fault in door.faults] == ["lost: messages [2] of 's1'"]


def test_a_message_that_says_something_else_is_noticed(door: Door, stored: Promised) -> None:
    with session.transaction() as db:
        db.execute(text("update message set body = replace(body, 'seven', 'eight') where seq = 2"))
    check_log(door, stored)
    assert ["hall seven" in fault.what and "hall eight" in fault.what for fault in door.faults] == [True]


def test_a_window_that_hides_a_message_is_noticed(door: Door, stored: Promised) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "And now?"}]}
    answer = door.send("context", "POST", f"{stored.path}/context", encode(body))
    check_window(door, answer, body, stored, stored.live())
    assert door.faults == []
    certificate = {**answer.body["certificate"], "tail": [2, 2]}
    check_window(door, Answer(200, {**answer.body, "certificate": certificate}), body, stored, stored.live())
    assert [fault.what for fault in door.faults] == ["window: hides messages [1] of 's1'"]


@pytest.mark.parametrize("path", ["/v1/sessions/s1/turns", "/v1/turns", "/v1/attachments", "/mcp"])
def test_who_leaves_in_the_middle_of_a_body_is_no_fault_of_ours(door: Door, path: str) -> None:
    raw = encode({"turn_id": "t1", "session_id": "s1", "messages": SAID, "content": "x"})
    leaves = Request("hang up", "POST", path, raw, pieces=3, hangs_up=True)
    (answer,) = door.send_all([leaves])
    assert door.faults == []
    assert (answer.status, answer.kind) == (400, "body-incomplete")
    assert door.send("session", "GET", "/v1/sessions/s1").status == 404


def test_a_poisoned_session_is_noticed(door: Door, stored: Promised) -> None:
    with session.transaction() as db:
        db.execute(text("update message set body = 'no JSON' where seq = 2"))
    actor = Actor.of("any seed", door)
    actor.ask_plainly(stored)
    assert "a session is poisoned: 500" in [fault.what for fault in door.faults]
    assert "JSONDecodeError" in door.faults[0].detail

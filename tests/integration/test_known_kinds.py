"""Kinds of faults that such services are known for, each shown to be impossible from end to end."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models import database as session
from models.due_work.queue import WorkKind, WorkState, find_work
from models.scope import Scope
from tests.integration.summarizing import SESSION, Model, Room, dialogue

TURNS = f"/v1/sessions/{SESSION}/turns"
SMALL_WINDOW, SMALL_OUTPUT = 3_000, 500


@pytest.fixture
def room(client: TestClient, tenant_id: UUID) -> Room:
    """A session of its own; its API is `client`."""
    del client  # makes the tables empty first
    return Room(tenant_id)


def read(client: TestClient, **fields: Any) -> Any:
    asked = {
        "model": "gpt-4o",
        "context_window": 16_000,
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "And now?"}],
    }
    answer = client.post(f"/v1/sessions/{SESSION}/context", json={**asked, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_turn_that_comes_again_after_its_summary_is_not_appended(client: TestClient, room: Room) -> None:
    first = {"turn_id": "t1", "messages": dialogue(1)}
    assert client.post(TURNS, json=first).status_code == 202
    for number in range(2, 9):
        client.post(TURNS, json={"turn_id": f"t{number}", "messages": dialogue(number)})
    assert room.run(Model()).startswith("activated")
    before = read(client)["messages"]
    again = client.post(TURNS, json=first)
    assert (again.status_code, again.json()["first_seq"]) == (200, 1)
    assert read(client)["messages"] == before


def test_a_window_that_nobody_named_does_not_switch_summaries_off(
    client: TestClient, tenant_id: UUID
) -> None:
    # A few large messages, far below the count that calls for a summary by itself.
    for number in range(4):
        words = " ".join(f"item-{number}-{place} is in order." for place in range(1_000))
        talk = [{"role": "user", "content": words}, {"role": "assistant", "content": "Noted."}]
        assert client.post(TURNS, json={"turn_id": f"t{number}", "messages": talk}).status_code == 202
    with session.read_transaction() as db:
        work = find_work(Scope(db, tenant_id), WorkKind.SUMMARIZE, SESSION)
    assert work is not None
    assert work.state == WorkState.READY


def test_a_session_that_grew_in_a_large_window_fits_a_small_one_at_once(
    client: TestClient, room: Room
) -> None:
    room.add_turns(25)
    large = read(client, context_window=1_000_000)
    assert large["certificate"]["tail"] == [1, 50]
    small = read(client, context_window=2_000)
    certificate = small["certificate"]
    assert certificate["input_tokens"] + certificate["max_tokens"] <= 2_000
    assert certificate["tail_contiguous"]
    for _ in range(2):
        read(client, context_window=2_000)
    assert room.work.state == WorkState.READY, "a window of three requests in a row is the session's"


def test_the_summarizers_limits_are_its_own_and_not_those_of_the_chat(client: TestClient, room: Room) -> None:
    room.add_turns(25)
    read(client, context_window=1_000_000, max_tokens=64_000)
    model = Model()
    limits = {"summarizer_window_tokens": SMALL_WINDOW, "summarizer_max_output_tokens": SMALL_OUTPUT}
    assert room.run(model, **limits).startswith("activated")
    assert {request.max_output_tokens for request in model.asked} == {SMALL_OUTPUT}
    assert len(model.asked) > 1


def test_right_after_a_summary_a_short_turn_calls_for_no_other(client: TestClient, room: Room) -> None:
    del client
    room.add_turns(60)
    assert room.work.state == WorkState.READY
    assert room.run(Model()).startswith("activated")
    room.add_turns(1)
    assert room.work.state == WorkState.IDLE
    assert len(room.summaries) == 1

"""Recall at a context read: what the summary leaves out comes back when it is asked for, and only then."""

import gc
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from context.recall.selection import RECALL_TAG
from context.types import JsonObject
from context.window.emergency import EmergencyCut
from models import database as session
from models.conversations.session import cut_session
from models.due_work.queue import DueWork, WorkKind, WorkState, find_work
from models.recall.settings import RecallSettings, recall_settings
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.summarizing import SESSION, Model, Room
from tests.integration.works import make_due
from workers.jobs.lifecycle import run_work
from workers.jobs.recall import index_session
from workers.settings import WorkerSettings

pytestmark = pytest.mark.usefixtures("early_summaries")

ASIDE = [
    {"role": "user", "content": "What else is there?"},
    {
        "role": "assistant",
        "content": (
            "There is not much else. The carriers have been told. "
            "The spare kayak hangs behind the boathouse. "
            "The drivers had their lunch, and the weather looks fine for the rest of the week."
        ),
    },
]
SAID_IN = 6
QUESTION = "Where does the kayak hang?"


@pytest.fixture
def room(tenant_id: UUID, client: TestClient) -> Room:  # noqa: ARG001 (the API is up)
    """A long session; early in it something is said in passing. It is summarized and indexed."""
    return prepared(Room(tenant_id))


def prepared(room: Room, aside: list[dict[str, Any]] = ASIDE) -> Room:
    room.add_turns(2)
    room.add(*aside)
    room.add_turns(27)
    room.summarize(Model())
    index(room)
    return room


def index(room: Room) -> None:
    """Do the work that the summary made due, until there is no more of it."""
    handlers = {WorkKind.RECALL: lambda held: index_session(held, settings=RecallSettings())}
    while (work := work_of(room)).state == WorkState.READY:
        make_due()
        run_work(work.work_id, handlers, WorkerSettings())


def work_of(room: Room) -> DueWork:
    with session.read_transaction() as db:
        found = find_work(Scope(db, room.tenant_id), WorkKind.RECALL, room.session_id)
    assert found is not None
    return found


def read(client: TestClient, question: str = QUESTION, session_id: str = SESSION, **body: Any) -> Any:
    asked = {
        "model": "gpt-4o",
        "context_window": 16_000,
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": question}],
        **body,
    }
    answer = client.post(f"/v1/sessions/{session_id}/context", json=asked)
    assert answer.status_code == 200, answer.text
    certificate = answer.json()["certificate"]
    assert certificate["fits"]
    assert sum(block["tokens"] for block in certificate["blocks"]) == certificate["input_tokens"]
    return answer.json()


def words(message: Any) -> str:
    return message.get("content") or ""


def region(answer: Any) -> str:
    """The recalled words in a window; empty where there are none."""
    found = [m for m in map(words, answer["messages"]) if m.startswith(f"<{RECALL_TAG}>")]
    assert len(found) <= 1
    return found[0] if found else ""


def block(answer: Any) -> Any:
    return next((b for b in answer["certificate"]["blocks"] if b["source"] == "recall"), None)


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Other settings of recall, for one test."""
    recall_settings.cache_clear()
    yield monkeypatch
    recall_settings.cache_clear()


def test_what_the_summary_leaves_out_is_in_the_window_when_it_is_asked_for(
    client: TestClient, room: Room
) -> None:
    summary = room.standing.summary
    assert summary is not None
    assert summary.to_seq > 6
    answer = read(client)
    assert "The spare kayak hangs behind the boathouse." in region(answer)
    told = answer["utilization"]["recall"]
    assert (told["status"], told["tokens"]) == ("shown", block(answer)["tokens"])
    assert told["tokens"] <= told["max_tokens"]
    assert answer["utilization"]["breakdown"]["recall"] == block(answer)["tokens"]


@pytest.mark.usefixtures("room")
def test_an_answered_read_leaves_nothing_to_the_garbage_collector(client: TestClient) -> None:
    read(client)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        read(client)
        gc.collect()
        own = {type(one).__name__ for one in gc.garbage if is_own(one)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert own == set()


def is_own(one: object) -> bool:
    """Tell whether an object is of a class of the project."""
    return type(one).__module__.partition(".")[0] in ("api", "context", "models")


@pytest.mark.usefixtures("room")
def test_the_certificate_names_the_messages_that_were_recalled(client: TestClient) -> None:
    found = block(read(client))
    ranges = [part.split("-") for part in found["origin"].removeprefix("messages ").split(", ")]
    assert any(int(first) <= SAID_IN <= int(last) for first, *_, last in ([*r, *r] for r in ranges))
    assert (found["source"], found["trust"]) == ("recall", "conversation")


@pytest.mark.usefixtures("room")
def test_the_region_is_a_users_message_right_before_the_new_one(client: TestClient) -> None:
    """It differs with every question: what stands before it stays the same for the provider's cache."""
    answer = read(client, system_prompt="Be kind.")
    assert "<conversation_summary" in answer["messages"][1]["content"]
    assert answer["messages"][-2] == {"role": "user", "content": region(answer)}
    sources = [b["source"] for b in answer["certificate"]["blocks"]]
    assert sources == ["overhead", "system_prompt", "summary", "history", "recall", "new"]


@pytest.mark.usefixtures("room")
def test_a_message_that_asks_for_something_else_does_not_bring_it_back(client: TestClient) -> None:
    asked = read(client, "Is the seal of pallet P-1003 broken?", budget=2_500)
    assert region(asked)
    assert "kayak" not in region(asked)


@pytest.mark.usefixtures("room")
def test_a_message_that_asks_for_nothing_said_brings_nothing_back(client: TestClient) -> None:
    answer = read(client, "Translate xylophone quizzically.")
    assert region(answer) == ""
    assert block(answer) is None
    assert answer["utilization"]["recall"]["status"] == "nothing-found"


def test_while_a_turn_goes_on_its_question_is_recalled_for(client: TestClient, room: Room) -> None:
    """Step by step the window starts alike, and the provider can keep it."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    room.add({"role": "user", "content": QUESTION}, {"role": "assistant", "tool_calls": [call]})
    answer = read(client, messages=[{"role": "tool", "tool_call_id": "c1", "content": "nothing found"}])
    assert "kayak hangs" in region(answer)


def test_what_the_window_shows_raw_is_not_recalled(client: TestClient, room: Room) -> None:
    room.add({"role": "user", "content": "The umbrella is red."}, {"role": "assistant", "content": "I see."})
    assert "umbrella" not in region(read(client, "What colour is the umbrella?"))


def test_another_session_of_the_tenant_is_never_recalled(client: TestClient, room: Room) -> None:
    other = [dict(ASIDE[0]), {"role": "assistant", "content": "The umbrella hangs behind the kayak."}]
    prepared(Room(room.tenant_id, "s2"), other)
    assert "umbrella" not in region(read(client, "Where does the umbrella hang, or the kayak?"))
    assert "umbrella" in region(read(client, "Where does the umbrella hang, or the kayak?", "s2"))


@pytest.mark.usefixtures("room")
def test_another_tenant_is_never_recalled_from_a_session_of_the_same_name(client: TestClient) -> None:
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    theirs = Room(stranger)
    theirs.add_turns(30)
    theirs.summarize(Model())
    index(theirs)
    key = {"Authorization": f"Bearer {make_key(stranger)}"}
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": QUESTION}]}
    answer = client.post(f"/v1/sessions/{SESSION}/context", json=asked, headers=key)
    assert "kayak hangs" not in answer.text
    assert "kayak hangs" in client.post(f"/v1/sessions/{SESSION}/context", json=asked).text


def test_after_a_reset_nothing_of_before_is_recalled(client: TestClient, room: Room) -> None:
    assert client.post(f"/v1/sessions/{SESSION}/reset").status_code == 200
    assert region(read(client)) == ""
    room.add_turns(30)
    room.summarize(Model())
    index(room)
    assert "kayak" not in region(read(client))
    assert region(read(client, "Is the seal of pallet P-1035 broken?"))


def test_a_summary_that_is_rolled_back_takes_the_turns_after_it_out_of_recall(
    client: TestClient, room: Room
) -> None:
    """They are in the window again."""
    room.add({"role": "user", "content": "The umbrella is red."}, {"role": "assistant", "content": "I see."})
    room.add_turns(30)
    room.summarize(Model())
    index(room)
    assert "umbrella" in region(read(client, "What colour is the umbrella?"))
    assert client.post(f"/v1/sessions/{SESSION}/summaries/1/activate").status_code == 200
    answer = read(client, "What colour is the umbrella?", context_window=60_000)
    assert "umbrella" not in region(answer)
    assert sum("The umbrella is red." in message["content"] for message in answer["messages"]) == 1


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("asked", [{}, {"context_window": 4_000}, {"budget": 1_000}, {"budget": 2_000}])
def test_recall_never_exceeds_the_maximum_that_the_answer_states(
    client: TestClient, asked: dict[str, Any]
) -> None:
    answer = read(client, "What does the insurance want for the boxes of the pallets?", **asked)
    told = answer["utilization"]["recall"]
    assert 0 < block(answer)["tokens"] == told["tokens"] <= told["max_tokens"]
    parts = answer["utilization"]["breakdown"]
    must = sum(tokens for part, tokens in parts.items() if part not in {"recall", "history", "summary"})
    room = answer["certificate"]["budget"] - must
    assert told["max_tokens"] < room
    assert told["max_tokens"] >= min(answer["preflight"]["memory"]["max_tokens"], room // 2)


@pytest.mark.usefixtures("room")
def test_recall_keeps_to_the_limits_of_its_settings(client: TestClient, limits: pytest.MonkeyPatch) -> None:
    question = "What does the insurance want for the boxes of the pallets?"
    wide = block(read(client, question))["tokens"]
    limits.setenv("AFTERTURN_RECALL_MAX_TOKENS", "200")
    limits.setenv("AFTERTURN_RECALL_MOST_TOKENS", "200")
    recall_settings.cache_clear()
    narrow = read(client, question)
    most = max(200 * narrow["preflight"]["memory"]["max_tokens"] // 500, 200)
    assert block(narrow)["tokens"] <= narrow["utilization"]["recall"]["max_tokens"] <= most < wide


@pytest.mark.usefixtures("room")
def test_a_small_budget_brings_the_line_that_answers_before_a_tail_of_other_talk(client: TestClient) -> None:
    answer = read(client, budget=700)
    assert "The spare kayak hangs behind the boathouse." in region(answer)
    assert answer["certificate"]["tail"][1] == answer["freshness"]["last_seq"]


def test_raw_turns_that_a_budget_leaves_out_are_recalled_without_any_summary(
    client: TestClient, tenant_id: UUID
) -> None:
    room = Room(tenant_id)
    room.add_turns(2)
    room.add(*ASIDE)
    room.add_turns(12)
    behind = read(client, budget=700)
    assert behind["utilization"]["recall"]["status"] == "not-indexed-yet"
    assert behind["freshness"]["pending"] >= 1
    index(room)
    answer = read(client, budget=700)
    assert answer["certificate"]["summary_covers"] is None
    assert "The spare kayak hangs behind the boathouse." in region(answer)
    told = answer["utilization"]["recall"]
    assert (told["status"], told["not_indexed"]) == ("shown", 0)
    room.add_turns(4)
    newer = read(client, budget=700)
    told, hidden = newer["utilization"]["recall"], newer["certificate"]["tail"][0] - 1
    assert told["status"] == "shown"
    assert told["not_indexed"] == hidden - 28 > 0
    assert {"what": "recall", "why": "not-indexed-yet", "tokens": None} in newer["certificate"]["excluded"]


def test_passages_of_another_day_say_when_they_were_said(client: TestClient, tenant_id: UUID) -> None:
    room = Room(tenant_id)
    for number in range(6):
        said = ASIDE if number == 1 else [{"role": "user", "content": f"Box {number} is wet. " * 40}]
        event = {
            "turn_id": f"t{number}",
            "messages": said,
            "completed_at": f"2023-05-0{number + 1}T12:00:00Z",
        }
        assert client.post(f"/v1/sessions/{SESSION}/turns", json=event).status_code == 202
    index(room)
    assert "\u00b7 2 May 2023]" in region(read(client, budget=500))


def test_a_newest_turn_that_no_budget_holds_is_recalled(client: TestClient, tenant_id: UUID) -> None:
    room = Room(tenant_id)
    room.add({"role": "user", "content": "My door code is 4471. " + "Then I walked on and on. " * 300})
    assert (
        read(client, "What is my door code?", budget=1_000)["utilization"]["recall"]["status"]
        == "not-indexed-yet"
    )
    index(room)
    answer = read(client, "What is my door code?", budget=1_000)
    assert "My door code is 4471." in region(answer)


def nothing(status: str) -> dict[str, Any]:
    """What an answer says where nothing is looked for."""
    return {"status": status, "tokens": 0, "max_tokens": 0, "not_indexed": 0}


def test_small_talk_skips_recall(client: TestClient, room: Room) -> None:
    assert room.standing.summary is not None
    answer = read(client, "Thanks, good morning!")
    assert answer["utilization"]["recall"] == {
        "status": "skipped",
        "tokens": 0,
        "max_tokens": 0,
        "not_indexed": 0,
    }


@pytest.mark.parametrize("nod", ["ok", "go on", "Yes, go ahead."])
@pytest.mark.usefixtures("room")
def test_a_nod_brings_nothing_back(client: TestClient, nod: str) -> None:
    answer = read(client, nod)
    assert region(answer) == ""
    assert answer["utilization"]["recall"]["status"] == "skipped"


NEWS = (
    "Yesterday the orchestra rehearsed a symphony, the violins were tuned too low, the conductor shouted at "
    "trombones, somebody spilled coffee over scores, and a kayak was painted on the curtain by children."
)


@pytest.mark.usefixtures("room")
def test_a_message_about_something_new_brings_nothing_back_for_one_word_of_it(
    client: TestClient, limits: pytest.MonkeyPatch
) -> None:
    answer = read(client, NEWS)
    assert region(answer) == ""
    assert answer["utilization"]["recall"]["status"] == "nothing-found"
    limits.setenv("AFTERTURN_RECALL_LEAST_SCORE", "0")
    recall_settings.cache_clear()
    assert "kayak" in region(read(client, NEWS))


@pytest.mark.parametrize("switch", ["AFTERTURN_RECALL_MAX_FACTS", "AFTERTURN_RECALL_MAX_TOKENS"])
@pytest.mark.usefixtures("room")
def test_zero_switches_recall_off(client: TestClient, limits: pytest.MonkeyPatch, switch: str) -> None:
    limits.setenv(switch, "0")
    recall_settings.cache_clear()
    answer = read(client)
    assert region(answer) == ""
    assert answer["utilization"]["recall"] == {
        "status": "off",
        "tokens": 0,
        "max_tokens": 0,
        "not_indexed": 0,
    }


@pytest.mark.usefixtures("room")
def test_a_search_that_is_too_slow_is_given_up_and_the_read_is_right_without_it(
    client: TestClient, limits: pytest.MonkeyPatch, engine: Engine
) -> None:
    """Somebody holds the table: the search would wait, the read does not."""
    limits.setenv("AFTERTURN_RECALL_TIMEOUT_MS", "20")
    recall_settings.cache_clear()
    with engine.begin() as other:
        other.execute(text("lock table recall_progress in access exclusive mode"))
        answer = read(client)
    assert region(answer) == ""
    assert answer["utilization"]["recall"]["status"] == "search-failed"
    assert answer["certificate"]["tail"] is not None
    assert answer["certificate"]["summary_covers"] is not None
    # The next one may take its time, as on a busy machine any does.
    limits.setenv("AFTERTURN_RECALL_TIMEOUT_MS", "5000")
    recall_settings.cache_clear()
    assert region(read(client))


@pytest.mark.usefixtures("room")
def test_a_search_that_fails_never_fails_the_read(client: TestClient, engine: Engine) -> None:
    with engine.begin() as db:
        db.execute(text("alter table recall_term rename to recall_term_away"))
    try:
        answer = read(client)
    finally:
        with engine.begin() as db:
            db.execute(text("alter table recall_term_away rename to recall_term"))
    assert answer["utilization"]["recall"]["status"] == "search-failed"
    assert {"what": "recall", "why": "search-failed", "tokens": None} in answer["certificate"]["excluded"]
    assert region(read(client))


def test_what_an_emergency_left_out_is_recalled_and_what_it_kept_is_not(
    client: TestClient, tenant_id: UUID
) -> None:
    room = Room(tenant_id)
    room.add_turns(2)
    room.add(*ASIDE)
    room.add({"role": "user", "content": "The umbrella is red."}, {"role": "assistant", "content": "I see."})
    room.add_turns(2)
    with session.transaction() as db:
        assert cut_session(Scope(db, tenant_id), room.standing.session, EmergencyCut(cut_seq=8, kept_seq=7))
    index(room)
    answer = read(client, "Where does the kayak hang, and what colour is the umbrella?")
    assert "kayak hangs" in region(answer)
    assert "umbrella" not in region(answer)


@pytest.mark.parametrize(
    ("answer", "shows"),
    [
        ("I can send driver 7 to fetch the spare kayak. Shall I?", True),
        ("Driver 7 has fetched the spare kayak.", False),
        ("The spare kayak is fetched. Anything else?", False),
    ],
)
def test_a_yes_recalls_what_the_accepted_offer_is_about_and_nothing_without_an_offer(
    room: Room, client: TestClient, answer: str, shows: bool
) -> None:
    room.add({"role": "user", "content": "And then?"}, {"role": "assistant", "content": answer})
    told = read(client, "Yes, please go ahead.")
    shown = [
        text for message in told["messages"] if (text := message["content"]).startswith(f"<{RECALL_TAG}>")
    ]
    assert any("behind the boathouse" in words for words in shown) is shows
    assert told["utilization"]["recall"]["status"] == ("shown" if shows else "skipped")


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
LOOKED: list[JsonObject] = [
    {"role": "user", "content": "Look at the gauge of the river."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "two metres"},
    {"role": "assistant", "content": "It stands at two metres."},
]
TOOLS = [
    {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
]
VAGUE = "When was the kayak seen beside the bridge near the mill by the fisherman?"


def test_an_agent_with_tools_is_shown_only_passages_close_to_its_question(
    client: TestClient, tenant_id: UUID
) -> None:
    """Before a turn of steps recall is read anew twice, and a step can look for what is missing."""
    room = Room(tenant_id)
    room.add(*ASIDE)
    for place in range(30):
        room.add(
            *({**one, "content": f"{one['content']} {place}"} if one["content"] else one for one in LOOKED)
        )
    room.summarize(Model())
    index(room)
    assert "kayak hangs" in region(read(client, tools=TOOLS))
    assert "kayak hangs" in region(read(client, VAGUE)), "a chat is shown it"
    assert region(read(client, VAGUE, tools=TOOLS)) == ""

"""A context read asks the database few times: rows that nothing else decides come in one statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event, text

from models import database as session
from tests.integration.reading import FACT, long_report
from tests.integration.summarizing import SESSION, Room
from tests.integration.test_recall_context import prepared

pytestmark = pytest.mark.usefixtures("early_summaries")

QUESTION = "Where does the kayak hang, and when does container MSKU-481516 leave berth 23?"
TOOLS = [{"name": f"weigh_{n}", "description": f"Weighs crate {n} of the depot."} for n in range(40)]


@contextmanager
def statements() -> Iterator[list[str]]:
    """List the statements sent meanwhile, without those that come by the clock: a key's look-up, counts."""
    sent: list[str] = []

    def note(_db: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "api_key" not in statement and "metric_count" not in statement:
            sent.append(" ".join(statement.split())[:300])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def room(tenant_id: UUID, client: TestClient) -> Room:
    """A session with a summary, an index for recall, a topic, and a large result of a tool behind both."""
    found = prepared(Room(tenant_id))
    function = {"name": "read_report", "arguments": '{"path": "report.txt"}'}
    call = {"id": "c1", "type": "function", "function": function}
    turn = [
        {"role": "user", "content": "Read the report of the berths."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": long_report(lines=1_200)},
        {"role": "assistant", "content": "I have read it."},
    ]
    answer = client.post(f"/v1/sessions/{SESSION}/turns", json={"turn_id": "report", "messages": turn})
    assert answer.status_code == 202, answer.text
    assert client.put("/v1/catalogs/depot", json={"tools": TOOLS}).status_code == 200
    return found


def ask(client: TestClient, question: str, **more: Any) -> Any:
    """Ask for a window without a trace, so that no statement comes after the answer."""
    asked = {
        "model": "gpt-4o",
        "context_window": 16_000,
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": question}],
        "dry_run": True,
        **more,
    }
    answer = client.post(f"/v1/sessions/{SESSION}/context", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(("more", "most"), [({}, 3), ({"catalog": "depot"}, 4)], ids=["talk", "catalog"])
def test_a_read_with_summary_artifacts_and_recall_takes_three_statements(
    client: TestClient, more: dict[str, Any], most: int
) -> None:
    ask(client, "Which report was read last?", **more)  # what is kept for any question is read
    with statements() as sent:
        answer = ask(client, QUESTION, **more)
    shown = {block["source"] for block in answer["certificate"]["blocks"]}
    assert {"summary", "history", "artifact", "recall"} <= shown
    assert "kayak hangs behind the boathouse" in str(answer["messages"])
    assert FACT in str(answer["messages"])
    assert len(sent) == most, sent


@pytest.mark.usefixtures("room")
def test_all_hints_after_an_answer_take_one_statement(client: TestClient, tenant_id: UUID) -> None:
    ask(client, "Which report was read last?", dry_run=False)
    with session.transaction() as db:
        for statement in (
            "update session set cache_after_seq = null",
            "delete from preflight_session",
            "delete from preflight_decision",
            "delete from artifact_reading",
        ):
            db.execute(text(statement))
    with statements() as sent:
        ask(client, QUESTION, dry_run=False)
    assert len(sent) == 4, sent
    with session.transaction() as db:
        left = db.execute(
            text("""
                select cache_after_seq = last_seq, cache_model, cache_input_tokens > 0, turn_as_of <= now(),
                    t.categories, d.categories, d.turn_index, d.scores <> '{}', d.previous, r.how, r.readings
                from session join preflight_session as t using (tenant_id, session_id)
                    join preflight_decision as d using (tenant_id, session_id)
                    join artifact_reading as r using (tenant_id)
                where tenant_id = :tenant_id
            """),
            {"tenant_id": tenant_id},
        ).one()
    kinds = answer_categories(client)
    turn = left.turn_index
    assert tuple(left) == (True, "gpt-4o", True, True, kinds, kinds, turn, True, None, "extract", 1)


def answer_categories(client: TestClient) -> list[str]:
    """Ask for the categories of the question."""
    found: list[str] = ask(client, QUESTION)["preflight"]["categories"]
    return found


@pytest.mark.usefixtures("room")
def test_artifacts_of_an_agreed_question_are_read_once_it_is_known(client: TestClient) -> None:
    ask(client, "Which report was read last?")
    with statements() as sent:
        answer = ask(client, "Yes, please.")
    assert {"summary", "history", "artifact"} <= {b["source"] for b in answer["certificate"]["blocks"]}
    assert sum(one.startswith("with asked as (") for one in sent) == 1
    assert len(sent) <= 4, sent


@pytest.mark.usefixtures("room")
def test_messages_beyond_those_read_ahead_are_read_on(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.context.tail.MIN_READ", 1)
    monkeypatch.setattr("api.context.session_request.MIN_READ", 1)
    short = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Yes."}]
    for number in range(40):
        turn = {"turn_id": f"short-{number}", "messages": short, "model": "gpt-4o"}
        assert client.post(f"/v1/sessions/{SESSION}/turns", json=turn).status_code == 202
    whole = ask(client, QUESTION)
    monkeypatch.setattr("api.context.session_request.MAX_READ", 5)
    with statements() as sent:
        again = ask(client, QUESTION)
    assert again["messages"] == whole["messages"]
    assert len(sent) == 4, sent

"""Reading the log back over HTTP: whole turns, as sent, bounded, flat, and only one's own."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, event, text

from api.sessions import history as history_api
from api.settings import ApiSettings
from models import database as session
from models.conversations.history import load_turns
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key

PATH = "/v1/sessions/s1/turns"
Reader = Callable[..., dict[str, Any]]


@pytest.fixture
def read(client: TestClient) -> Reader:
    """Ten turns of three messages each, and the means to read them."""
    for number in range(1, 11):
        post(client, number)

    def get(**range_: int) -> dict[str, Any]:
        answer = client.get(PATH, params=range_)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    return get


def messages_of(number: int) -> list[dict[str, Any]]:
    call = {
        "id": "call_0",
        "type": "function",
        "function": {"name": "look", "arguments": f'{{"n": {number}}}'},
    }
    return [
        {
            "role": "user",
            "content": f"Look at pallet {number}",
            "x-platform": {"kept": ["as", "sent", number]},
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": "é \u2028 wet"},
    ]


def post(client: TestClient, number: int, **fields: Any) -> None:
    body = {"turn_id": f"t{number}", "messages": messages_of(number), **fields}
    assert client.post(PATH, json=body).status_code == 202


def turns(answer: dict[str, Any]) -> list[int]:
    return [turn["turn_index"] for turn in answer["turns"]]


def test_the_turns_of_a_range_come_back_as_they_were_sent(read: Reader) -> None:
    [turn] = read(**{"from": 4, "to": 6})["turns"]
    assert turn["messages"] == messages_of(2)
    assert (turn["turn_id"], turn["first_seq"], turn["last_seq"], turn["seqs"]) == ("t2", 4, 6, [4, 5, 6])


def test_a_message_is_spliced_in_as_it_is_stored(read: Reader, client: TestClient) -> None:
    """Whatever a number looks like in the log, it looks like that in the answer."""
    read()
    stored = '{"content":1.50e0, "role":"user"}'
    with session.transaction() as db:
        db.execute(text("update message set body = :body where seq = 1"), {"body": stored})
    assert stored in client.get(PATH, params={"from": 1, "to": 1}).text


@pytest.mark.parametrize(
    ("first", "last", "touched"),
    [(5, 5, [2]), (3, 4, [1, 2]), (1, 30, list(range(1, 11))), (0, 1, [1]), (30, 99, [10]), (6, 7, [2, 3])],
)
def test_turns_that_touch_the_range_come_whole(
    read: Reader, first: int, last: int, touched: list[int]
) -> None:
    answer = read(**{"from": first, "to": last})
    assert turns(answer) == touched
    assert all(len(turn["messages"]) == 3 for turn in answer["turns"])
    assert answer["next"] is None


@pytest.mark.parametrize("range_", [{"from": 31}, {"from": 31, "to": 40}, {"to": 0}])
def test_a_range_outside_the_log_is_empty(read: Reader, range_: dict[str, int]) -> None:
    answer = read(**range_)
    assert (answer["turns"], answer["next"]) == ([], None)


def test_without_a_range_the_last_fifty_messages_are_read(
    read: Reader, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(11, 21):
        post(client, number)
    assert turns(read()) == list(range(4, 21))
    assert turns(read(to=33)) == list(range(1, 12))
    monkeypatch.setattr(history_api, "DEFAULT_MESSAGES", 1)
    assert turns(read()) == [20]


def test_a_long_range_is_read_in_parts_that_join_without_gap_or_double(
    read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_api, "api_settings", lambda: ApiSettings(max_read_messages=7))
    parts, start = [], 2
    while start:
        answer = read(**{"from": start, "to": 28})
        parts.append(turns(answer))
        start = answer["next"]
    assert parts == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


def test_the_size_of_one_read_is_bounded_and_its_first_turn_is_whole(
    read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(len(json.dumps(body, ensure_ascii=False)) for body in messages_of(1))
    monkeypatch.setattr(history_api, "api_settings", lambda: ApiSettings(max_read_bytes=2 * size))
    assert turns(read(**{"from": 1})) == [1, 2]
    monkeypatch.setattr(
        history_api, "api_settings", lambda: ApiSettings(max_read_bytes=1, max_read_messages=1)
    )
    answer = read(**{"from": 1})
    assert (len(answer["turns"][0]["messages"]), answer["next"]) == (3, 4)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=9&to=3", "from"),
        ("from=abc", "from"),
        ("to=1.5", "to"),
        ("from=-1", "from"),
        (f"to={2**63}", "to"),
        ("form=3", "form"),
    ],
)
def test_a_range_that_is_none_is_refused_with_its_field(
    client: TestClient, read: Reader, query: str, field: str
) -> None:
    read()
    answer = client.get(f"{PATH}?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_a_session_of_another_tenant_does_not_exist(client: TestClient, read: Reader) -> None:
    read()
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert client.get(PATH).status_code == 404
    assert client.get(PATH, params={"from": 1, "to": 3}).json()["type"] == "not-found"


def test_a_key_that_may_only_write_reads_no_turn(client: TestClient, read: Reader, tenant_id: UUID) -> None:
    read()
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id, 'write')}"
    assert client.get(PATH).status_code == 403


def test_turns_from_before_a_reset_are_read_and_say_so(client: TestClient, read: Reader) -> None:
    assert client.post("/v1/sessions/s1/reset").status_code == 200
    post(client, 11, model="m", completed_at="2026-01-02T03:04:05Z")
    answer = read(**{"from": 28})
    assert answer["generation"] == 2
    assert [(turn["turn_index"], turn["generation"]) for turn in answer["turns"]] == [(10, 1), (11, 2)]
    newest = answer["turns"][1]
    assert (newest["model"], newest["completed_at"]) == ("m", "2026-01-02T03:04:05+00:00")


@pytest.mark.parametrize("zone", ["+23:59", "-23:59", "+16:00", "-15:59", "+05:45"])
def test_a_turn_keeps_its_time_from_any_zone(client: TestClient, zone: str) -> None:
    """The database refuses zones that are 16 hours or more from UTC."""
    at = f"2026-01-02T03:04:05{zone}"
    turn = {"messages": [{"role": "user", "content": "Hello"}], "completed_at": at}
    assert client.post("/v1/sessions/s1/turns", json={**turn, "turn_id": "t1"}).status_code == 202
    line = json.dumps({**turn, "turn_id": "t2", "session_id": "s1"})
    assert client.post("/v1/turns", content=line).status_code == 200
    shown = [one["completed_at"] for one in client.get(PATH).json()["turns"]]
    assert shown == [datetime.fromisoformat(at).astimezone(UTC).isoformat()] * 2


def test_a_hole_in_the_log_hides_no_turn_beside_it(read: Reader) -> None:
    read()
    with session.transaction() as db:
        db.execute(text("delete from message where seq in (4, 7, 8, 9)"))
    assert [turn["seqs"] for turn in read(**{"from": 4, "to": 4})["turns"]] == [[5, 6]]
    answer = read(**{"from": 5, "to": 10})
    assert [(turn["turn_index"], turn["seqs"]) for turn in answer["turns"]] == [
        (2, [5, 6]),
        (3, []),
        (4, [10, 11, 12]),
    ]


def test_the_document_describes_the_range_and_the_answer(client: TestClient) -> None:
    described = client.get("/openapi.json").json()["paths"]["/v1/sessions/{session_id}/turns"]["get"]
    assert {"from", "to"} <= {parameter["name"] for parameter in described["parameters"]}
    schema = described["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/TurnsAnswer"}


@contextmanager
def statements(db: Connection) -> Iterator[list[tuple[str, Any]]]:
    """What is sent to the database meanwhile."""
    sent: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        sent.append((statement, parameters))

    event.listen(db, "before_cursor_execute", note)
    yield sent
    event.remove(db, "before_cursor_execute", note)


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from steps(part)


LONG_LOG = """
    insert into session (tenant_id, session_id, last_seq, last_turn_index)
        values (:tenant_id, 'long', 100000, 50000);
    insert into turn (tenant_id, session_id, turn_index, turn_id, body_sha256, generation, first_seq,
            last_seq, tokens)
        select :tenant_id, 'long', n, 't' || n, '', 1, 2 * n - 1, 2 * n, 20 from generate_series(1, 50000) n;
    insert into message (tenant_id, session_id, seq, turn_index, role, wire, tokens, tokens_wide, body)
        select :tenant_id, 'long', n, (n + 1) / 2, 'user', 'openai', 10, 10, '{"role":"user"}'
        from generate_series(1, 100000) n;
    analyze turn; analyze message
"""


def test_reading_a_range_of_a_hundred_thousand_messages_scans_an_index_range(db: Connection) -> None:
    tenant = ensure_tenant(db, "long")
    for statement in LONG_LOG.split(";\n"):
        db.execute(text(statement), {"tenant_id": tenant} if ":tenant_id" in statement else {})
    for first in (1, 50_001, 99_951):
        with statements(db) as sent:
            found, read_on = load_turns(
                Scope(db, tenant),
                "long",
                from_seq=first,
                to_seq=first + 49,
                most_messages=200,
                most_bytes=10**6,
            )
        assert (len(found), read_on, len(sent)) == (25, None, 3)
        for statement, parameters in sent:
            assert max(rows_read(db, statement, parameters)) <= 100


def rows_read(db: Connection, statement: str, parameters: Any) -> list[float]:
    """How many rows each step of a plan read; no step may read a whole table."""
    [plan] = db.exec_driver_sql(f"explain (analyze, format json) {statement}", parameters).scalar_one()
    found = list(steps(plan["Plan"]))
    assert "Seq Scan" not in {step["Node Type"] for step in found}
    return [
        (step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"] for step in found
    ]

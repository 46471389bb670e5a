"""A tenant whose key was forgotten: what nobody can read is gone, and everything goes on."""

import json
from collections.abc import Collection
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.text import app as text_commands
from context.artifacts.content import artifact_id_of
from context.recall.passages import Passage
from models import database as session
from models.conversations.history import load_oldest
from models.encryption.keys import TextUnavailableError
from models.learning.progress import LearningCounts, keep_counted
from models.recall.index import Progress, RecallKey, add_passages
from models.rekeying.columns import COLUMNS, count_cells
from models.rekeying.purge import shed_unreadable
from models.rekeying.rotation import forget_text_key
from models.scope import Scope
from tests.integration.doors import DOORS, MORE, Ids, Way, filled
from tests.integration.erasing import plant_by_our_own_ways, post_turn, talk, tool_turn
from tests.integration.sealing import FIRST, SECOND, Environment
from tests.integration.test_text_rotation import MESSAGES, Traffic

WORD = "zqxharbour"
SESSION = "s1"
CONTENT = f"{WORD} is open. " * 100
DOCUMENT = {"content": CONTENT, "title": "The harbour", "source": WORD}
TOOL = {"name": "read_file", "description": "Reads a file."}
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "and now?"}]}


@pytest.fixture
def tenant(client: TestClient, tenant_id: UUID, keys: Environment) -> UUID:
    """A tenant with sealed rows everywhere that seals."""
    del keys
    assert client.put("/v1/catalogs/tools", json={"tools": [TOOL]}).status_code == 200
    plant_by_our_own_ways(tenant_id, client, SESSION, WORD, turn_id="t1", user_id="anna")
    said = Passage(1, 1, 0, 0, 1, "user", f"{WORD} said so", 0, 5, frozenset(["nobody", "asks"]))
    with session.transaction() as db:
        index = RecallKey(tenant_id, SESSION)
        assert add_passages(db, index, [said], base=Progress(), through_seq=1)
        assert keep_counted(Scope(db, tenant_id), "tools", seen=0, counted=LearningCounts(3, b"counts", {}))
    upload(client)
    plan = {"intent": f"find {WORD}", "catalog": "tools", "model": "m"}
    assert client.post("/v1/plans", json=plan).status_code == 202
    return tenant_id


def upload(client: TestClient) -> str:
    answer = client.post("/v1/attachments", json=DOCUMENT)
    assert answer.status_code in {200, 201}, answer.text
    return str(answer.json()["artifact_id"])


def forget(tenant_id: UUID) -> None:
    with session.transaction() as db:
        assert forget_text_key(Scope(db, tenant_id))


def shed(tenant_id: UUID) -> dict[str, int]:
    removed: dict[str, int] = {}
    for name, count in shed_unreadable(session.transaction, tenant_id, most=3):
        assert count <= 3
        removed[name] = removed.get(name, 0) + count
    return removed


def sealed_cells(tenant_id: UUID) -> dict[str, int]:
    with session.read_transaction() as db:
        found = {column.cell: count_cells(Scope(db, tenant_id), column)[0] for column in COLUMNS}
    return {name: count for name, count in found.items() if count}


def one(query: str) -> str:
    with session.read_transaction() as db:
        return str(db.execute(text(query)).scalar_one())


def walk(client: TestClient, ids: Ids, ways: Collection[Way] | None = None) -> dict[str, int]:
    """The status by which each route answers, or these alone; those last that erase or reset."""
    cases = {" ".join(way): (way, door) for way, door in DOORS.items() if ways is None or way in ways}
    cases |= dict(MORE) if ways is None else {}
    ends = ("DELETE", "reset")
    answers = {}
    for name in sorted(cases, key=lambda name: any(end in name for end in ends)):
        way, door = cases[name]
        body = filled(door.body, ids)
        answers[name] = client.request(
            way[0],
            filled(way[1], ids),
            params=filled(dict(door.query), ids),
            content=json.dumps(body).encode() if body is not None else b"",
            headers={"Content-Type": "application/json"},
        ).status_code
    return answers


def ids_of_rows() -> Ids:
    return Ids(
        session_id=SESSION,
        artifact_id=one("select min(artifact_id) from artifact_use"),
        attachment_id=artifact_id_of(CONTENT),
        plan_id=one("select min(plan_id::text) from plan_history where source = 'asked'"),
        user_id="anna",
        name="tools",
    )


def test_every_route_answers_before_the_removal_as_after_it(client: TestClient, tenant: UUID) -> None:
    ids, of_history = ids_of_rows(), ("POST /v1/sessions/{session_id}/context", "POST /v1/preflight")
    reads = {way for way, door in DOORS.items() if door.scope == "read"}
    forget(tenant)
    before = walk(client, ids, reads)
    assert WORD not in client.get("/v1/my-plans").text
    assert sealed_cells(tenant) != {}
    shed(tenant)
    assert [before.pop(way) for way in of_history] == [404, 404], "they look at what history calls"
    after = walk(client, ids, reads)
    assert [after.pop(way) for way in of_history] == [200, 200]
    assert before == after
    assert {200, 404} == set(before.values())


def test_no_route_is_unavailable_before_the_removal(client: TestClient, tenant: UUID) -> None:
    ids = ids_of_rows()
    forget(tenant)
    assert {name: code for name, code in walk(client, ids).items() if code >= 500} == {}


def test_no_route_stays_unavailable(client: TestClient, tenant: UUID) -> None:
    ids = ids_of_rows()
    forget(tenant)
    removed = shed(tenant)
    assert removed.keys() >= {
        "message.body",
        "artifact.content",
        "plan_history.intent",
        "learning_state.state",
    }
    assert sealed_cells(tenant) == {}
    assert client.get("/v1/my-plans").json()["plans"] == []
    assert client.get(f"/v1/artifacts/{ids.artifact_id}").status_code == 404
    assert client.get(f"/v1/plans/{ids.plan_id}").status_code == 404
    assert client.delete(f"/v1/sessions/{SESSION}").json()["repeated"] is True
    assert {name: code for name, code in walk(client, ids).items() if code >= 500} == {}


def test_a_second_upload_is_stored_anew_also_before_anything_is_removed(
    client: TestClient, tenant: UUID
) -> None:
    artifact_id = artifact_id_of(CONTENT)
    forget(tenant)
    for _ in range(2):
        assert upload(client) == artifact_id
        found = client.get(f"/v1/attachments/{artifact_id}?content=true")
        assert found.status_code == 200, found.text
        assert (found.json()["content"], found.json()["title"]) == (CONTENT, "The harbour")
        shed(tenant)


def test_what_comes_after_the_key_is_gone_stays(client: TestClient, tenant: UUID) -> None:
    forget(tenant)
    later = tool_turn("later", "marigold")
    post_turn(client, SESSION, later)
    plan = {"intent": "find marigold", "catalog": "tools", "model": "m", "session_id": SESSION}
    assert client.post("/v1/plans", json=plan).status_code == 202
    shed(tenant)
    (shown,) = client.get(f"/v1/sessions/{SESSION}/turns").json()["turns"]
    assert len(shown["messages"]) == len(later["messages"])
    assert "marigold" in str(shown)
    assert WORD not in str(shown)
    assert [one["intent"] for one in client.get("/v1/my-plans").json()["plans"]] == ["find marigold"]
    context = client.post(f"/v1/sessions/{SESSION}/context", json=ASKED)
    assert context.status_code == 200, context.text
    assert context.json()["certificate"]["tool_pairs_intact"] is True
    again = client.post(f"/v1/sessions/{SESSION}/turns", json=later)
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert shed(tenant) == {}


def test_turns_that_were_never_sealed_stay_and_their_summary_is_made_anew(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    keys.use()
    talk(client, SESSION, 2)
    keys.use(FIRST)
    plant_by_our_own_ways(tenant_id, client, "other", WORD, turn_id="t1", user_id="anna")
    post_turn(client, SESSION, tool_turn("sealed", WORD))
    forget(tenant_id)
    shed(tenant_id)
    shown = client.get(f"/v1/sessions/{SESSION}/turns").json()["turns"]
    assert [turn["seqs"] for turn in shown] == [[1, 2], [3, 4]]
    assert client.get("/v1/sessions/other").status_code == 404
    answer: dict[str, Any] = client.post(f"/v1/sessions/{SESSION}/context", json=ASKED).json()
    assert answer["certificate"]["tail"] == [1, 4]
    again = client.post(f"/v1/sessions/{SESSION}/turns", json=tool_turn("sealed", WORD))
    assert (again.status_code, again.json()["duplicate"]) == (202, False)


def test_a_key_that_is_only_not_at_hand_costs_nothing(
    client: TestClient, tenant: UUID, keys: Environment
) -> None:
    before = sealed_cells(tenant)
    for wrong in ((SECOND,), ()):
        keys.use(*wrong)
        with pytest.raises(TextUnavailableError):
            shed(tenant)
    keys.use(FIRST)
    assert shed(tenant) == {}
    assert {**sealed_cells(tenant)} == before
    assert client.get("/v1/my-plans").status_code == 200


def test_the_command_says_what_it_removed_and_a_second_one_has_nothing_to_do(
    client: TestClient, tenant: UUID, keys: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_TEXT_KEY_CACHE_S", "0")
    keys.use(FIRST)
    refused = CliRunner().invoke(text_commands, ["clear", "--tenant", "first"])
    assert "--for-ever" in refused.output
    told = CliRunner().invoke(text_commands, ["forget", "--tenant", "first", "--for-ever"])
    assert told.exit_code == 0, told.output
    assert "The key of first is gone." in told.output
    assert "message.body: " in told.output
    assert sealed_cells(tenant) == {}
    assert client.get("/v1/my-plans").status_code == 200
    again = CliRunner().invoke(text_commands, ["clear", "--tenant", "first", "--for-ever"])
    assert again.output.strip() == "Nothing is left of first that cannot be read."


def test_a_tenant_goes_on_talking_while_what_was_lost_is_removed(
    client: TestClient, tenant_id: UUID, keys: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_TEXT_KEY_CACHE_S", "0")
    keys.use(FIRST)
    for number in range(2):
        plant_by_our_own_ways(tenant_id, client, f"old{number}", WORD, turn_id="t1", user_id="anna")
    forget(tenant_id)
    post_turn(client, "s0", tool_turn("t0", WORD))
    traffic = Traffic(client)
    with traffic.running():
        traffic.goes_on()
        shed(tenant_id)
        traffic.goes_on()
    assert traffic.refused == []
    assert shed(tenant_id) == {}
    with session.read_transaction() as db:
        log = load_oldest(Scope(db, tenant_id), "s1", after_seq=0, up_to_seq=10_000, most=10_000)
        uploads = db.execute(text("select count(*) from artifact_attachment")).scalar()
    assert (len(log), uploads) == (MESSAGES * traffic.turns, traffic.turns)

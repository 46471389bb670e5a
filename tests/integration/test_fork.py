"""Fork of a session: a copy up to a turn, with its summary and its large results; then each goes its way."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.settings import api_settings
from api.turns.intake import TurnCompleted, read_turn, store_turns
from models import database as session
from models.conversations.summary import store_summary
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import new_summary, plant_everywhere, post_turn, tables_with, talk, tool_turn
from tests.integration.sealing import Environment
from tests.integration.summarizing import SESSION, Model, Room, dialogue
from tests.integration.test_erase_messages import rows
from tests.waiting import wait_until

PATH = f"/v1/sessions/{SESSION}"
WORD = "zqxmarker"
QUESTION = {"role": "user", "content": "And now?"}


def fork(client: TestClient, after: str | None = None, to: str = "b", status: int = 200) -> dict[str, Any]:
    answer = client.post(f"{PATH}/fork", json={"session_id": to, "after_turn": after})
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def turns(client: TestClient, session_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/v1/sessions/{session_id}/turns?from=1").json()["turns"]
    return found


def window(client: TestClient, session_id: str) -> dict[str, Any]:
    body = {"model": "gpt-4o", "context_window": 100_000, "max_tokens": 500, "messages": [QUESTION]}
    answer = client.post(f"/v1/sessions/{session_id}/context", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def summarize(tenant_id: UUID, *ends: int) -> None:
    with session.transaction() as db:
        for version, to_seq in enumerate(ends, 1):
            made = new_summary(to_seq, f"Notes up to [{to_seq}].", base=version - 1 or None)
            assert store_summary(Scope(db, tenant_id), SESSION, made, activate=True)


def test_equal_forks_at_once_make_one_session_and_all_are_answered(client: TestClient) -> None:
    talk(client, SESSION, 30)
    for name in ("a-fork", "z-fork"):  # before and behind the source in the order of ids
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda _, to=name: fork(client, to=to), range(8)))
        assert sorted(answer["repeated"] for answer in answers) == [False] + 7 * [True]
        assert turns(client, name) == turns(client, SESSION)


def test_a_fork_into_a_session_that_a_turn_begins_at_the_same_time_is_refused(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, SESSION, 2)
    client.post(f"{PATH}/reset")
    talk(client, SESSION, 2, first=3)
    first = TurnCompleted(turn_id="first", messages=dialogue(1))
    with ThreadPoolExecutor(1) as threads:
        with session.transaction() as db:
            store_turns(Scope(db, tenant_id), [read_turn("b", first).turn])
            late = threads.submit(fork, client, status=409)
            waits = "select 1 from pg_locks where not granted"
            wait_until(lambda: rows(waits), within_s=10, what="the fork waits for the turn")
        assert late.result()["type"] == "session-exists"
    assert [turn["turn_id"] for turn in turns(client, "b")] == ["first"]


def test_a_fork_has_the_turns_up_to_a_turn_under_their_numbers(client: TestClient) -> None:
    post_turn(client, SESSION, tool_turn("t1", "crane", user_id="anna"))
    talk(client, SESSION, 3)
    answer = fork(client, "talk-2")
    assert (answer["last_turn_id"], answer["last_seq"], answer["revision"]) == ("talk-2", 8, "1.8")
    assert turns(client, "b") == turns(client, SESSION)[:3]
    uses = "select seq, place, artifact_id, tool, subject from artifact_use where session_id = :id"
    assert rows(uses, id="b") == rows(uses, id=SESSION) != []
    users = "select user_id from turn where session_id = 'b' order by turn_index"
    assert rows(users) == [("anna",), (None,), (None,)]
    assert window(client, "b")["certificate"]["tail"] == [1, 8]


def test_both_sessions_go_on_by_themselves(client: TestClient) -> None:
    talk(client, SESSION, 2)
    fork(client, "talk-1")
    talk(client, "b", 1, first=7)
    talk(client, SESSION, 1, first=3)
    assert [turn["turn_id"] for turn in turns(client, "b")] == ["talk-1", "talk-7"]
    assert [turn["turn_id"] for turn in turns(client, SESSION)] == ["talk-1", "talk-2", "talk-3"]
    again = client.post("/v1/sessions/b/turns", json={"turn_id": "talk-1", "messages": dialogue(1)})
    assert again.json()["duplicate"] is True


@pytest.mark.usefixtures("early_summaries")
def test_the_newest_summary_without_a_later_message_is_in_force(client: TestClient, tenant_id: UUID) -> None:
    talk(client, SESSION, 6)
    summarize(tenant_id, 4, 8)
    assert fork(client, "talk-5")["summary_version"] == 1
    assert window(client, "b")["certificate"]["summary_covers"] == [1, 8]
    assert fork(client, "talk-3", to="c")["summary_version"] == 1
    assert window(client, "c")["certificate"]["summary_covers"] == [1, 4]
    assert fork(client, "talk-1", to="d")["summary_version"] is None
    counts = "select summarized_seq, history_tokens - summarized_tokens from session where session_id = :id"
    [(seq, raw)] = rows(counts, id="c")
    [(tokens,)] = rows("select sum(tokens) from message where session_id = 'c' and seq > 4")
    assert (seq, raw) == (4, tokens)
    assert rows("select kind from due_work where key = 'b'") == [("recall",)]


def test_a_fork_is_summarized_further_on_its_copied_summary(client: TestClient, tenant_id: UUID) -> None:
    talk(client, SESSION, 6)
    summarize(tenant_id, 4)
    fork(client)
    model = Model()
    assert Room(tenant_id, "b").run(model).startswith("activated")
    assert "Notes up to [4]" in model.prompts[0]


def test_a_summary_under_way_in_the_source_is_none_of_the_fork(client: TestClient, tenant_id: UUID) -> None:
    talk(client, SESSION, 6)
    room = Room(tenant_id)
    assert room.run(Model(lambda: fork(client, "talk-2"))).startswith("activated")
    assert rows("select count(*) from summary where session_id = 'b'") == [(0,)]


def test_a_repeated_fork_is_the_same_until_the_fork_goes_on(client: TestClient) -> None:
    talk(client, SESSION, 2)
    assert fork(client)["repeated"] is False
    assert fork(client)["repeated"] is True
    assert fork(client, "talk-1", status=409)["type"] == "session-exists"
    talk(client, "b", 1, first=3)
    assert fork(client, status=409)["field"] == "session_id"
    assert rows("select count(*) from message where session_id = 'b'") == [(6,)]


def test_a_fork_of_nothing_is_refused(client: TestClient) -> None:
    assert fork(client, status=404)["type"] == "not-found"
    talk(client, SESSION, 1)
    assert fork(client, "talk-9", status=404)["type"] == "not-found"
    assert fork(client, to=SESSION, status=422)["field"] == "session_id"
    assert fork(client, to="a/b", status=422)["field"] == "session_id"
    assert client.delete(PATH).status_code == 200
    assert fork(client, status=404)["type"] == "not-found"
    assert rows("select count(*) from session") == [(0,)]


def test_a_history_before_a_reset_is_not_forked(client: TestClient) -> None:
    talk(client, SESSION, 2)
    client.post(f"{PATH}/reset")
    assert fork(client, status=404)["type"] == "not-found"
    talk(client, SESSION, 1, first=3)
    fork(client)
    assert [turn["turn_id"] for turn in turns(client, "b")] == ["talk-3"]


def test_a_history_with_erased_messages_is_forked_with_its_gaps(client: TestClient) -> None:
    talk(client, SESSION, 3)
    for seq in (2, 3, 4):
        assert client.delete(f"{PATH}/messages/{seq}").status_code == 200
    fork(client)
    assert [turn["seqs"] for turn in turns(client, "b")] == [[1], [5, 6]]


def test_an_erased_user_goes_from_the_fork_too(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, user_id="anna")
    fork(client)
    assert tables_with(WORD)
    assert client.delete("/v1/users/anna").status_code == 200
    assert client.delete("/v1/sessions/b").status_code in {200, 404}
    assert tables_with(WORD) == {}


def test_the_source_erased_leaves_the_fork_whole(client: TestClient) -> None:
    post_turn(client, SESSION, tool_turn("t1", "crane"))
    fork(client)
    before = turns(client, "b")
    assert client.delete(PATH).status_code == 200
    assert turns(client, "b") == before


def test_sealed_text_is_sealed_for_the_fork(client: TestClient, keys: Environment, tenant_id: UUID) -> None:
    del keys
    post_turn(client, SESSION, tool_turn("t1", WORD, speaker="Ana"))
    talk(client, SESSION, 2)
    summarize(tenant_id, 4)
    fork(client)
    assert tables_with(WORD).keys() <= {"plan_history"}
    assert turns(client, "b") == turns(client, SESSION)
    assert window(client, "b")["messages"] == window(client, SESSION)["messages"]


def test_a_history_that_is_too_long_is_not_forked(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(client, SESSION, 3)
    monkeypatch.setenv("AFTERTURN_MAX_HISTORY_MESSAGES", "4")
    api_settings.cache_clear()
    assert fork(client, status=413)["limit"] == 4
    fork(client, "talk-2")
    monkeypatch.undo()
    api_settings.cache_clear()


def test_another_tenant_forks_nothing(client: TestClient) -> None:
    talk(client, SESSION, 1)
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert fork(client, status=404)["type"] == "not-found"

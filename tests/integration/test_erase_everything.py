"""What is erased is nowhere: a planted word is looked for in every table, before and after."""

from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.artifacts.summary import SummaryKey, Wish, want_summary
from models.due_work.queue import WorkKind
from models.erasure.derived import WITH_THE_SESSION
from models.plans.outcome import find_erased_plans
from models.scope import Scope
from tests.integration.erasing import (
    PAD,
    plant_everywhere,
    plant_in_message,
    tables_of_sessions,
    tables_with,
    tool_turn,
)

WORD = "zqxmarker"
USER = "anna"
BY_SESSION = frozenset(kind for kind in WorkKind if kind.by_session)


def erased(client: TestClient, path: str) -> dict[str, Any]:
    answer = client.delete(path)
    assert answer.status_code == 200, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt


def test_a_planted_word_is_in_every_table_of_a_session_and_nowhere_once_it_is_erased(
    client: TestClient, tenant_id: UUID
) -> None:
    plant_everywhere(tenant_id, client, f"{WORD}-1", WORD, USER)
    found = tables_with(WORD)
    assert found.keys() >= tables_of_sessions() | {"artifact", "due_work"}
    receipt = erased(client, f"/v1/sessions/{WORD}-1")
    assert tables_with(WORD) == {}
    assert {**receipt["removed"], **receipt["invalidated"]}.keys() >= found.keys()
    assert (receipt["removed"]["session"], receipt["removed"]["message"]) == (1, 12)


def test_a_planted_word_is_nowhere_once_its_user_is_erased(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, f"{WORD}-1", WORD, f"user {WORD}")
    own = {"content": f"{WORD} {PAD}", "title": WORD, "user_id": f"user {WORD}"}
    assert client.post("/v1/attachments", json=own).status_code == 201
    with session.transaction() as db:
        db.execute(
            text("insert into user_profile values (:tenant_id, :user_id, 'coding', 1)"),
            {"tenant_id": tenant_id, "user_id": f"user {WORD}"},
        )
    assert tables_with(WORD).keys() >= tables_of_sessions() | {"user_profile"}
    receipt = erased(client, f"/v1/users/user%20{WORD}")
    assert tables_with(WORD) == {}
    assert receipt["remaining_sessions"] == 0
    assert receipt["removed"]["artifact_attachment"] == 2


SAID = {
    *(
        "message",
        "turn",
        "artifact",
        "artifact_use",
        "summary",
        "summary_part",
        "chat_prefix",
        "recall_passage",
    ),
    *("artifact_summary", "artifact_plan", "plan_history", "preflight_decision", "chat_prefix"),
    "served_window",
}


def test_a_planted_word_is_nowhere_once_its_messages_are_erased(client: TestClient, tenant_id: UUID) -> None:
    plant_in_message(tenant_id, client, "s1", WORD, turn_id="t1", user_id=USER)
    assert tables_with(WORD).keys() == SAID
    for seq in (2, 1, 4):
        erased(client, f"/v1/sessions/s1/messages/{seq}")
    assert tables_with(WORD) == {}


def test_a_planted_word_is_nowhere_once_its_messages_say_something_else(
    client: TestClient, tenant_id: UUID
) -> None:
    plant_in_message(tenant_id, client, "s1", WORD, turn_id="t1", user_id=USER)
    assert tables_with(WORD).keys() == SAID
    for seq, message in enumerate(tool_turn("t1", "nothing")["messages"], 1):
        answer = client.patch(f"/v1/sessions/s1/messages/{seq}", json={"message": message})
        assert answer.status_code == 200, answer.text
    assert tables_with(WORD).keys() <= {"message"}
    with session.read_transaction() as db:
        assert set(db.execute(text("select speaker from message where seq = 1")).scalars()) == {WORD}


def test_what_a_session_cost_stays_and_nothing_says_whose_it_was(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, "s1", WORD, USER)
    erased(client, "/v1/sessions/s1")
    with session.read_transaction() as db:
        calls = db.execute(text("select session_id, work_id, detail, charged_tokens from llm_call")).all()
    assert [tuple(call) for call in calls] == [(None, None, None, 100)]


def test_other_sessions_and_other_tenants_lose_nothing(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, "s1", WORD, USER)
    plant_everywhere(tenant_id, client, "s2", "otherword", "bert")
    before = tables_with("otherword")
    erased(client, "/v1/sessions/s1")
    assert tables_with("otherword") == before
    plant_everywhere(tenant_id, client, "s3", WORD, USER)
    erased(client, f"/v1/users/{USER}")
    assert tables_with("otherword") == before


def test_a_result_that_another_session_got_too_stays_there(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, "s1", WORD, USER)
    plant_everywhere(tenant_id, client, "s2", WORD, "bert")
    shared = tables_with(WORD)["artifact"]
    receipt = erased(client, "/v1/sessions/s1")
    assert "artifact" not in receipt["removed"]
    assert tables_with(WORD)["artifact"] == shared
    erased(client, "/v1/sessions/s2")
    assert tables_with(WORD) == {}


def test_words_that_were_foreseen_for_another_session_go_with_those_who_said_them(
    client: TestClient, tenant_id: UUID
) -> None:
    plant_everywhere(tenant_id, client, "s1", WORD, USER)
    plant_everywhere(tenant_id, client, "s2", "otherword", "bert")
    with session.transaction() as db:
        artifact = "select min(artifact_id) from artifact_use where session_id = 's2'"
        key = SummaryKey(db.execute(text(artifact)).scalar_one(), "focus-key", "large", "en")
        want_summary(Scope(db, tenant_id), Wish(key, f"where is {WORD}", [WORD], "mined", "s2"), ttl_s=600)
    erased(client, f"/v1/users/{USER}")
    assert tables_with(WORD) == {}
    assert tables_with("otherword")["artifact_summary"] == 1


def test_learning_is_told_of_plans_that_taught_and_are_gone(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, "s1", WORD, USER)
    erased(client, "/v1/sessions/s1")
    with session.read_transaction() as db:
        scope = Scope(db, tenant_id)
        assert find_erased_plans(scope, "tools") == 1
        assert find_erased_plans(scope, "others") == 0


def test_every_table_that_names_a_session_is_erased_with_it() -> None:
    handled = {*WITH_THE_SESSION, "session", "artifact_attachment", "artifact_summary", "artifact_plan"}
    assert tables_of_sessions() == handled | {"plan_history", "llm_call", "shadow_read", "served_window"}


def test_every_kind_of_work_is_known_to_be_a_session_s_or_not() -> None:
    assert {kind.value for kind in BY_SESSION} == {"summarize", "recall"} | (
        {kind.value for kind in WorkKind} & {"context_plan", "relabel", "user_keys"}
    )

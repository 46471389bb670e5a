"""What a session's provider refused is not sent again: reasoning of its history, too many images."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.types import Wire
from models import database as session
from models.conversations.recount import _settle, _waiting, recount_old_sessions
from tests.integration.refusing import post_turn, row
from tests.unit.shape.test_pictures import history, png

SIGNED = {"type": "thinking", "thinking": "I look.", "signature": "c2lnbmVk"}
REFUSAL = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block",
    },
}
ASKED: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "context_window": 100_000,
    "max_tokens": 500,
    "wire": "anthropic",
    "messages": [{"role": "user", "content": "and now?"}],
}


def think(client: TestClient, turn_id: str, model: str = "claude-sonnet-4-5") -> None:
    body = {
        "turn_id": turn_id,
        "model": model,
        "wire": "anthropic",
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [SIGNED, {"type": "text", "text": "Done."}]},
        ],
    }
    assert client.post("/v1/sessions/s1/turns", json=body).status_code == 202


def ask(client: TestClient, path: str = "context", **more: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/sessions/s1/{path}", json=ASKED | more)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_turn_of_another_family_goes_out_without_what_its_model_signed(client: TestClient) -> None:
    think(client, "t1", "MiniMax-M2")
    think(client, "t2", "claude-opus-4-5")
    answer = ask(client)
    blocks = [block["type"] for message in answer["messages"][1::2] for block in message["content"][:1]]
    assert blocks == ["text", "thinking"]
    assert answer["certificate"]["accepted_shape"] == {
        "accepted": True,
        "rules": ["reasoning-of-another-family"],
        "faults": [],
    }


def test_a_refused_signature_is_answered_without_reasoning_and_stays_out(
    client: TestClient, tenant_id: UUID
) -> None:
    think(client, "t1")
    assert "c2lnbmVk" in str(ask(client)["messages"])
    answer = ask(client, "compress", error=REFUSAL)
    assert "c2lnbmVk" not in str(answer["messages"])
    assert answer["certificate"]["tail"] == [1, 2]
    assert answer["utilization"]["limits"]["learned"] is None
    assert row(tenant_id).cut_seq == 0
    assert "c2lnbmVk" not in str(ask(client)["messages"])
    think(client, "t2")
    assert str(ask(client)["messages"]).count("c2lnbmVk") == 1


def test_the_reasoning_of_the_new_messages_is_left_out_of_the_same_answer(client: TestClient) -> None:
    think(client, "t1")
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}
    new = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [SIGNED, call]},
        {"role": "user", "content": [result]},
    ]
    assert "c2lnbmVk" not in str(ask(client, "compress", error=REFUSAL, messages=new)["messages"])


def test_a_number_of_images_that_was_refused_is_kept_to(client: TestClient) -> None:
    for place, body in enumerate(zip(*[iter(history(Wire.OPENAI, *[png(60, 40)] * 6))] * 2, strict=True)):
        post_turn(client, f"t{place}", *body)
    asked = {**ASKED, "wire": "openai", "model": "gpt-4o"}
    answer = client.post(
        "/v1/sessions/s1/compress",
        json=asked | {"error": "request contains 6 images, which exceeds the maximum of 4"},
    ).json()
    assert str(answer["messages"]).count("image/png") == 4
    assert [each["why"] for each in answer["certificate"]["excluded"]] == ["image-number"] * 2
    later = client.post("/v1/sessions/s1/context", json=asked).json()
    assert str(later["messages"]).count("image/png") == 4


def test_an_unknown_refusal_with_two_sizes_is_answered_smaller_and_teaches_nothing(
    client: TestClient,
) -> None:
    think(client, "t1")
    answer = ask(client, "compress", error="The request of 99000 tokens is more than we take: 60000.")
    assert answer["certificate"]["context_window"] == 60_000
    assert ask(client)["certificate"]["context_window"] == 100_000


@pytest.mark.parametrize("error", ["Invalid API key", "The prompt is bad"])
def test_another_refusal_is_still_said_to_be_none(client: TestClient, error: str) -> None:
    think(client, "t1")
    answer = client.post("/v1/sessions/s1/compress", json=ASKED | {"error": error})
    assert answer.status_code == 422


PATCH = "*** Begin Patch\n" + "+    value = compute(item)\n" * 400


def store_as_once_counted(client: TestClient, tenant_id: UUID) -> None:
    """A turn whose patch the first revision did not count."""
    call = {"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}
    post_turn(
        client,
        "t1",
        {"role": "user", "content": "Patch it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    )
    with session.transaction() as db:
        place = {"tenant_id": tenant_id}
        db.execute(text("update message set tokens = 10, tokens_wide = 10 where seq = 2"), place)
        db.execute(text("update turn set tokens = 40"), place)
        db.execute(text("update session set counts_revision = 1, history_tokens = 40"), place)


def test_old_counts_are_made_right_in_messages_turns_and_sessions(
    client: TestClient, tenant_id: UUID
) -> None:

    store_as_once_counted(client, tenant_id)
    assert recount_old_sessions() == 1
    with session.read_transaction() as db:
        message, turn, log = (
            db.execute(text(query)).one()
            for query in (
                "select tokens, tokens_wide from message where seq = 2",
                "select tokens from turn",
                "select history_tokens, counts_revision from session",
            )
        )
    assert message.tokens > 2_000
    assert message.tokens_wide > 2_000
    assert turn.tokens == 40 + message.tokens - 10 == log.history_tokens
    assert log.counts_revision == 2
    assert recount_old_sessions() == 0


def test_a_read_before_the_recount_counts_what_it_sends(client: TestClient, tenant_id: UUID) -> None:
    store_as_once_counted(client, tenant_id)
    asked = {**ASKED, "wire": "openai", "model": "gpt-4o"}
    certificate = client.post("/v1/sessions/s1/context", json=asked).json()["certificate"]
    assert certificate["input_tokens"] > 2_000


def test_a_session_that_was_changed_meanwhile_is_left_to_the_next_run(
    client: TestClient, tenant_id: UUID
) -> None:

    store_as_once_counted(client, tenant_id)
    (place,) = _waiting()
    assert client.post("/v1/sessions/s1/reset").status_code == 200
    with session.transaction() as db:
        assert not _settle(db, place, {})

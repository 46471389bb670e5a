"""Receipts are kept: who did not hear the answer of an erasure asks again, and gets it; nobody else does."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from api.sessions import erase as erase_api
from models import database as session
from models.due_work.queue import WorkKind
from models.erasure.kept_receipts import find_receipt, keep_receipt
from models.erasure.log import Receipt
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import post_turn, tables_with, talk, tool_turn
from tests.integration.test_erase_messages import rows
from tests.integration.test_erase_sessions import PATH, ok, say

USER = "/v1/users/anna"
NOTES = ("repeated", "erased_at")


def without_notes(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in NOTES}


def test_a_second_call_is_answered_with_the_receipt_of_the_first(client: TestClient) -> None:
    talk(client, "s1", 3)
    first = ok(client.delete(PATH))
    again = ok(client.delete(PATH))
    assert "repeated" not in first
    assert without_notes(again) == first
    assert again["repeated"] is True
    assert datetime.fromisoformat(again["erased_at"]).tzinfo is not None
    assert ok(client.delete(PATH)) == again


def test_a_call_whose_commit_was_not_heard_of_can_be_made_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is lost after the commit: the caller sees a fault, and the session is gone."""
    talk(client, "s1", 2)

    def lost(_content: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(erase_api, "_json", lost)
        assert client.delete(PATH).status_code == 500
    assert rows("select 1 from session") == []
    assert ok(client.delete(PATH))["removed"] == {"message": 4, "session": 1, "turn": 2}


def test_a_receipt_is_the_tenants_own(client: TestClient) -> None:
    talk(client, "s1", 1)
    say(client, "t9", "anna", "Mine.")
    ok(client.delete(USER))
    talk(client, "s1", 1)
    ok(client.delete(PATH))
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    headers = {"Authorization": f"Bearer {make_key(other)}"}
    assert client.delete(PATH, headers=headers).status_code == 404
    assert client.delete(USER, headers=headers).status_code == 404
    assert ok(client.delete(PATH))["repeated"] is True


def test_a_session_and_a_user_of_the_same_name_are_two(client: TestClient) -> None:
    talk(client, "anna", 1)
    ok(client.delete("/v1/sessions/anna"))
    assert client.delete(USER).status_code == 404


def test_a_session_that_came_again_is_erased_again_and_its_receipt_is_the_newer_one(
    client: TestClient,
) -> None:
    talk(client, "s1", 3)
    ok(client.delete(PATH))
    talk(client, "s1", 1)
    newer = ok(client.delete(PATH))
    assert newer["removed"] == {"message": 2, "session": 1, "turn": 1}
    assert without_notes(ok(client.delete(PATH))) == newer


def test_without_its_receipt_nothing_is_erased(client: TestClient, engine: Engine) -> None:
    """Both are one transaction: else a crash between the two would lose the receipt."""
    talk(client, "s1", 1)
    with engine.begin() as db:
        db.execute(text("alter table erase_receipt rename to away"))
    try:
        assert client.delete(PATH).status_code >= 500
    finally:
        with engine.begin() as db:
            db.execute(text("alter table away rename to erase_receipt"))
    assert rows("select session_id from session") == [("s1",)]


def test_a_user_s_second_call_is_answered_with_the_receipt_of_all_sessions(client: TestClient) -> None:
    for number in range(3):
        say(client, "t1", "anna", "Words.", f"s{number}")
    first = ok(client.delete(USER))
    assert (first["removed"]["session"], first["remaining_sessions"]) == (3, 0)
    again = ok(client.delete(USER))
    assert without_notes(again) == first
    assert again["repeated"] is True


def test_parts_of_an_erasure_add_up_until_it_is_done(tenant_id: UUID) -> None:
    def part(**removed: int) -> Receipt:
        receipt = Receipt()
        for table, number in removed.items():
            receipt.count(table, number)
        receipt.asked.add((WorkKind.SUMMARIZE, "other"))
        return receipt

    def kept() -> tuple[dict[str, int], int]:
        with session.read_transaction() as db:
            found = find_receipt(Scope(db, tenant_id), "user", "anna")
        assert found is not None
        return dict(found.receipt.rows), found.requeued

    def keep(receipt: Receipt, *, is_done: bool) -> None:
        with session.transaction() as db:
            keep_receipt(Scope(db, tenant_id), "user", "anna", receipt, is_done=is_done)

    keep(part(session=1, turn=4), is_done=False)
    keep(part(session=2, message=3), is_done=False)
    assert kept() == ({"session": 3, "turn": 4, "message": 3}, 2)
    keep(Receipt(), is_done=True)
    assert kept() == ({"session": 3, "turn": 4, "message": 3}, 2)
    keep(part(turn=1), is_done=False)
    assert kept() == ({"turn": 1}, 1)


def test_no_id_is_in_a_receipt_and_whose_it_was_cannot_be_read_out(client: TestClient) -> None:
    talk(client, "session-of-hazel", 1)
    say(client, "t1", "hazel", "Mine.", "another")
    ok(client.delete("/v1/sessions/session-of-hazel"))
    ok(client.delete("/v1/users/hazel"))
    assert tables_with("hazel") == {}
    with session.read_transaction() as db:
        assert db.execute(text("select count(*), count(distinct id_sha256) from erase_receipt")).one() == (
            2,
            2,
        )


def test_a_message_s_second_call_is_answered_with_the_receipt_of_the_first(client: TestClient) -> None:
    """Under each of the numbers that went with it."""
    post_turn(client, "s1", tool_turn("t1", "hazel"))
    first = ok(client.delete(f"{PATH}/messages/2"))
    assert first["messages"] == {"removed": [2, 3], "rewritten": []}
    for seq in (2, 3):
        again = ok(client.delete(f"{PATH}/messages/{seq}"))
        assert without_notes(again) == first
        assert again["repeated"] is True
    assert client.delete(f"{PATH}/messages/9").status_code == 404
    assert tables_with("hazel")


def test_a_message_s_call_whose_answer_was_lost_can_be_made_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(client, "s1", 2)

    def lost(_content: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(erase_api, "_json", lost)
        assert client.delete(f"{PATH}/messages/1").status_code == 500
    assert ok(client.delete(f"{PATH}/messages/1"))["removed"] == {"message": 1}


def test_a_message_s_receipt_ends_with_its_session(client: TestClient) -> None:
    """One that came again under its id counts its messages anew."""
    talk(client, "s1", 2)
    ok(client.delete(f"{PATH}/messages/4"))
    ok(client.delete(PATH))
    assert client.delete(f"{PATH}/messages/4").status_code == 404
    talk(client, "s1", 1)
    assert client.delete(f"{PATH}/messages/4").status_code == 404


def test_a_message_s_receipt_is_the_tenants_own(client: TestClient) -> None:
    talk(client, "s1", 1)
    ok(client.delete(f"{PATH}/messages/1"))
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    headers = {"Authorization": f"Bearer {make_key(other)}"}
    theirs = client.post("/v1/sessions/s1/turns", json=tool_turn("t1", "theirs"), headers=headers)
    assert theirs.status_code == 202
    ok(client.delete(f"{PATH}/messages/2"))
    assert client.delete(f"{PATH}/messages/5", headers=headers).status_code == 404
    assert "repeated" not in ok(client.delete(f"{PATH}/messages/2", headers=headers))

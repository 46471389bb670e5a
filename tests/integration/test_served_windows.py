"""Windows kept as they were served: a bounded sample, sealed, erased with its words, never waited for."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.conversations.served_window import NewWindow, drop_old_windows, keep_window, list_windows
from models.conversations.settings import ServedWindowSettings, served_window_settings
from models.erasure.kept_receipts import receipt_digest
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration import recalling_users
from tests.integration.conftest import make_key
from tests.integration.erasing import post_turn, tables_with, talk, tool_turn
from tests.integration.sealing import Environment, tables_with_traces

WORD = "zqxwindow"
SAID = [{"role": "user", "content": f"What of {WORD}?"}]
ASKED: dict[str, Any] = {"model": "gpt-4o", "context_window": 32_000, "max_tokens": 500, "messages": SAID}
Set = Callable[..., None]


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Iterator[Set]:
    """Keep every window, with other bounds where they are named."""

    def set_to(**bounds: float) -> None:
        for name, value in {"share": 1, **bounds}.items():
            monkeypatch.setenv(f"AFTERTURN_SERVED_WINDOW_{name.upper()}", str(value))
        served_window_settings.cache_clear()

    set_to()
    yield set_to
    monkeypatch.undo()
    served_window_settings.cache_clear()


def ask(client: TestClient, session_id: str = "s1", call: str = "context", **more: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/sessions/{session_id}/{call}", json={**ASKED, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def kept(client: TestClient, session_id: str = "s1", **params: Any) -> list[dict[str, Any]]:
    answer = client.get(f"/v1/sessions/{session_id}/windows", params=params)
    if answer.status_code == 404:
        return []
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["windows"]
    return found


def whole(client: TestClient, window: dict[str, Any], session_id: str = "s1") -> dict[str, Any]:
    answer = client.get(f"/v1/sessions/{session_id}/windows/{window['window_id']}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def run_sql(statement: str) -> None:
    with session.transaction() as db:
        db.execute(text(statement))


def test_nothing_is_kept_unless_it_is_wanted(client: TestClient) -> None:
    talk(client, "s1", 2)
    ask(client)
    answer = client.get("/v1/sessions/s1/windows").json()
    assert answer == {"windows": [], "share": 0}
    assert "served_window" not in tables_with(WORD)


def test_a_window_is_kept_as_it_was_served(client: TestClient, keep: Set) -> None:
    del keep
    talk(client, "s1", 2)
    served = ask(client, user_id="anna")
    (window,) = kept(client)
    assert (window["call"], window["model"], window["after_seq"]) == ("context", "gpt-4o", 4)
    assert (window["user_id"], window["wire"], window["is_whole"]) == ("anna", "openai", True)
    assert window["input_tokens"] == served["certificate"]["input_tokens"]
    talk(client, "s1", 2, first=3)
    assert whole(client, window) == {**window, "answer": served}


def test_the_first_request_of_a_session_is_kept_too(client: TestClient, keep: Set) -> None:
    del keep
    served = ask(client, "new")
    (window,) = kept(client, "new")
    assert whole(client, window, "new")["answer"] == served
    assert client.delete("/v1/sessions/new").status_code == 200
    assert kept(client, "new") == []


def test_a_look_is_not_kept_and_a_smaller_window_is(client: TestClient, keep: Set) -> None:
    del keep
    talk(client, "s1", 30)
    ask(client, dry_run=True)
    assert kept(client) == []
    ask(client, call="compress", observed_limit=2_500)
    assert [one["call"] for one in kept(client)] == ["compress"]


def test_a_line_of_a_batch_is_kept_like_a_request(client: TestClient, keep: Set) -> None:
    del keep
    talk(client, "s1", 1)
    lines = "\n".join(json.dumps({**ASKED, "session_id": "s1"}) for _ in range(2))
    assert client.post("/v1/contexts", content=lines).status_code == 200
    assert len(kept(client)) == 2


def test_a_session_keeps_a_number_of_windows_for_a_time(client: TestClient, keep: Set) -> None:
    keep(most=3)
    talk(client, "s1", 1)
    for number in range(5):
        ask(client, system_prompt=f"prompt {number}")
    found = kept(client)
    prompts = [whole(client, one)["answer"]["messages"][0]["content"] for one in found]
    assert prompts == ["prompt 4", "prompt 3", "prompt 2"]
    assert len(kept(client, limit=2)) == 2
    run_sql("update served_window set served_at = served_at - interval '30 days'")
    ask(client, system_prompt="prompt 5")
    assert len(kept(client)) == 1
    run_sql("update served_window set served_at = served_at - interval '30 days'")
    with session.transaction() as db:
        assert drop_old_windows(db, age_s=7 * 86_400, most=10) == 1
    assert kept(client) == []


def test_a_window_too_large_keeps_its_numbers_alone(client: TestClient, keep: Set) -> None:
    keep(max_bytes=1_000)
    talk(client, "s1", 3)
    ask(client)
    (window,) = kept(client)
    assert (window["is_whole"], window["size_bytes"] > 1_000) == (False, True)
    assert whole(client, window)["answer"] is None
    assert "served_window" not in tables_with(WORD)


@pytest.mark.parametrize("limit", [0, 201, "x"])
def test_a_limit_out_of_bounds_is_refused(client: TestClient, limit: Any) -> None:
    assert client.get("/v1/sessions/s1/windows", params={"limit": limit}).json()["field"] == "limit"


ELSE = [{"role": "user", "content": "else"}]
CHANGES: dict[str, tuple[str, str, Any]] = {
    "an edit": ("PATCH", "/v1/sessions/s1/messages/1", {"message": {"role": "user", "content": "else"}}),
    "an erased message": ("DELETE", "/v1/sessions/s1/messages/1", None),
    "a replaced turn": ("PUT", "/v1/sessions/s1/turns/t1", {"messages": ELSE}),
    "a removed turn": ("POST", "/v1/sessions/s1/truncate", {"after_turn": None}),
    "an erased session": ("DELETE", "/v1/sessions/s1", None),
    "an erased user": ("DELETE", "/v1/users/anna", None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_what_is_changed_or_erased_is_in_no_kept_window(
    client: TestClient, keep: Set, change: tuple[str, str, Any]
) -> None:
    del keep
    said = [{"role": "user", "content": f"It is {WORD}."}, {"role": "assistant", "content": "I see."}]
    ask(client)
    post_turn(client, "s1", {"turn_id": "t1", "messages": said, "user_id": "anna"})
    ask(client, messages=[{"role": "user", "content": "And now?"}])
    assert tables_with(WORD)["served_window"] == 2
    method, path, body = change
    answer = client.request(method, path, json=body)
    assert answer.status_code == 200, answer.text
    receipt = {**answer.json().get("removed", {}), **answer.json().get("invalidated", {})}
    assert receipt.get("served_window", 2) == 2
    assert "served_window" not in tables_with(WORD)


def test_words_of_a_request_by_an_erased_user_go_from_any_session(client: TestClient, keep: Set) -> None:
    del keep
    ask(client, "of-nobody", user_id="anna")
    ask(client, "of-nobody", user_id="bert", messages=[{"role": "user", "content": "mine"}])
    assert client.delete("/v1/users/anna").status_code == 200
    assert [one["user_id"] for one in kept(client, "of-nobody")] == ["bert"]


def test_a_document_of_an_erased_session_goes_from_the_windows_of_others(
    client: TestClient, keep: Set
) -> None:
    del keep
    document = {"content": f"The {WORD} is open. " * 400, "session_id": "s1"}
    uploaded = client.post("/v1/attachments", json=document).json()
    ask(client, "s2", attachments=[{"attachment_id": uploaded["attachment_id"]}])
    ask(client, "s3")
    assert client.delete("/v1/sessions/s1").status_code == 200
    assert (kept(client, "s2"), len(kept(client, "s3"))) == ([], 1)


def test_a_recalled_session_goes_from_the_windows_of_the_users_others(
    client: TestClient, tenant_id: UUID, keep: Set
) -> None:
    del keep
    recalling_users.switch(tenant_id)
    recalling_users.say(client, "old")
    recalling_users.index(tenant_id, ["old"])
    served = recalling_users.ask(client, "now")
    assert "user_recall" in [block["source"] for block in served["certificate"]["blocks"]]
    assert len(kept(client, "now")) == 1
    assert client.delete("/v1/sessions/old/messages/1").status_code == 200
    assert kept(client, "now") == []


def test_windows_of_others_stay(client: TestClient, keep: Set) -> None:
    del keep
    for name in ("s1", "s2"):
        post_turn(client, name, tool_turn("t1", name))
        ask(client, name)
    assert client.delete("/v1/sessions/s1").status_code == 200
    assert (kept(client, "s1"), len(kept(client, "s2"))) == ([], 1)
    own = client.headers["Authorization"]
    with session.transaction() as db:
        stranger = ensure_tenant(db, "a stranger")
    (window,) = kept(client, "s2")
    client.headers["Authorization"] = f"Bearer {make_key(stranger)}"
    assert kept(client, "s2") == []
    path = f"/v1/sessions/s2/windows/{window['window_id']}"
    assert client.get(path).status_code == 404
    client.headers["Authorization"] = own
    for named in ("x", "0" * 32, str(UUID(int=5))):
        assert client.get(f"/v1/sessions/s2/windows/{named}").status_code == 404
    assert client.get(f"/v1/sessions/s1/windows/{window['window_id']}").status_code == 404


def test_a_kept_window_is_sealed(client: TestClient, keep: Set, keys: Environment) -> None:
    del keep, keys
    talk(client, "s1", 1)
    served = ask(client)
    assert "served_window" not in tables_with_traces(WORD)
    (window,) = kept(client)
    assert whole(client, window)["answer"] == served


NEW = NewWindow("s1", 1, "context", None, "m", "openai", 2, 1, 2, (), b'{"said": "zqxwindow"}')


def keep_late(tenant_id: UUID, new: NewWindow) -> bool:
    erased = receipt_digest(tenant_id, "session", new.session_id)
    with session.transaction() as db:
        return keep_window(Scope(db, tenant_id), new, ServedWindowSettings(), erased_sha256=erased)


def test_a_window_read_before_an_erasure_is_not_kept_after_it(client: TestClient, tenant_id: UUID) -> None:
    talk(client, "s1", 2)
    assert keep_late(tenant_id, NEW)
    assert client.delete("/v1/sessions/s1/messages/1").status_code == 200
    assert not keep_late(tenant_id, NEW)
    unborn = NewWindow(**{**NEW.__dict__, "generation": None})
    assert client.delete("/v1/sessions/s1").status_code == 200
    assert not keep_late(tenant_id, unborn)
    assert keep_late(tenant_id, NewWindow(**{**unborn.__dict__, "session_id": "another"}))
    with session.read_transaction() as db:
        assert list_windows(Scope(db, tenant_id), "s1", most=9) == []


def test_an_answer_is_given_where_its_window_cannot_be_kept(client: TestClient, keep: Set) -> None:
    del keep
    talk(client, "s1", 1)
    with session.transaction() as db:
        db.execute(text("select from session for update"))
        assert ask(client)["certificate"]["fits"]
    assert kept(client) == []

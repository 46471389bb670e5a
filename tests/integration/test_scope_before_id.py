"""Who may not call learns nothing of ids, not even whether one is well formed; who guesses keys is slowed."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.app import make_app
from api.settings import api_settings
from models.tenants.tenant import SCOPES
from tests.integration.conftest import make_key
from tests.integration.doors import DOORS, Door, Ids, Way, filled

WELL_FORMED = Ids(
    session_id="nobodys-session",
    artifact_id=f"art_{'0' * 32}",
    attachment_id=f"art_{'1' * 32}",
    plan_id="00000000-0000-4000-8000-000000000000",
    user_id="nobody",
    name="nobodys-catalog",
)
MALFORMED = Ids(
    session_id="%00",
    artifact_id="xyz",
    attachment_id="xyz",
    plan_id="xyz",
    user_id="%EF%BB%BF",
    name="%00",
    version="x",
    seq="-1",
)
SLASHED = Ids(
    session_id="nobodys%2Fsession",
    artifact_id="art%2F0",
    attachment_id="art%2f0",
    plan_id="0%2F0",
    user_id="no%2Fbody",
    name="nobodys%2Fcatalog",
    version="1%2F2",
    seq="1%2F2",
    turn_id="t%2F1",
    key_id="0%2F0",
    window_id="0%2F0",
)
NAMED = {way: door for way, door in DOORS.items() if "{" in way[1]}


def answer(client: TestClient, key: str | None, way: Way, door: Door, ids: Ids) -> httpx2.Response:
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    body = filled(door.body, WELL_FORMED)
    content = json.dumps(body).encode() if body is not None else b""
    return client.request(way[0], filled(way[1], ids), content=content, headers=headers)


@pytest.fixture
def plain(tenant_id: UUID) -> TestClient:  # noqa: ARG001 (its tables are there)
    return TestClient(make_app(), raise_server_exceptions=False)


@pytest.mark.parametrize("ids", [MALFORMED, SLASHED])
def test_without_a_key_a_malformed_id_is_answered_as_any_other(plain: TestClient, ids: Ids) -> None:
    for key in (None, "at_wrong"):
        statuses = {way: answer(plain, key, way, door, ids).status_code for way, door in NAMED.items()}
        assert set(statuses.values()) == {401}, statuses


def test_without_the_scope_a_malformed_id_is_answered_as_any_other(
    plain: TestClient, tenant_id: UUID
) -> None:
    keys = {scope: make_key(tenant_id, *(other for other in SCOPES if other != scope)) for scope in SCOPES}
    statuses = {
        (way, scope): answer(plain, keys[scope], way, door, ids).status_code
        for way, door in NAMED.items()
        for scope in door.scopes
        for ids in (MALFORMED, SLASHED, WELL_FORMED)
    }
    assert set(statuses.values()) == {403}, statuses


@pytest.mark.parametrize("ids", [MALFORMED, SLASHED])
def test_with_the_scope_a_malformed_id_is_told(plain: TestClient, tenant_id: UUID, ids: Ids) -> None:
    key = make_key(tenant_id)
    for way, door in NAMED.items():
        told = answer(plain, key, way, door, ids)
        assert told.status_code in {404, 422}, (way, told.text)
        assert "nothing at this path" not in told.text, way
        assert told.headers["content-type"] == "application/problem+json"


def test_every_id_of_a_path_meets_one_check(plain: TestClient, tenant_id: UUID) -> None:
    key = make_key(tenant_id)
    for way, door in NAMED.items():
        told = answer(plain, key, way, door, SLASHED)
        assert (told.status_code, told.json().get("field") in SLASHED.__dict__) == (422, True), way
        assert "without a slash" in told.json()["detail"], way


@pytest.mark.parametrize("session_id", ["a%2Fb", "100%", "%41", "a b+c", "\u00fc:\u6771@~", "%252F"])
def test_an_id_of_a_path_is_decoded_once(client: TestClient, session_id: str) -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    path = f"/v1/%73essions/{quote(session_id, safe='')}"
    stored = client.post(f"{path}/turns", json={"turn_id": "t1", "messages": said})
    assert stored.status_code == 202, stored.text
    assert client.get(path).json()["session_id"] == session_id
    assert [one["session_id"] for one in client.get("/v1/sessions").json()["sessions"]] == [session_id]
    assert client.delete(path).status_code == 200


def test_a_slash_inside_an_id_reaches_no_other_route(client: TestClient) -> None:
    """Decoded before the routes, this is the call that erases a turn, and not a session of that name."""
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    for turn_id in ("t1", "t2"):
        stored = client.post("/v1/sessions/s1/turns", json={"turn_id": turn_id, "messages": said})
        assert stored.status_code == 202
    for method, path in (
        ("DELETE", "s1%2Fturns%2Ft2"),
        ("GET", "s1%2fturns"),
        ("DELETE", "s1%2Fmessages%2F3"),
    ):
        told = client.request(method, f"/v1/sessions/{path}")
        assert (told.status_code, told.json()["field"]) == (422, "session_id"), told.text
        assert "without a slash" in told.json()["detail"]
    turns = client.get("/v1/sessions/s1/turns").json()["turns"]
    assert [turn["turn_id"] for turn in turns] == ["t1", "t2"]


@pytest.mark.parametrize("call", ["context", "compress", "shadow"])
def test_a_request_names_a_user_as_turns_do(client: TestClient, call: str) -> None:
    """A kept window has the name, and is erased by it."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}], "user_id": "a/b"}
    needed: dict[str, dict[str, Any]] = {
        "compress": {"observed_limit": 4_000},
        "shadow": {"facts": ["Hello"]},
    }
    more = needed.get(call, {})
    told = client.post(f"/v1/sessions/s1/{call}", json={**body, **more})
    assert (told.status_code, told.json()["field"]) == (422, "user_id"), told.text


@pytest.mark.parametrize(
    ("seq", "detail"),
    [
        ("x", "seq: must be a whole number"),
        ("0", "seq: must be at least 1"),
        (str(2**63), f"seq: must be at most {2**63 - 1}"),
        ("1", "there is no such message"),
        (str(2**63 - 1), "there is no such message"),
    ],
)
def test_a_number_of_a_path_is_checked_at_its_bounds(
    plain: TestClient, tenant_id: UUID, seq: str, detail: str
) -> None:
    way = ("DELETE", "/v1/sessions/{session_id}/messages/{seq}")
    told = answer(plain, make_key(tenant_id), way, DOORS[way], replace(WELL_FORMED, seq=seq))
    assert told.json()["detail"] == detail


def test_the_id_of_a_user_is_checked_at_its_bound(plain: TestClient, tenant_id: UUID) -> None:
    key = make_key(tenant_id)
    headers = {"Authorization": f"Bearer {key}"}
    assert plain.delete(f"/v1/users/{'u' * 201}", headers=headers).status_code == 422
    assert plain.delete(f"/v1/users/{'u' * 200}", headers=headers).status_code in {200, 404}


def test_who_tries_many_wrong_keys_is_slowed_and_known_keys_are_not(
    plain: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_WRONG_KEY_PER_S", "0.001")
    monkeypatch.setenv("AFTERTURN_WRONG_KEY_BURST", "3")
    monkeypatch.setenv("AFTERTURN_KEY_CACHE_S", "0")
    api_settings.cache_clear()
    try:
        with plain:
            known, other = make_key(tenant_id), make_key(tenant_id)

            def ask(key: str) -> httpx2.Response:
                return plain.get("/v1/usage", headers={"Authorization": f"Bearer {key}"})

            assert ask(known).status_code == 200
            assert [ask(f"at_wrong{place}").status_code for place in range(4)] == [401, 401, 401, 429]
            slowed = ask("at_wrong5")
            assert slowed.json()["type"] == "rate-limited"
            assert int(slowed.headers["retry-after"]) > 0
            assert ask(known).status_code == 200
            assert ask(other).status_code == 429  # the price of an address: nobody here has seen this key
            assert plain.get("/v1/usage").status_code == 401
    finally:
        api_settings.cache_clear()


def test_every_answer_forbids_to_guess_its_type(plain: TestClient) -> None:
    for path in ("/healthz", "/openapi.json", "/docs", "/nowhere", "/v1/usage", "/inspector"):
        assert plain.get(path).headers["x-content-type-options"] == "nosniff", path


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_no_page_of_others_frames_the_pages_of_the_description(plain: TestClient, path: str) -> None:
    policy = plain.get(path).headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    [scripts] = [part for part in policy.split("; ") if part.startswith("script-src")]
    assert "unsafe" not in scripts

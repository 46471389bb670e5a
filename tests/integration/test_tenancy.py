"""Nobody gets through another tenant's door: every route and tool, with the ids of somebody else's rows."""

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.mcp.prompts import RESOURCES
from api.mcp.tools import TOOLS
from models import database as session
from models.tenants.tenant import SCOPES, ensure_tenant
from tests.integration.agents import MESSAGES, request
from tests.integration.conftest import make_key
from tests.integration.doors import DOORS, ELSEWHERE, MORE, PUBLIC, Door, Ids, Way, filled, ways_in
from tests.integration.erasing import plant_everywhere, tables_with

WORD = "zqxmarker"
SESSION = "session-of-somebody"
USER = "user-of-somebody"
CATALOG = "catalog-of-somebody"
NOBODYS = Ids(
    session_id="session-of-noooobody",
    artifact_id=f"art_{'0' * 32}",
    attachment_id=f"art_{'1' * 32}",
    plan_id=str(uuid4()),
    user_id="user-of-noooobody",
    name="catalog-of-noooobody",
)
VARIES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:\d\d)|art_[0-9a-f]{32}"
    r"|(?<=_age_s\":)[\d.]+|(?<=id: )\d{16}(?=-)|aft_[0-9a-f]{12}_[\w-]+|(?<=\"key_id\":\")[0-9a-f]{12}"
)
"""What differs between two calls that ask the same: new ids and keys, times and ages."""

CASES: dict[str, tuple[Way, Door]] = {" ".join(way): (way, door) for way, door in DOORS.items()} | dict(MORE)


@dataclass(frozen=True)
class Owner:
    """Who has a row in every table, and what they are called."""

    tenant_id: UUID
    ids: Ids
    client: TestClient


@pytest.fixture
def owner(client: TestClient, tenant_id: UUID) -> Owner:
    """A tenant with rows everywhere that a call can make them, each holding a word."""
    plant_everywhere(tenant_id, client, SESSION, WORD, USER)
    tool = {"name": f"{WORD}.send", "description": f"Sends a {WORD}. Slowly."}
    assert client.put(f"/v1/catalogs/{CATALOG}", json={"tools": [tool]}).status_code == 200
    policy = {"always_include": [WORD]}
    assert client.put("/v1/preflight/config", json=policy).status_code == 200
    ids = Ids(
        session_id=SESSION,
        artifact_id=one("select min(artifact_id) from artifact_use"),
        attachment_id=one("select min(artifact_id) from artifact_attachment"),
        plan_id=one("select min(plan_id::text) from plan_history"),
        window_id=one("select replace(min(window_id::text), '-', '') from served_window"),
        turn_id="talk-1",
        key_id=one("select min(key_id) from api_key"),
        user_id=USER,
        name=CATALOG,
    )
    return Owner(tenant_id, ids, client)


def one(query: str) -> str:
    with session.read_transaction() as db:
        return str(db.execute(text(query)).scalar_one())


NUMBERS = itertools.count()


def stranger() -> str:
    """The key of a tenant that has nothing."""
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, f"stranger {next(NUMBERS)}")
    return make_key(tenant_id)


def call(client: TestClient, key: str, way: Way, door: Door, ids: Ids) -> httpx2.Response:
    """Go through a door with a key, naming these ids."""
    body = filled(door.body, ids)
    content = json.dumps(body).encode() if body is not None else b""
    return client.request(
        way[0],
        filled(way[1], ids),
        params=filled(dict(door.query), ids),
        content=content,
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )


def rows_of(tenant_id: UUID) -> dict[str, list[str]]:
    """Everything that a tenant has, table by table."""
    with session.read_transaction() as db:
        tables = db.execute(
            text(
                "select table_name from information_schema.columns where table_schema = 'public' "
                "and column_name = 'tenant_id' order by 1"
            )
        )
        rows = {
            name: db.execute(
                text(f"select t::text from {name} t where tenant_id = :tenant_id order by 1"),  # noqa: S608 (names of the catalog)
                {"tenant_id": tenant_id},
            )
            for name in tables.scalars().all()
        }
        return {name: list(found.scalars()) for name, found in rows.items()}


def without_ids(answer: httpx2.Response, ids: Ids) -> tuple[int, str]:
    """A status and a body, with what was named and what varies blanked."""
    said = VARIES.sub("*", answer.text)  # first: a new key may hold the letters of a short id
    for named in set(vars(ids).values()) - {"1"}:
        said = said.replace(named, "*")
    return answer.status_code, said


def test_every_way_in_is_listed_here(client: TestClient) -> None:
    ways = ways_in(client.app)  # type: ignore[arg-type]  # the client wraps the very application
    assert ways - ELSEWHERE == (DOORS.keys() | PUBLIC)
    assert ("*", "/mcp") in ways


def test_a_stranger_gets_what_nobody_has_and_nothing_is_changed(owner: Owner) -> None:
    before = rows_of(owner.tenant_id)
    told: dict[str, object] = {}
    for case, (way, door) in CASES.items():
        answer = call(owner.client, stranger(), way, door, owner.ids)
        unknown = call(owner.client, stranger(), way, door, NOBODYS)
        if answer.status_code not in door.strangers or WORD in answer.text:
            told[case] = (answer.status_code, answer.text)
        elif without_ids(answer, owner.ids) != without_ids(unknown, NOBODYS):
            told[case] = (answer.text, unknown.text)
        elif rows_of(owner.tenant_id) != before:
            told[case] = "it changed something"
    assert told == {}


def test_the_owner_does_reach_what_strangers_do_not(owner: Owner) -> None:
    key = owner.client.headers["Authorization"].removeprefix("Bearer ")
    told = {
        case
        for case, (way, door) in CASES.items()
        if door.scope == "read"
        and WORD in (answer := call(owner.client, key, way, door, owner.ids)).text
        and answer.status_code == 200
    }
    silent = {
        *("POST /v1/preflight", "GET /v1/context-budgets", "GET /v1/usage", "GET /v1/retention"),
        *("GET /v1/catalogs", "GET /v1/limits", "GET /v1/history-limit"),
        *("GET /v1/user-recall", "GET /v1/canary-share"),
        *("GET /v1/sessions", "GET /v1/users", "GET /v1/events"),
        *("GET /v1/key", "GET /v1/work", "GET /v1/catalogs/{name}/priors"),
        "GET /v1/sessions/{session_id}/history-limit",
        *("GET /v1/sessions/{session_id}", "GET /v1/artifacts/{artifact_id}/summaries"),
        "a context with a whole history",  # it differs from the owner's
    }
    reads = {case for case, (_, door) in CASES.items() if door.scope == "read"}
    assert reads - told <= silent


def test_the_rows_that_strangers_are_kept_from_are_in_every_table_of_a_tenant(owner: Owner) -> None:
    empty = {name for name, rows in rows_of(owner.tenant_id).items() if not rows}
    assert empty <= {
        "calibration",
        "model_limit",
        "limit_sighting",
        "profile_override",
        "prior_set",
        "prior_canary",
        "learning_state",
    } | {
        *(
            "focus_statistic",
            "category_statistic",
            "user_profile",
            "plan_erasure",
            "artifact_reading",
            "speculation",
            "cache_found",
        ),
        *("retention", "retention_log", "llm_call_day", "shadow_switch", "text_key", "erase_receipt"),
        *("text_key_forgotten", "limit_sighting"),
    }
    assert len(tables_with(WORD)) >= 15


def test_two_tenants_may_give_their_sessions_the_same_name(owner: Owner) -> None:
    key, path = stranger(), f"/v1/sessions/{owner.ids.session_id}"
    own = [{"role": "user", "content": "a gentian"}, {"role": "assistant", "content": "blue"}]
    headers = {"Authorization": f"Bearer {key}"}
    turn = owner.client.post(f"{path}/turns", json={"turn_id": "t1", "messages": own}, headers=headers)
    assert turn.json()["first_seq"] == 1
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "And now?"}]}
    window = owner.client.post(f"{path}/context", json=asked, headers=headers)
    read = owner.client.get(f"{path}/turns", params={"from": 1, "to": 100}, headers=headers)
    assert [message["content"] for message in window.json()["messages"]] == ["a gentian", "blue", "And now?"]
    assert "gentian" in read.text
    assert WORD not in read.text
    mine = owner.client.post(f"{path}/context", json=asked)
    assert WORD in mine.text
    assert "gentian" not in mine.text


def test_a_line_of_a_batch_begins_a_session_of_the_strangers_own(owner: Owner) -> None:
    way = ("POST", "/v1/turns")
    answer = call(owner.client, stranger(), way, DOORS[way], owner.ids)
    [result] = answer.json()["results"]
    assert (result["turn_index"], result["duplicate"]) == (1, False)


TOOL_ARGUMENTS: dict[str, dict[str, Any]] = {
    "rank_catalog": {"catalog": "{name}", "intent": "send"},
    "find_tools": {"catalog": "{name}", "query": "send"},
    "read_context": {"session_id": "{session_id}", "model": "gpt-4o", "message": "and now?"},
    "expand_summary": {"session_id": "{session_id}", "from": 1, "to": 12},
    "read_artifact": {"artifact_id": "{artifact_id}", "from": 0, "to": 100},
}
"""Every tool of the protocol of agents; one that is added has to be added here."""


def tell(client: TestClient, key: str, message: dict[str, Any]) -> httpx2.Response:
    return client.post("/mcp", json=message, headers={**MESSAGES, "Authorization": f"Bearer {key}"})


def use(client: TestClient, key: str, tool: str, ids: Ids) -> httpx2.Response:
    arguments = filled(TOOL_ARGUMENTS[tool], ids)
    return tell(client, key, request("tools/call", name=tool, arguments=arguments))


def test_every_tool_is_listed_here() -> None:
    assert TOOL_ARGUMENTS.keys() == TOOLS.keys()


def test_a_strangers_agent_learns_nothing_by_a_tool(owner: Owner) -> None:
    own_key = owner.client.headers["Authorization"].removeprefix("Bearer ")
    before, told = rows_of(owner.tenant_id), {}
    for tool in TOOL_ARGUMENTS:
        answer = use(owner.client, stranger(), tool, owner.ids)
        unknown = use(owner.client, stranger(), tool, NOBODYS)
        if WORD in answer.text or without_ids(answer, owner.ids) != without_ids(unknown, NOBODYS):
            told[tool] = answer.text
    assert (told, rows_of(owner.tenant_id)) == ({}, before)
    assert all(WORD in use(owner.client, own_key, tool, owner.ids).text for tool in TOOL_ARGUMENTS)


def test_a_strangers_agent_learns_nothing_by_a_resource(owner: Owner) -> None:
    own_key = owner.client.headers["Authorization"].removeprefix("Bearer ")
    read = {
        key: [tell(owner.client, key, request("resources/read", uri=uri)) for uri in RESOURCES]
        for key in (stranger(), own_key)
    }
    strangers, own = read.values()
    assert all("result" in answer.json() and WORD not in answer.text for answer in strangers)
    assert any(WORD in answer.text for answer in own)


def statuses(client: TestClient, key_for: Callable[[Door], str]) -> dict[str, int]:
    """What every route answers to a key that is chosen by what the route needs."""
    return {
        case: call(client, key_for(door), way, door, NOBODYS).status_code
        for case, (way, door) in CASES.items()
    }


def test_a_key_with_every_scope_but_the_one_that_is_needed_opens_nothing(
    client: TestClient, tenant_id: UUID
) -> None:
    without = {scope: make_key(tenant_id, *(set(SCOPES) - {scope})) for scope in SCOPES}
    assert statuses(client, lambda door: without[door.scope]) == dict.fromkeys(CASES, 403)
    assert statuses(client, lambda door: without[door.scopes[-1]]) == dict.fromkeys(CASES, 403)


def test_a_key_with_the_scope_alone_is_let_in(client: TestClient, tenant_id: UUID) -> None:
    alone = {door.scopes: make_key(tenant_id, *door.scopes) for _, door in CASES.values()}
    found = statuses(client, lambda door: alone[door.scopes])
    assert {case: code for case, code in found.items() if code in {401, 403} or code >= 500} == {}


@pytest.mark.parametrize("key", ["", "aft_000000000000_wrong", "\x7f"])
def test_without_a_key_in_force_no_door_opens(client: TestClient, key: str) -> None:
    assert statuses(client, lambda _: key) == dict.fromkeys(CASES, 401)


def test_a_refusal_names_the_scope_and_nothing_else(client: TestClient, tenant_id: UUID) -> None:
    way = ("POST", "/v1/sessions/{session_id}/reset")
    refused = call(client, make_key(tenant_id, "read"), way, DOORS[way], NOBODYS).json()
    assert refused.keys() == {"type", "title", "status", "detail", "scope"}
    assert (refused["type"], refused["scope"]) == ("forbidden", "write")

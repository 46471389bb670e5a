"""Numbers are numbers and booleans are booleans, in every described body and every address."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.app import make_app
from context.types import JsonObject
from tests.integration.conftest import make_key
from tests.integration.doors import DOORS, Ids, Way, filled
from tests.integration.test_scope_before_id import WELL_FORMED

IN_BODIES: Mapping[str, tuple[Any, ...]] = {
    "integer": ("50", "", "yes", 1.0, 1.5, True, [1]),
    "number": ("0.5", "", "yes", True, [0.5]),
    "boolean": ("yes", "true", "", 1, 0, 1.0, [True]),
    "string": (5, 1.0, True),
    "date-time": (1_700_000_000, 1_700_000_000.5, "1700000000", True),
}
"""Values of another type, for each type of the document."""

IN_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "integer": ("1.0", "yes", "1e2", "+1", "1_0", " 1", "true", ""),
    "boolean": ("yes", "1", "0", "TRUE", ""),
}
Place = tuple[str | int, ...]


def scalars(schema: JsonObject, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every number, boolean and text of a described body, at any depth."""
    for one in (schema, *schema.get("anyOf", ())):
        kind = one.get("format") if one.get("format") == "date-time" else one.get("type")
        if kind in IN_BODIES and not ("anyOf" in schema and kind == "string" and _takes_objects(schema)):
            yield place, str(kind)
        for name, part in one.get("properties", {}).items():
            yield from scalars(part, (*place, name))
        if isinstance(one.get("items"), dict):
            yield from scalars(one["items"], (*place, 0))
        if isinstance(one.get("additionalProperties"), dict):
            yield from scalars(one["additionalProperties"], (*place, "any"))


def _takes_objects(schema: JsonObject) -> bool:
    return any(one.get("type") == "object" for one in schema["anyOf"])


def put(body: Any, place: Place, value: Any) -> Any:
    """A copy of a body with a value at a place."""
    if not place:
        return value
    first, rest = place[0], place[1:]
    if first == 0:
        return [put(body[0] if isinstance(body, list) and body else None, rest, value)]
    old = deepcopy(body) if isinstance(body, dict) else {}
    return {**old, first: put(old.get(first), rest, value)}


def named(place: Place) -> str:
    """The place as an error names it."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def described() -> Iterator[tuple[Way, JsonObject]]:
    """Every door with what the document says of it."""
    for path, methods in make_app().openapi()["paths"].items():
        yield from (((method.upper(), path), operation) for method, operation in methods.items())


BODIES: Mapping[Way, list[tuple[Place, str]]] = {
    way: [
        found
        for about in operation.get("requestBody", {}).get("content", {}).values()
        for found in scalars(about["schema"])
    ]
    for way, operation in described()
    if way in DOORS and DOORS[way].body is not None
}
"""The place and type of every number, boolean and text in each described body."""

ADDRESSES: Mapping[Way, list[tuple[str, str, str]]] = {
    way: [
        (one["name"], one["in"], str(kind))
        for one in operation.get("parameters", ())
        for kind in {part.get("type") for part in (one["schema"], *one["schema"].get("anyOf", ()))}
        if kind in IN_ADDRESSES
    ]
    for way, operation in described()
    if way in DOORS
}
"""The name, the part of the address and the type of every number and boolean of each door."""


class Platform:
    """A client with a key for everything."""

    def __init__(self, tenant_id: UUID) -> None:
        self._client = TestClient(make_app(), raise_server_exceptions=False)
        self._headers = {
            "Authorization": f"Bearer {make_key(tenant_id)}",
            "Content-Type": "application/json",
        }

    def send(
        self, way: Way, body: Any, ids: Ids = WELL_FORMED, query: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """Make a call."""
        content = b"" if body is None else json.dumps(body).encode()
        return self._client.request(
            way[0], filled(way[1], ids), content=content, params=dict(query or {}), headers=self._headers
        )


@pytest.fixture
def platform(tenant_id: UUID) -> Platform:
    return Platform(tenant_id)


@pytest.mark.parametrize("way", [way for way, found in BODIES.items() if found], ids=" ".join)
def test_a_body_takes_no_value_of_another_type(platform: Platform, way: Way) -> None:
    door = DOORS[way]
    for place, kind in BODIES[way]:
        for value in IN_BODIES[kind]:
            answer = platform.send(way, put(filled(door.body, WELL_FORMED), place, value))
            told = answer.json()["results"][0]["error"] if door.lines else answer.json()
            assert (told["status"], told["field"]) == (422, named(place)), (place, value, answer.text)
            assert "must" in told["detail"] or "unknown" in told["detail"], told


@pytest.mark.parametrize("way", [way for way, found in ADDRESSES.items() if found], ids=" ".join)
def test_an_address_takes_whole_numbers_and_true_and_false_alone(platform: Platform, way: Way) -> None:
    door = DOORS[way]
    body = filled(door.body, WELL_FORMED)
    for name, where, kind in ADDRESSES[way]:
        for value in IN_ADDRESSES[kind]:
            ids = replace(WELL_FORMED, **{name: value or "-"}) if where == "path" else WELL_FORMED
            query = {**door.query, name: value} if where == "query" else {}
            answer = platform.send(way, body, ids, query)
            assert (answer.status_code, answer.json().get("field")) == (422, name), (value, answer.text)


def test_the_walk_meets_numbers_booleans_and_texts_of_every_depth() -> None:
    found = {(way, named(place), kind) for way, places in BODIES.items() for place, kind in places}
    window = ("POST", "/v1/sessions/{session_id}/context")
    assert {(window, "budget", "integer"), (window, "speakers", "boolean")} <= found
    assert (("POST", "/v1/plans/{plan_id}/outcome"), "steps[0].order", "integer") in found
    assert (("PUT", "/v1/preflight/config"), "categories.any.disabled", "boolean") in found
    assert (("POST", "/v1/turns"), "completed_at", "date-time") in found
    names = {name for found in ADDRESSES.values() for name, _, _ in found}
    assert names >= {"from", "to", "limit", "version", "seq", "content"}

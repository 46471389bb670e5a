"""Requests drawn from the OpenAPI document: what it allows, and what it forbids, for every call in it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode, SerializationContext
from schemathesis.core.result import Ok

from tests.integration.fuzz.damage import broken, damaged
from tests.integration.fuzz.door import Door, Request

Operation: TypeAlias = APIOperation[Any, Any, Any, Any]
AnyCase: TypeAlias = Case[Any]

NDJSON = "application/x-ndjson"
DAMAGED = 3
"""How often a drawn body is sent once more, with something wrong in it."""

UNSIGNED = 4
"""One in so many requests has the key that the document's own words led to, which is none of ours."""

_BASE = "http://testserver"
_NO_CLOCK = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


@schemathesis.serializer(NDJSON)
def _write_lines(_: SerializationContext, value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass") + b"\n"


ENDLESS = "GET /v1/events"
"""A stream: most of what the document allows has no end."""


def operations(document: dict[str, Any]) -> list[Operation]:
    """Every call of a document."""
    found = schemathesis.openapi.from_dict(document).get_all_operations()
    return [one.ok() for one in found if isinstance(one, Ok) and one.ok().label != ENDLESS]


def fuzz_operation(
    door: Door,
    operation: Operation,
    known: Mapping[str, str | int],
    *,
    examples: int,
    begin: int,
) -> None:
    """Send so many requests that the document allows, and as many that it forbids.

    To draw one takes several times as long as to have it answered: what has a body is sent damaged as well.

    Args:
        door: Where they go.
        operation: The call.
        known: What exists already, by the name of the part of a path that names it.
        examples: How many of each.
        begin: The seed.
    """
    rng = Random(begin)  # noqa: S311 (repeatable, not secret)
    for mode in GenerationMode:
        cases = _cases(operation, mode, known)

        @seed(begin)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=_NO_CLOCK,
        )
        @given(case=cases)
        def send(case: AnyCase) -> None:
            request = _request(operation.label, case, signed=rng.randrange(UNSIGNED) > 0)
            door.send_all([request])
            if request.raw:
                for _ in range(DAMAGED):
                    door.send_all([replace(request, raw=_damaged(rng, request.raw))])

        if mode is GenerationMode.POSITIVE or list(operation.iter_parameters()) or operation.body:
            send()


def _cases(
    operation: Operation, mode: GenerationMode, known: Mapping[str, str | int]
) -> st.SearchStrategy[AnyCase]:
    """Half of the requests go to what exists."""
    drawn = operation.as_strategy(generation_mode=mode)
    names = {name: known[name] for name in _names(operation) if name in known}
    return (
        st.one_of(drawn, operation.as_strategy(generation_mode=mode, path_parameters=names))
        if names
        else drawn
    )


def _names(operation: Operation) -> Iterator[str]:
    return (part.name for part in operation.path_parameters)


def _request(label: str, case: AnyCase, *, signed: bool) -> Request:
    drawn = case.as_transport_kwargs(base_url=_BASE)
    headers = {
        name: value
        for name, value in drawn["headers"].items()
        if not (signed and name.lower() == "authorization")
    }
    raw = json.dumps(drawn["json"]).encode() if "json" in drawn else drawn.get("data", b"")
    path = quote(drawn["url"].removeprefix(_BASE), safe="/%:@!$&'()*+,;=~")
    query = urlencode(drawn.get("params") or {}, doseq=True)
    return Request(label, case.method, path, raw, query, headers)


def _damaged(rng: Random, raw: bytes) -> bytes:
    try:
        return damaged(rng, json.loads(raw))
    except (ValueError, RecursionError):
        return broken(rng, raw)

"""Requests drawn from the OpenAPI document: what it allows, and what it forbids, for every call in it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlencode

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode, SerializationContext
from schemathesis.core.result import Ok

from tests.integration.fuzz.door import Door

Operation: TypeAlias = APIOperation[Any, Any, Any, Any]
AnyCase: TypeAlias = Case[Any]

NDJSON = "application/x-ndjson"
UNSIGNED = 4
"""One in so many requests has the key that the document's own words led to, which is none of ours."""

_NO_CLOCK = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)


@schemathesis.serializer(NDJSON)
def _write_lines(_: SerializationContext, value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass") + b"\n"


def operations(document: dict[str, Any]) -> list[Operation]:
    """Every call of a document."""
    found = schemathesis.openapi.from_dict(document).get_all_operations()
    return [one.ok() for one in found if isinstance(one, Ok)]


def fuzz_operation(
    door: Door,
    operation: Operation,
    known: Mapping[str, str | int],
    *,
    examples: int,
    begin: int,
) -> None:
    """Send so many requests that the document allows, and as many that it forbids.

    Args:
        door: Where they go.
        operation: The call.
        known: What exists already, by the name of the part of a path that names it.
        examples: How many of each.
        begin: The seed.
    """
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
        @given(case=cases, signed=st.integers(0, UNSIGNED - 1))
        def send(case: AnyCase, signed: int) -> None:
            _send(door, operation.label, case, signed=signed > 0)

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


def _send(door: Door, label: str, case: AnyCase, *, signed: bool) -> None:
    drawn = case.as_transport_kwargs(base_url="http://testserver")
    headers = {
        name: value
        for name, value in drawn["headers"].items()
        if not (signed and name.lower() == "authorization")
    }
    path = drawn["url"].removeprefix("http://testserver")
    raw = drawn.get("data", b"")
    if "json" in drawn:
        raw = json.dumps(drawn["json"]).encode()
    door.send(
        label, case.method, path, raw, query=urlencode(drawn.get("params") or {}, doseq=True), headers=headers
    )

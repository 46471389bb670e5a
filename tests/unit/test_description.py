"""The OpenAPI document is whole: every reference resolves, calls are signed, refusals look as they are."""

import json
import re
from typing import Any

import pytest

from api.app import make_app
from tests.described import EXAMPLES, answer_models, keys_lost


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return make_app().openapi()


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(document["components"]["schemas"])


def test_every_call_of_the_api_is_signed_and_the_probes_are_not(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert ("security" in operation) == path.startswith("/v1/"), path


def test_a_refusal_is_described_as_a_problem_document(document: dict[str, Any]) -> None:
    for operations in document["paths"].values():
        for operation in operations.values():
            assert "422" not in operation["responses"]
            assert "application/problem+json" in operation["responses"]["default"]["content"]


VERBS = frozenset(
    [
        "append",
        "activate",
        "build",
        "check",
        "classify",
        "compact",
        "compress",
        "create",
        "delete",
        "edit",
        "erase",
        "fit",
        "forget",
        "fork",
        "get",
        "go",
        "list",
        "put",
        "rank",
        "read",
        "record",
        "replace",
        "report",
        "request",
        "reset",
        "revoke",
        "roll",
        "set",
        "start",
        "stop",
        "store",
        "stream",
        "sync",
        "try",
        "truncate",
        "upload",
    ]
)


def test_every_operation_has_a_name_and_a_summary_that_begin_with_a_verb(document: dict[str, Any]) -> None:
    operations = [one for calls in document["paths"].values() for one in calls.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    for one in operations:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", one["operationId"]), one["operationId"]
        assert one["operationId"].split("_")[0] in VERBS, one["operationId"]
        assert one["summary"].split()[0].lower() in VERBS, one["summary"]


def test_every_answer_has_a_schema_an_example_and_headers(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                where = f"{method} {path} {status}"
                assert {"X-Request-Id", "Server-Timing"} <= set(answer["headers"]), where
                for content in answer["content"].values():
                    assert content["schema"], where
                    assert content["example"], where


def test_every_example_has_the_shape_of_its_answer() -> None:
    models = answer_models(make_app())
    assert set(EXAMPLES) == set(models)
    lost = {name: keys_lost(models[name], example) for name, example in EXAMPLES.items()}
    assert {name: keys for name, keys in lost.items() if keys} == {}


def test_a_field_that_is_not_described_is_found() -> None:
    models = answer_models(make_app())
    assert keys_lost(models["check_alive"], {"status": "ok", "release": "1", "more": [{"x": 1}]}) == {
        "more",
        "more.[].x",
    }

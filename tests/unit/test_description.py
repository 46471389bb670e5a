"""The OpenAPI document is whole: every reference resolves, calls are signed, refusals look as they are."""

import json
import re
from typing import Any

import pytest

from api.app import make_app


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

"""Every part of a path and of a query, in characters that no database holds: refused, never a fault."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import make_app

HOSTILE = {
    "NUL": "a%00b",
    "half of a pair": "%ED%A0%80",
    "no UTF-8": "%F0%28%8C%28",
    "a mark that is invisible": "%EF%BB%BF",
    "a line break": "a%0Ab",
    "nothing but NUL": "%00",
}

ENDLESS = "/v1/events?"
"""A stream, which ends after a second if asked to."""


def places() -> Iterator[tuple[str, str]]:
    """Every method and path, with the texts of its query."""
    for path, operations in make_app().openapi()["paths"].items():
        for method, operation in operations.items():
            asked = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
            texts = [one["name"] for one in asked if "string" in str(one["schema"])]
            yield (
                method.upper(),
                path + ("?" + "&".join(f"{name}={{{name}}}" for name in texts) if texts else ""),
            )


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_path_and_no_query_is_a_fault(client: TestClient, text: str) -> None:
    asked = [place for place in places() if "{" in place[1]]
    assert len(asked) > 20
    for method, place in asked:
        path = re.sub(r"\{(seq|version)\}", "1", place)
        path = re.sub(r"\{[^}]+\}", lambda _: text, path)
        path += "&for_s=1" if path.startswith(ENDLESS) else ""
        body: Any = {} if method in {"POST", "PUT", "PATCH"} else None
        answer = client.request(method, path, json=body)
        assert answer.status_code < 500, (method, place, answer.text)
        if answer.is_client_error:
            assert answer.headers["content-type"] == "application/problem+json", (method, place)

"""The OpenAPI document names the parameters that an address may have, where an endpoint reads them itself."""

import re
from typing import Any

from fastapi.testclient import TestClient

from context.artifacts.content import artifact_id_of

REPORT = artifact_id_of("a report")
ALLOWED = re.compile(r"zzz: is not a known parameter; allowed: (.+)")
READ_BY_THEMSELVES = {
    ("get", "/v1/artifacts/{artifact_id}"),
    ("get", "/v1/artifacts/{artifact_id}/summaries"),
    ("post", "/v1/attachments"),
    ("get", "/v1/attachments/{attachment_id}"),
}


class Ids(dict[str, str]):
    """An id for each part of a path."""

    def __missing__(self, name: str) -> str:
        """Those of contents have a form of their own."""
        return REPORT if name in {"artifact_id", "attachment_id"} else "some"


def described(operation: dict[str, Any]) -> set[str]:
    return {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}


def test_what_an_address_may_hold_is_what_the_document_names(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    seen = set()
    for path, operations in paths.items():
        for method in operations.keys() & {"get", "post"}:
            answer = client.request(method, f"{path.format_map(Ids())}?zzz=1", json={})
            if said := ALLOWED.search(answer.text):
                seen.add((method, path))
                assert set(said[1].partition('"')[0].split(", ")) == described(operations[method])
    assert seen == READ_BY_THEMSELVES

"""The pages that show the API work on a machine without the internet."""

import re

from fastapi.testclient import TestClient


def test_the_description_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs").text
    sources = re.findall(r"""(?:src|href)=["']([^"']+)["']""", page)
    assert sources
    for source in sources:
        assert source.startswith("/")
        assert client.get(source).status_code == 200
    assert not re.search(r"https?://", page)


def test_the_page_shows_the_document_of_this_api(client: TestClient) -> None:
    assert "/openapi.json" in client.get("/docs").text
    paths = client.get("/openapi.json").json()["paths"]
    assert "/v1/sessions/{session_id}/turns" in paths
    assert "/v1/sessions/{session_id}/context" in paths

"""Catalogs read at the start of a process: the first request finds them parsed, indexed and counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event

from api.app import make_app
from api.catalogs.catalog_cache import CatalogCache, catalogs
from models.catalogs.settings import catalog_settings
from tests.integration.conftest import make_key

TOOLS = [{"name": f"weigh_{n}", "description": f"Weighs crate {n} of the depot."} for n in range(40)]
ASKED = {
    "model": "gpt-4o-mini",
    "context_window": 16_000,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Weigh crate 7."}],
    "catalog": "depot",
}


@contextmanager
def statements() -> Iterator[list[str]]:
    """List the statements sent meanwhile."""
    sent: list[str] = []

    def note(_db: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.parametrize(("prepared", "reads"), [("0", 1), ("8", 0)])
def test_a_process_reads_the_newest_catalogs_before_its_first_request(
    client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch, prepared: str, reads: int
) -> None:
    assert client.put("/v1/catalogs/depot", json={"tools": TOOLS}).status_code == 200
    monkeypatch.setenv("AFTERTURN_CATALOGS_PREPARED", prepared)
    catalog_settings.cache_clear()
    monkeypatch.setattr(catalogs, "__dict__", CatalogCache().__dict__)  # as in a process that just began
    try:
        with TestClient(make_app()) as begun:
            begun.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"
            with statements() as sent:
                answer = begun.post("/v1/sessions/s1/context", json=ASKED)
    finally:
        catalog_settings.cache_clear()
    assert answer.status_code == 200, answer.text
    assert sum("from catalog join catalog_version as version" in one for one in sent) == reads * 2
    assert "weigh_7" in [tool["function"]["name"] for tool in answer.json()["tools"]]

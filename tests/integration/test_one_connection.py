"""A context is read over one connection, and recall over one of its own, whose statements end sooner."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.integration.reading import Platform


@contextmanager
def checkouts() -> Iterator[list[str]]:
    """List the threads of requests that take a connection meanwhile."""
    taken: list[str] = []

    def note(*_: Any) -> None:
        name = threading.current_thread().name
        if name.startswith("AnyIO"):
            taken.append(name)

    event.listen(Pool, "checkout", note)
    try:
        yield taken
    finally:
        event.remove(Pool, "checkout", note)


@pytest.fixture
def platform(client: TestClient, tenant_id: Any) -> Platform:
    return Platform(client, tenant_id, server=None)  # type: ignore[arg-type]


def test_a_read_takes_one_connection_and_recall_another(platform: Platform) -> None:
    platform.turn("Which crates stand in hall seven?", "Crates 3 and 9 stand there.", tool="list_crates")
    platform.turn("And in hall eight?", "None.", tool="list_crates")
    asked: dict[str, Any] = {"dry_run": True, "context_window": 4_000, "max_tokens": 300}
    platform.ask("What stands in hall seven?", **asked)
    with checkouts() as taken:
        answer = platform.ask("What stands in hall seven by now?", **asked)
    assert answer["certificate"]["fits"]
    assert 1 <= len(taken) <= 2

"""One tenant fills its places at the API and at the readers of uploads; others notice nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from uuid import UUID

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.app import make_app
from api.artifacts.documents import sandbox
from api.http.errors import ProblemError
from api.settings import api_settings
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.held_rows import held_from_all, waiting
from tests.waiting import wait_until

MOST = 2
TURN = {
    "messages": [{"role": "user", "content": "Is it up?"}, {"role": "assistant", "content": "It is up."}],
}


@pytest.fixture
def narrow(tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """An API that works on two calls of a tenant at once, and lets no other wait."""
    monkeypatch.setenv("AFTERTURN_TENANT_CALLS", str(MOST))
    monkeypatch.setenv("AFTERTURN_TENANT_CALLS_WAITING", "0")
    api_settings.cache_clear()
    with TestClient(make_app(), raise_server_exceptions=False) as plain:
        plain.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"
        yield plain
    monkeypatch.undo()
    api_settings.cache_clear()


@pytest.fixture
def stranger(tenant_id: UUID) -> str:
    """A key of another tenant."""
    del tenant_id  # tables are empty before it
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    return make_key(other)


def test_whoever_fills_its_places_is_told_so_and_nobody_else_is(narrow: TestClient, stranger: str) -> None:
    assert narrow.post("/v1/sessions/s/turns", json={"turn_id": "t", **TURN}).status_code == 202

    def ask(_: int) -> httpx2.Response:
        return narrow.get("/v1/sessions/s")

    with ThreadPoolExecutor(MOST) as pool:
        with held_from_all():
            slow = [pool.submit(ask, number) for number in range(MOST)]
            wait_until(lambda: waiting() == MOST, within_s=30, what="both wait for the session")
            refused = narrow.get("/v1/usage")
            other = narrow.get("/v1/usage", headers={"Authorization": f"Bearer {stranger}"})
            health = narrow.get("/healthz")
        assert [call.result().status_code for call in slow] == [200] * MOST
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["detail"] == (
        "2 calls of this tenant are worked on already; nothing was changed, try again"
    )
    assert (other.status_code, health.status_code) == (200, 200)
    assert narrow.get("/v1/usage").status_code == 200


def test_whoever_fills_the_readers_of_uploads_leaves_a_place_to_others() -> None:
    places, (one, other, third) = sandbox.ReaderPlaces(), map(UUID, (f"{number:032}" for number in (1, 2, 3)))

    def held(tenant: UUID) -> AbstractContextManager[None]:
        return places.held(tenant, 0.05)

    with ExitStack() as of_one:
        for _ in range(sandbox.OF_A_TENANT):
            of_one.enter_context(held(one))
        with pytest.raises(ProblemError, match="other documents"), held(one):
            pass
        with held(other), pytest.raises(ProblemError, match="other documents"), held(third):
            pass
    with held(one), held(other):
        for hostile in (one, other):
            with pytest.raises(ProblemError, match="other documents"), held(hostile):
                pass
        with held(third):
            pass
    with held(one):
        pass
    assert places.taken() == 0

"""A key that is revoked while its call goes on: the call ends as it began, and the next one is refused."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.due_work.queue import WorkKind, find_work
from models.plans.plan import MadePlan, PlanMethod, keep_plan
from models.scope import Scope
from models.tenants.tenant import revoke_key
from tests.integration.conftest import make_key
from tests.waiting import wait_until

SOON_S = 60.0


@pytest.fixture
def key(client: TestClient, tenant_id: UUID) -> str:
    """A key beside the client's own, in a tenant with a catalog."""
    tool = {"name": "read_file", "description": "Reads a file."}
    assert client.put("/v1/catalogs/tools", json={"tools": [tool]}).status_code == 200
    return make_key(tenant_id)


def signed(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def revoke(tenant_id: UUID, key: str) -> None:
    with session.transaction() as db:
        assert revoke_key(Scope(db, tenant_id), key.split("_")[1])


def is_refused_soon(client: TestClient, key: str) -> None:
    """Wait for the 401: what the API knows of a key is two seconds old at most."""
    wait_until(
        lambda: client.get("/v1/usage", headers=signed(key)).status_code == 401,
        within_s=SOON_S,
        what="the key is refused",
    )


@contextmanager
def under_way(call: Callable[[], httpx2.Response]) -> Iterator[Future[httpx2.Response]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call)


def one(query: str) -> object:
    with session.read_transaction() as db:
        return db.execute(text(query)).scalar()


def test_a_call_that_waits_for_its_plan_gets_it_and_the_next_one_is_refused(
    client: TestClient, tenant_id: UUID, key: str
) -> None:
    asked = {"intent": "read the log", "catalog": "tools", "model": "m", "wait_ms": 10_000}
    with under_way(lambda: client.post("/v1/plans", json=asked, headers=signed(key))) as answer:
        wait_until(
            lambda: one("select 1 from due_work where kind = 'plan'"), within_s=SOON_S, what="it waits"
        )
        revoke(tenant_id, key)
        is_refused_soon(client, key)
        plan_id = one("select plan_id from plan_history")
        assert isinstance(plan_id, UUID)
        step = {"order": 1, "tool": "read_file", "args": {}, "rationale": "", "outcome": None}
        with session.transaction() as db:
            scope = Scope(db, tenant_id)
            work = find_work(scope, WorkKind.PLAN, str(plan_id))
            assert work is not None
            keep_plan(scope, plan_id, MadePlan([step], PlanMethod.LLM))
            db.execute(text("update due_work set state = 'idle' where kind = 'plan'"))
        told = answer.result(timeout=SOON_S)
    assert (told.status_code, told.json()["status"]) == (200, "ready")
    assert one("select count(*) from plan_history") == 1


def test_an_upload_that_was_let_in_is_stored_whole(client: TestClient, tenant_id: UUID, key: str) -> None:
    document = {"content": "The crane stands still. " * 2_000}
    with under_way(lambda: client.post("/v1/attachments", json=document, headers=signed(key))) as answer:
        with session.engine().begin() as holding:
            holding.execute(text("select 1 from tenant where tenant_id = :id for update"), {"id": tenant_id})
            wait_until(
                lambda: one("select 1 from pg_locks where not granted"), within_s=SOON_S, what="it waits"
            )
            revoke(tenant_id, key)
        assert answer.result(timeout=SOON_S).status_code == 201
    assert one("select count(*) from artifact_attachment join artifact using (tenant_id, artifact_id)") == 1
    is_refused_soon(client, key)

"""Rows that change all the time are changed in place: no index grows with them."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, text

from models import database as session
from models.due_work.queue import WorkKind, claim, enqueue, renew
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.summarizing import dialogue
from tests.waiting import wait_until

TURNS = 60


def updates(table: str) -> tuple[int, int]:
    """All updates of a table so far, and those that left every index alone."""
    with session.read_transaction() as db:
        db.execute(text("select pg_stat_clear_snapshot()"))
        found = db.execute(
            text("select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = :table"),
            {"table": table},
        ).one()
    return found.n_tup_upd, found.n_tup_hot_upd


def test_a_turn_changes_its_session_in_place(client: TestClient) -> None:
    before = updates("session")
    for number in range(TURNS):
        turn = {"turn_id": f"t{number}", "messages": dialogue(number)}
        assert client.post(f"/v1/sessions/busy-{number % 3}/turns", json=turn).status_code == 202
    wait_until(lambda: updates("session")[0] - before[0] >= TURNS, within_s=30, what="the counts are told")
    changed, in_place = (now - then for now, then in zip(updates("session"), before, strict=True))
    assert in_place >= 0.8 * changed


def in_place(db: Connection, change: Callable[[], Any]) -> tuple[int, int]:
    """How many rows of due work something changed in this transaction, and in place."""
    counted = text(
        "select pg_stat_get_xact_tuples_updated('due_work'::regclass), "
        "pg_stat_get_xact_tuples_hot_updated('due_work'::regclass)"
    )
    before = db.execute(counted).one()
    change()
    after = db.execute(counted).one()
    return after[0] - before[0], after[1] - before[1]


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "busy")


def work(db: Connection, tenant: UUID) -> int:
    """Work that is due, and its id."""
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    return int(db.execute(text("select work_id from due_work where key = 's1'")).scalar_one())


def test_work_that_is_asked_for_again_is_changed_in_place(db: Connection, tenant: UUID) -> None:
    """Most turns do this: their session's work is due already."""
    work(db, tenant)
    assert in_place(db, lambda: enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=5)) == (1, 1)


def test_a_lease_is_renewed_in_place(db: Connection, tenant: UUID) -> None:
    held = claim(db, work(db, tenant), lease_s=9, max_crashes=3)
    assert held is not None
    assert in_place(db, lambda: renew(db, held, lease_s=9)) == (1, 1)

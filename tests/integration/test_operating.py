"""What an operator sees of work that does not get on, and another try for it."""

from uuid import UUID

import pytest
from sqlalchemy import Connection

from models.due_work.operator import list_stuck, retry_now
from models.due_work.queue import WorkKind, WorkState, enqueue, finish, retry_later
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import row, take


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "first")


def fail(db: Connection, tenant: UUID, key: str, *, delay_s: float, max_attempts: int | None) -> None:
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, key)
    held = take(db, row(db, tenant, key).work_id)
    assert retry_later(db, held, f"fault of {key}", delay_s=delay_s, max_attempts=max_attempts)


def test_work_that_waits_after_a_failure_or_was_given_up_is_shown_with_its_reason(
    db: Connection, tenant: UUID
) -> None:
    fail(db, tenant, "parked", delay_s=900, max_attempts=None)
    fail(db, tenant, "dead", delay_s=0, max_attempts=1)
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "debounced", delay_s=5)
    assert [(work.key, work.state, work.last_error) for work in list_stuck(db, tenant)] == [
        ("dead", WorkState.DEAD, "fault of dead"),
        ("parked", WorkState.READY, "fault of parked"),
    ]


def test_another_try_makes_all_of_it_due_and_leaves_the_rest(db: Connection, tenant: UUID) -> None:
    stranger = ensure_tenant(db, "second")
    fail(db, tenant, "parked", delay_s=900, max_attempts=None)
    fail(db, tenant, "dead", delay_s=0, max_attempts=1)
    fail(db, stranger, "parked", delay_s=900, max_attempts=None)
    assert retry_now(db, tenant) == 2
    for key in ("parked", "dead"):
        assert finish(db, take(db, row(db, tenant, key).work_id), "done")
    assert list_stuck(db, tenant) == []
    assert [work.key for work in list_stuck(db, stranger)] == ["parked"]

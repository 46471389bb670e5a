"""Helpers for tests of shadow mode: switches, records, and the job that judges."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from api.shadow.record import shadows
from context.shadow.verdict import ShadowPart
from models import database as session
from models.conversations.session import find_session
from models.conversations.summary import store_summary
from models.due_work.queue import WorkKind, find_work
from models.scope import Scope
from models.shadow.reads import set_switch
from models.shadow.settings import ShadowSettings
from tests.integration.activating import Chat
from tests.integration.erasing import new_summary
from workers.jobs.lifecycle import run_work
from workers.jobs.shadow import judge_shadows
from workers.settings import WorkerSettings

Record = dict[str, Any]
JUDGE = "reads"


@pytest.fixture(autouse=True)
def fresh_switches() -> Iterator[None]:
    """What an API process knows of switches does not outlive a test."""
    shadows.forget()
    yield
    shadows.forget()


def switch(tenant_id: UUID, *parts: ShadowPart) -> None:
    """Put exactly these parts in shadow, known at once."""
    with session.transaction() as db:
        set_switch(Scope(db, tenant_id), parts)
    shadows.forget()


def records(tenant_id: UUID) -> list[Record]:
    """Every record of a tenant, in the order of its parts."""
    with session.read_transaction() as db:
        rows = db.execute(
            text("select * from shadow_read where tenant_id = :tenant_id order by made_at, part"),
            {"tenant_id": tenant_id},
        )
        return [dict(row) for row in rows.mappings()]


def judge_now(tenant_id: UUID, **settings: Any) -> str:
    """Do the work that judges records, due or not."""
    with session.transaction() as db:
        db.execute(text("update due_work set due_at = now() - interval '1 s' where kind = 'shadow'"))
    with session.read_transaction() as db:
        work = find_work(Scope(db, tenant_id), WorkKind.SHADOW, JUDGE)
    assert work is not None
    chosen = ShadowSettings(**settings)
    return run_work(
        work.work_id,
        {WorkKind.SHADOW: lambda held: judge_shadows(held, settings=chosen)},
        WorkerSettings(),
    )


def summarized(chat: Chat, notes: str) -> None:
    """Thirty-five turns; for all but the newest ten, in these words stand."""
    chat.say(35)
    with session.transaction() as db:
        scope = Scope(db, chat.tenant_id)
        found = find_session(scope, chat.session_id)
        assert found is not None
        made = new_summary(50, notes, base=None, generation=found.generation)
        assert store_summary(scope, chat.session_id, made, activate=True)

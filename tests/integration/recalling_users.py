"""Helpers for tests of recall across the sessions of a user."""

import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import func, select

from context.recall.selection import USER_RECALL_TAG
from models import database as session
from models.due_work.queue import DueWork, WorkKind, WorkState, find_work
from models.recall.settings import RecallSettings
from models.recall.user import switch_user_recall
from models.scope import Scope
from tests.integration.works import make_due
from workers.jobs.lifecycle import Handler, run_work
from workers.jobs.recall import index_session
from workers.jobs.wake import key_passages, wake_sessions
from workers.settings import WorkerSettings

KAYAK = "The spare kayak hangs behind the boathouse."
QUESTION = "Where does the spare kayak hang?"
USER = "anna"


def switch(tenant_id: UUID, *, on: bool = True) -> None:
    """Switch recall by user on or off for a tenant."""
    with session.transaction() as db:
        switch_user_recall(Scope(db, tenant_id), on=on)


def say(
    client: TestClient, session_id: str, words: str = KAYAK, user_id: str | None = USER, **more: Any
) -> None:
    """Post a short turn."""
    event = {
        "turn_id": secrets.token_hex(4),
        "messages": [{"role": "user", "content": words}, {"role": "assistant", "content": "Noted."}],
        "user_id": user_id,
        **more,
    }
    answer = client.post(f"/v1/sessions/{session_id}/turns", json=event)
    assert answer.status_code == 202, answer.text


def index(tenant_id: UUID, session_ids: Sequence[str]) -> None:
    """Do the work that turns made due, until there is no more of it."""
    handlers = {WorkKind.RECALL: lambda held: index_session(held, settings=RecallSettings())}
    for session_id in session_ids:
        while True:
            with session.read_transaction() as db:
                work = find_work(Scope(db, tenant_id), WorkKind.RECALL, session_id)
            if work is None or work.state != WorkState.READY:
                break
            make_due()
            run_work(work.work_id, handlers, WorkerSettings())


def settle(tenant_id: UUID) -> list[str]:
    """Do all work of the switch and of the index, until there is no more of it; return the outcomes."""
    handlers: dict[WorkKind, Handler] = {
        WorkKind.WAKE: wake_sessions,
        WorkKind.USER_KEYS: key_passages,
        WorkKind.RECALL: lambda held: index_session(held, settings=RecallSettings()),
    }
    outcomes: list[str] = []
    while True:
        with session.read_transaction() as db:
            due = db.scalars(
                select(DueWork.work_id).where(
                    DueWork.tenant_id == tenant_id,
                    DueWork.kind.in_([kind.value for kind in handlers]),
                    DueWork.state == WorkState.READY,
                    DueWork.due_at <= func.now(),
                )
            ).all()
        if not due:
            return outcomes
        outcomes += [run_work(work_id, handlers, WorkerSettings()) for work_id in due]


def ask(client: TestClient, session_id: str = "now", question: str = QUESTION, **body: Any) -> Any:
    """Read a context that recalls the user's other sessions."""
    asked = {
        "model": "gpt-4o",
        "context_window": 16_000,
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": question}],
        "recall": {"scope": "user"},
        "user_id": USER,
        **body,
    }
    answer = client.post(f"/v1/sessions/{session_id}/context", json=asked)
    assert answer.status_code == 200, answer.text
    certificate = answer.json()["certificate"]
    assert certificate["fits"]
    assert sum(block["tokens"] for block in certificate["blocks"]) == certificate["input_tokens"]
    return answer.json()


def status(answer: Any) -> str:
    """Why it shows other sessions, or none."""
    found: str = answer["utilization"]["user_recall"]["status"]
    return found


def region(answer: Any) -> str:
    """The words of other sessions in a window; empty where there are none."""
    texts = [message.get("content") or "" for message in answer["messages"]]
    found = [words for words in texts if words.startswith(f"<{USER_RECALL_TAG}>")]
    assert len(found) <= 1
    return found[0] if found else ""

"""Helpers for tests of prepared summaries: a session whose time can pass, and the job as workers do it."""

from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import text

from context.summary.gate import GateSettings
from llm.settings import LlmSettings
from models import database as session
from models.conversations.settings import compression_settings
from models.due_work.queue import Claim, WorkKind, find_work
from models.scope import Scope
from tests.integration.summarizing import MODEL, Model, Room, dialogue
from workers.jobs.lifecycle import run_work
from workers.jobs.summarize import summarize_session
from workers.settings import WorkerSettings

CHAT = "claude-sonnet-4-5"
PATH = "/v1/sessions/s1"
Answer = dict[str, Any]


class Chat(Room):
    """A session that talks over the API, and a worker that does what is due."""

    def __init__(self, client: TestClient, tenant_id: Any) -> None:
        super().__init__(tenant_id)
        self.client, self.count = client, 0

    def say(self, turns: int = 1, **event: Any) -> None:
        """Post turns."""
        for _ in range(turns):
            self.count += 1
            body = {"turn_id": f"t{self.count}", "messages": dialogue(self.count), "model": CHAT, **event}
            answer = self.client.post(f"{PATH}/turns", json=body)
            assert answer.status_code == 202, answer.text

    def read(self, **request: Any) -> Answer:
        """Ask for the context of the next request."""
        body = {"model": CHAT, "messages": [{"role": "user", "content": "And now?"}], **request}
        answer = self.client.post(f"{PATH}/context", json=body)
        assert answer.status_code == 200, answer.text
        read: Answer = answer.json()
        return read

    def show(self) -> Answer:
        """The session's state."""
        shown: Answer = self.client.get(PATH).json()
        return shown

    def work_off(self, model: Callable[..., Any] | None = None) -> str:
        """Do what is due, with the settings in force; what waits for quiet is due now."""
        self.pass_by(2)
        return run_work(
            self.work.work_id, {WorkKind.SUMMARIZE: self._job(model or Model())}, WorkerSettings()
        )

    @property
    def work_exists(self) -> bool:
        """Whether anything ever asked for a summary."""
        with session.read_transaction() as db:
            return find_work(Scope(db, self.tenant_id), WorkKind.SUMMARIZE, self.session_id) is not None

    def _job(self, model: Callable[..., Any]) -> Callable[[Claim], str]:
        settings = compression_settings()
        return lambda held: summarize_session(
            held,
            complete=model,
            llm=LlmSettings(summarizer_model=MODEL),
            thresholds=settings.thresholds,
            gate=GateSettings(),
            activation=settings.activation_settings,
        )

    def pass_by(self, seconds: float) -> None:
        """Let time pass, for the session and its work."""
        age = "- make_interval(secs => :s)"
        with session.transaction() as db:
            for table, columns in (
                ("session", ("last_turn_at",)),
                ("turn", ("received_at",)),
                ("due_work", ("due_at", "rests_until", "finished_at")),
                ("summary", ("created_at", "activated_at")),
            ):
                changes = ", ".join(f"{column} = {column} {age}" for column in columns)
                db.execute(text(f"update {table} set {changes}"), {"s": seconds})  # noqa: S608

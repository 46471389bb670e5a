"""Helpers for tests of the summarize job: a session with turns, and a model that does as it is told."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import text

from api.turns.intake import TurnCompleted, read_turn, store_turns
from context.summary.extractive import summarize as extractive
from context.summary.gate import GateSettings
from context.summary.trigger import Thresholds
from context.tokens import count_text
from llm.failures import LlmFailure
from llm.requests import CompletionReply, CompletionRequest, Usage
from llm.settings import LlmSettings
from models import database as session
from models.conversations.standing import SessionSnapshot, find_standing
from models.conversations.summary import Summary, list_summaries
from models.due_work.queue import Claim, DueWork, WorkKind, claim, enqueue, find_work
from models.scope import Scope
from workers.jobs.lifecycle import run_work
from workers.jobs.summarize import summarize_session
from workers.settings import WorkerSettings

SESSION = "s1"
MODEL = "some-model"
THRESHOLDS = Thresholds(message_count=6, keep_messages=2, least_share=0, least_tokens=0)

Step = Callable[[], object] | LlmFailure | str


class Model:
    """Answers a call by its next step: do something first, fail, or say these words; else real notes."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.asked: list[CompletionRequest] = []

    def __call__(self, request: CompletionRequest) -> CompletionReply:
        self.asked.append(request)
        step = self._steps.pop(0) if self._steps else None
        if isinstance(step, LlmFailure):
            raise step
        if callable(step):
            step()
        said = step if isinstance(step, str) else notes_of(request)
        return CompletionReply(uuid4(), said, "stop", Usage(), request.model, request.model, None, 0.1)

    @property
    def prompts(self) -> list[str]:
        """What it was shown, instructions apart."""
        return [request.messages[-1]["content"] for request in self.asked]


def notes_of(request: CompletionRequest) -> str:
    """The notes that the built-in model makes of a request."""
    assert request.summary_input is not None
    return extractive.summarize(request.summary_input, count=count_text)


def dialogue(number: int) -> list[dict[str, Any]]:
    """A turn of a plain conversation, with something exact in it to keep."""
    return [
        {
            "role": "user",
            "content": (
                f"Please look at pallet P-{1000 + number} in hall {number}. The driver says that the seal is "
                "broken and that the boxes at the bottom are wet. We must tell the customer before noon, and "
                "I would like to know whether the insurance needs photographs of every single box."
            ),
        },
        {
            "role": "assistant",
            "content": (
                f"I have looked at the record of pallet P-{1000 + number}. It came in at six in the morning "
                "and the seal was noted as whole at the gate. The insurance wants a photograph of each side "
                "and one of the label. I suggest that we move the wet boxes to the drying room first, and "
                "that we write to the customer when we know how many of them are damaged."
            ),
        },
    ]


class Room:
    """One session, its due work, and the means to do it."""

    def __init__(self, tenant_id: UUID, session_id: str = SESSION) -> None:
        self.tenant_id, self.session_id, self._turns = tenant_id, session_id, 0

    def add_turns(self, count: int) -> None:
        """Post more of the plain conversation."""
        for _ in range(count):
            self.add(*dialogue(self._turns + 1))

    def add(
        self, *messages: dict[str, Any], speaker: str | None = None, completed_at: datetime | None = None
    ) -> None:
        """Post one turn, as the API does."""
        self._turns += 1
        event = TurnCompleted(
            turn_id=f"t{self._turns}", messages=list(messages), speaker=speaker, completed_at=completed_at
        )
        with session.transaction() as db:
            store_turns(Scope(db, self.tenant_id), [read_turn(self.session_id, event).turn])

    def want(self) -> int:
        """Make a summary due. Returns the work's id."""
        with session.transaction() as db:
            enqueue(Scope(db, self.tenant_id), WorkKind.SUMMARIZE, self.session_id)
        return self.work.work_id

    def claim(self, lease_s: float = 60) -> Claim:
        """Lease the work, which must be due."""
        wanted = self.want()
        with session.transaction() as db:
            held = claim(db, wanted, lease_s=lease_s, max_crashes=99)
        assert held is not None
        return held

    def expire_lease(self) -> None:
        """Let the present lease run out."""
        with session.transaction() as db:
            db.execute(
                text("update due_work set lease_until = now() - interval '1 s' where lease is not null")
            )

    def summarize(self, model: Model, held: Claim | None = None, **settings: Any) -> str:
        """Call the job itself, under a lease of its own where none is given."""
        return summarize_session(
            held or self.claim(),
            complete=model,
            llm=LlmSettings(**{"summarizer_model": MODEL, **settings}),
            thresholds=THRESHOLDS,
            gate=GateSettings(),
        )

    def run(self, model: Model, **settings: Any) -> str:
        """Ask for the work and do it as a worker does, failures included."""
        self.want()
        return self.do(model, **settings)

    def do(self, model: Model, **settings: Any) -> str:
        """Do what is due, and only that."""
        return run_work(
            self.work.work_id,
            {WorkKind.SUMMARIZE: lambda held: self.summarize(model, held, **settings)},
            WorkerSettings(backoff_s=60, max_attempts=3),
        )

    @property
    def work(self) -> DueWork:
        """Its due work."""
        with session.read_transaction() as db:
            found = find_work(Scope(db, self.tenant_id), WorkKind.SUMMARIZE, self.session_id)
        assert found is not None
        return found

    @property
    def standing(self) -> SessionSnapshot:
        """Where the session stands."""
        with session.read_transaction() as db:
            found = find_standing(Scope(db, self.tenant_id), self.session_id)
        assert found is not None
        return found

    @property
    def summaries(self) -> list[Summary]:
        """Every version, oldest first."""
        with session.read_transaction() as db:
            return list_summaries(Scope(db, self.tenant_id), self.session_id)[::-1]

    @property
    def states(self) -> list[str]:
        """The state of every version, oldest first."""
        return [summary.state for summary in self.summaries]

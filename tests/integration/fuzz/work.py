"""The background beside the traffic: due work is done at once, by the real jobs and the built-in model."""

from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import text

from models import database as session
from models.due_work.fair_claim import Turns, claim_next
from models.due_work.queue import Claim, WorkKind, enqueue
from models.retention.tenant_policy import OPERATOR, RETENTION
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.fuzz.door import Door, Fault
from workers.jobs.lifecycle import do_work
from workers.settings import worker_settings
from workers.tasks import _handlers

_MAKE_DUE = text("update due_work set due_at = now() where state = 'ready'")
_BEFORE_ALL = text(
    "update due_work set due_at = now() - interval '1 hour' where state = 'ready' and key = :key"
)
_GIVEN_UP = text("select kind, key, last_error from due_work where state = 'dead'")


@dataclass
class Background:
    """Does what is due.

    Attributes:
        door: Where faults go.
        outcomes: What came of it, by kind.
        turns: Whose turn it is.
    """

    door: Door
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    turns: Turns = field(default_factory=Turns)

    def work(self, most: int = 20, first: str = "") -> None:
        """Do what is due, or will be in a moment; that of one session or artifact before all other."""
        with session.transaction() as db:
            operator = ensure_tenant(db, OPERATOR)
            for key in ("tables", RETENTION):
                enqueue(Scope(db, operator), WorkKind.SWEEP, key)
            db.execute(_MAKE_DUE)
            db.execute(_BEFORE_ALL, {"key": first})
        for _ in range(most):
            held = self._next()
            if held is None:
                return
            outcome = do_work(held, _handlers(), worker_settings())
            self.outcomes[held.kind, outcome.split(":")[0][:60].rstrip("0123456789. s")] += 1
            if outcome.startswith("put off"):
                self.door.faults.append(Fault(f"work {held.kind}: {outcome}"))

    def _next(self) -> Claim | None:
        settings = worker_settings()
        with session.transaction() as db:
            return claim_next(
                db,
                list(WorkKind),
                self.turns,
                isolated=True,
                lease_s=settings.lease_s,
                max_crashes=settings.max_crashes,
            ).held

    def given_up(self) -> int:
        """Blame for every piece of work that was given up. Returns how many."""
        with session.read_transaction() as db:
            dead = db.execute(_GIVEN_UP).all()
        self.door.faults += [Fault(f"work was given up: {row}") for row in dead]
        return len(dead)

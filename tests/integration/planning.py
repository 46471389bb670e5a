"""Helpers for tests of plans: a catalog, a scripted model behind the real gateway, and the work done."""

from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient

from context.providers.profiles import ProfileOverride, Tier
from llm.gateway import Gateway
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models import database as session
from models.catalogs.model_profile import set_override
from models.due_work.queue import DueWork, WorkKind, find_work
from models.ledger.caps import Caps
from models.plans.plan import Plan, find_plan
from models.scope import Scope
from tests.unit.tool_plans.catalogs import large_guide
from workers.jobs.lifecycle import run_work
from workers.jobs.tool_plan import make_plan
from workers.settings import WorkerSettings

CATALOG = "main"
MODEL = "openai/scripted"
"""A model that no profile knows: tier C."""


class Planning:
    """One tenant with a catalog, and the means to ask for plans and to have them made."""

    def __init__(self, client: TestClient, tenant_id: UUID, server: ScriptedServer) -> None:
        self.client, self.tenant_id, self.server = client, tenant_id, server
        self.put_catalog(large_guide())

    def put_catalog(self, guide: dict[str, Any], name: str = CATALOG) -> None:
        """Store a catalog as a client does."""
        answer = self.client.put(f"/v1/catalogs/{name}", json=guide)
        assert answer.status_code < 300, answer.text

    def set_profile(self, **fields: Any) -> None:
        """Say of the model what no profile says."""
        with session.transaction() as db:
            set_override(Scope(db, self.tenant_id), ProfileOverride(MODEL, **fields))

    def make_strong(self, **fields: Any) -> None:
        """Let the model pass for one of the most reliable."""
        known = {"tier": Tier.A, "input_tokens": 100_000, "catalog_bytes": 0, **fields}
        self.set_profile(**known)

    def ask(self, intent: str, **fields: Any) -> UUID:
        """Ask for a plan. Returns its id."""
        answer = self.client.post(
            "/v1/plans", json={"intent": intent, "catalog": CATALOG, "model": MODEL, **fields}
        )
        assert answer.status_code == 202, answer.text
        return UUID(answer.json()["plan_id"])

    def find_work(self, plan_id: UUID) -> DueWork | None:
        """The plan's due work, as long as there is any."""
        with session.read_transaction() as db:
            return find_work(Scope(db, self.tenant_id), WorkKind.PLAN, str(plan_id))

    def work(self, plan_id: UUID) -> DueWork:
        """The plan's due work, which must be there."""
        found = self.find_work(plan_id)
        assert found is not None
        return found

    def do(
        self, plan_id: UUID, *steps: Step | Mode, caps: Caps | None = None, wait_s: float = 900, **llm: Any
    ) -> str:
        """Do the plan's work as a worker does, the model answering by these steps first."""
        self.server.next(*steps)
        settings = LlmSettings(llm_api_base=self.server.base_url, llm_api_key="sk-test", **llm)
        gateway = Gateway(settings, caps or Caps())
        return run_work(
            self.work(plan_id).work_id,
            {WorkKind.PLAN: lambda held: make_plan(held, complete=gateway.complete, most_wait_s=wait_s)},
            WorkerSettings(backoff_s=60, max_attempts=3),
        )

    def plan(self, plan_id: UUID) -> Plan:
        """The plan's row."""
        with session.read_transaction() as db:
            found = find_plan(Scope(db, self.tenant_id), plan_id)
        assert found is not None
        return found

    def make(self, intent: str, *steps: Step | Mode, **fields: Any) -> Plan:
        """Ask for a plan, have it made, and read it."""
        plan_id = self.ask(intent, **fields)
        self.do(plan_id, *steps)
        return self.plan(plan_id)


def tools_of(plan: Plan) -> list[str]:
    """The tools of a plan's steps."""
    return [step["tool"] for step in plan.steps]

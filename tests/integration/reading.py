"""Helpers for tests of artifacts in windows: a platform with a tool, a scripted model, and the work done."""

from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient

from llm.gateway import Gateway
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models import database as session
from models.artifacts.settings import PlanningSettings
from models.due_work.queue import DueWork, WorkKind, find_work
from models.ledger.caps import Caps
from models.scope import Scope
from workers.jobs.artifact_plan import plan_contexts
from workers.jobs.lifecycle import run_work
from workers.jobs.precompute import precompute_artifact
from workers.settings import PrecomputeSettings, WorkerSettings

TTL_S = 86_400.0
PLAIN = [
    "The pallet stands in hall seven and waits for its papers.",
    "Rain is expected in the harbour on Thursday and on Friday.",
    "The crane in hall two is being painted by the night shift.",
    "Boxes with a red label are opened by the customs office only.",
]
FACT = "Container MSKU-481516 leaves berth 23 at 06:40 on 14 May with 117 crates of valves."


def long_report(fact: str = FACT, *, lines: int = 400) -> str:
    """A report of some 24,000 characters with one exact fact in the middle, out of sight of any preview."""
    rows = [f"{number}. {PLAIN[number % len(PLAIN)]}" for number in range(lines)]
    rows[lines // 2] = fact
    return "\n".join(rows)


class Platform:
    """A chat platform with one session, whose turns call tools."""

    def __init__(
        self, client: TestClient, tenant_id: UUID, server: ScriptedServer, session_id: str = "s1"
    ) -> None:
        self.client, self.tenant_id, self.server, self.session_id = client, tenant_id, server, session_id
        self._turns = 0

    def turn(self, question: str, *results: str, tool: str = "read_report", end: bool = True) -> None:
        """A finished turn in which a tool returned these texts; with `end` False it goes on."""
        self._turns += 1
        messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        for place, text in enumerate(results):
            call_id = f"c{self._turns}_{place}"
            function = {"name": tool, "arguments": f'{{"path": "report-{self._turns}-{place}.txt"}}'}
            call = {"id": call_id, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
        if end:
            messages.append({"role": "assistant", "content": "I have read it."})
        answer = self.client.post(
            f"/v1/sessions/{self.session_id}/turns", json={"turn_id": f"t{self._turns}", "messages": messages}
        )
        assert answer.status_code == 202, answer.text

    def ask(self, question: str = "And now?", **fields: Any) -> dict[str, Any]:
        """The answer to a context request with a new message."""
        messages = [{"role": "user", "content": question}]
        request = {"model": "gpt-4o", "context_window": 16_384, "messages": messages, **fields}
        answer = self.client.post(f"/v1/sessions/{self.session_id}/context", json=request)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        assert found["certificate"]["fits"]
        return found

    def work(self, kind: WorkKind, key: str) -> DueWork | None:
        """A piece of this tenant's work, where anything asked for it."""
        with session.read_transaction() as db:
            return find_work(Scope(db, self.tenant_id), kind, key)

    def do(
        self,
        kind: WorkKind,
        key: str,
        *steps: Step | Mode,
        caps: Caps | None = None,
        settings: PrecomputeSettings | None = None,
        planning: PlanningSettings | None = None,
        **llm: Any,
    ) -> str:
        """Do a piece of work as a worker does, the scripted model answering by these steps first."""
        self.server.next(*steps)
        models = {"llm_api_base": self.server.base_url, "llm_api_key": "sk-test", **llm}
        chosen = LlmSettings(
            **{"summarizer_model": "openai/scripted", "context_planner_model": "openai/scripted", **models}
        )
        complete = Gateway(chosen, caps or Caps()).complete
        bounds = settings or PrecomputeSettings()
        with session.transaction() as db:
            db.exec_driver_sql("update due_work set due_at = now() - interval '1 s' where state = 'ready'")
        found = self.work(kind, key)
        assert found is not None
        return run_work(
            found.work_id,
            {
                WorkKind.ARTIFACT: lambda held: precompute_artifact(
                    held, complete=complete, llm=chosen, settings=bounds, ttl_s=TTL_S, planning=planning
                ),
                WorkKind.CONTEXT_PLAN: lambda held: plan_contexts(held, complete=complete, llm=chosen),
            },
            WorkerSettings(backoff_s=60, max_attempts=3),
        )


def shown_artifacts(answer: dict[str, Any]) -> str:
    """The region of a window that shows artifacts; empty where it shows none."""
    texts = (message.get("content") for message in answer["messages"])
    return next(
        (text for text in texts if isinstance(text, str) and text.startswith("<prepared_artifacts>")), ""
    )

"""The scripted model of the background: notes as ever, and plans of artifacts as a model would write them."""

import json
import signal
import sys
from dataclasses import replace

from context.types import JsonObject
from llm.scripted import Recorded, ScriptedServer
from llm.scripted.steps import Mode, Step

PLAN = "artifact_plan"
SUMMARIZED, LOOKED_UP = 1, 2
"""The first candidate is summarized, so many of the next are searched, the others left out."""


class Planner(ScriptedServer):
    """Answers what it is asked for, at once, and keeps nothing."""

    def record(self, body: JsonObject) -> tuple[Recorded, int]:
        """Choose the answer by what the request asks for."""
        recorded, number = super().record({"model": body.get("model", "")})
        self.requests.clear()
        plan = plan_of(body)
        step = Step(Mode.SUMMARY if plan is None else Mode.OK, text=plan)
        return replace(recorded, step=step), number


def plan_of(body: JsonObject) -> str | None:
    """Write the plan that a request asks for, by its schema; None where it asks for something else."""
    schema = (body.get("response_format") or {}).get("json_schema") or {}
    if schema.get("name") != PLAN:
        return None
    decision = schema["schema"]["properties"]["artifacts"]["items"]["properties"]
    chosen = [
        {
            "artifact_id": name,
            "strategy": _strategy(place),
            "priority": place + 1,
            "relevance_rationale": "by its place",
            "summarization_focus": None,
            "extraction_query": None,
        }
        for place, name in enumerate(decision["artifact_id"]["enum"])
    ]
    return json.dumps({"reasoning": "in their order", "artifacts": chosen})


def _strategy(place: int) -> str:
    if place < SUMMARIZED:
        return "summarize"
    return "rag_extract" if place < SUMMARIZED + LOOKED_UP else "exclude"


def main() -> None:
    """Print one JSON line with the address, then answer until SIGTERM."""
    server = Planner()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"base_url": server.base_url}), flush=True)
    server.serve()


if __name__ == "__main__":
    main()

"""The scripted model of the background: notes as ever, and plans of artifacts as a model would write them."""

import json
import re
import signal
import sys
from dataclasses import replace

from context.conversation.transcript import TRANSCRIPT_TAG
from context.precompute.prompt import DOCUMENT_TAG
from context.types import JsonObject
from llm.scripted import Recorded, ScriptedServer
from llm.scripted.answers import prompt_text, summarize_prompt
from llm.scripted.steps import Mode, Step

PLAN = "artifact_plan"
OURS = (TRANSCRIPT_TAG, DOCUMENT_TAG)
_BETWEEN = re.compile(r"<messages>\n(.*)\n?</messages>", re.DOTALL)
SUMMARIZED, LOOKED_UP = 1, 2
"""The first candidate is summarized, so many of the next are searched, the others left out."""


class Planner(ScriptedServer):
    """Answers what it is asked for, at once, and keeps nothing."""

    def record(self, body: JsonObject) -> tuple[Recorded, int]:
        """Choose the answer by what the request asks for."""
        recorded, number = super().record({"model": body.get("model", "")})
        self.requests.clear()
        text = plan_of(body) or quoted(notes_for_others(body) or summarize_prompt(body))
        return replace(recorded, step=Step(Mode.OK, text=text)), number


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


def notes_for_others(body: JsonObject) -> str | None:
    """Write the same notes for a system whose prompt has other wrappers; None for a prompt of ours.

    LangChain puts a conversation between tags into one message, langmem asks behind the messages themselves.
    """
    texts = [prompt_text({"messages": [message]}) for message in body.get("messages") or ()]
    if any(f"<{tag}" in text for tag in OURS for text in texts) or not texts:
        return None
    inside = _BETWEEN.search(texts[-1])
    said = inside[1] if inside else "\n".join(texts[:-1])
    if not said.strip():
        return None
    source = f"<{TRANSCRIPT_TAG}>\n{said}\n</{TRANSCRIPT_TAG}>"
    return summarize_prompt({**body, "messages": [{"role": "user", "content": source}]})


def quoted(notes: str) -> str:
    """Put what speakers said in quotation marks, so that no note speaks for itself in the first person."""
    lines = []
    for line in notes.split("\n"):
        is_point = line.startswith("- ") and " " in line[2:].strip()
        who, colon, words = line[2:].partition(": ")
        said = (words if colon else who).strip('"').replace('"', "'")
        head = f"- {who}: " if colon else "- "
        lines.append(f'{head}"{said}"' if is_point else line)
    return "\n".join(lines)


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

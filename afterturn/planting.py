"""Plant known facts in a session, let it be summarized, and ask for each whether a window holds it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from afterturn.client import Client
from context.shadow.parts import Part
from context.shadow.planted import PLANTED, planted_turns
from context.types import JsonObject

MODEL = "gpt-4o"
WINDOW = {"model": MODEL, "context_window": 16_000, "max_tokens": 500}
SMALL = {"model": MODEL, "context_window": 4_000, "max_tokens": 500}
"""Windows: one that takes all of the conversation, and one that calls for a summary of it."""

PAUSE_S = 0.5


@dataclass(frozen=True)
class Probe:
    """One question, and which windows hold its fact.

    Attributes:
        question: What is asked.
        served: Whether raw history holds it.
        would: The same of the window with each part, by name.
        served_tokens: What the raw window takes.
        would_tokens: The same of the others, by name.
    """

    question: str
    served: bool
    would: Mapping[str, bool]
    served_tokens: int
    would_tokens: Mapping[str, int]


def plant_and_probe(
    client: Client,
    *,
    session_id: str = "",
    wait_s: float = 60.0,
    pause: Callable[[float], object] = time.sleep,
) -> list[Probe]:
    """Tell the conversation, wait for its summary, and ask every question.

    Args:
        client: The API, with a key that may write and administer.
        session_id: The session, which must be new; empty for one with a name of its own.
        wait_s: How long to wait for the summary, in seconds; without one every fact is there.
        pause: Waits for so many seconds.

    Raises:
        ApiError: The API refuses; says why.
        UnreachableError: Nothing answers.
    """
    name = session_id or f"planted-{uuid4().hex[:12]}"
    for number, (said, answer) in enumerate(planted_turns(), 1):
        client.record_turn(name, _turn(number, said, answer))
    _await_summary(client, name, wait_s, pause)
    return [_probe(client, name, planted.question, planted.fact) for planted in PLANTED]


def _turn(number: int, said: str, answer: str) -> JsonObject:
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    return {"turn_id": f"planted-{number}", "messages": messages, "model": MODEL}


def _await_summary(client: Client, session_id: str, wait_s: float, pause: Callable[[float], object]) -> None:
    """Read in a window that is too small until the summary is in force: what presses is activated at once."""
    asked = {**SMALL, "messages": [{"role": "user", "content": "How far are we?"}]}
    for _ in range(int(wait_s / PAUSE_S) + 1):
        client.context(session_id, asked)
        if client.session(session_id)["tokens"]["summary"]:
            return
        pause(PAUSE_S)


def _probe(client: Client, session_id: str, question: str, fact: str) -> Probe:
    asked = {**WINDOW, "messages": [{"role": "user", "content": question}], "facts": [fact]}
    found = client.probe(session_id, {**asked, "parts": [Part.SUMMARIES]})
    would = found["would_be"]
    return Probe(
        question,
        found["served"]["held"][0],
        {name: one["held"][0] for name, one in would.items()},
        found["served"]["certificate"]["input_tokens"],
        {name: one["certificate"]["input_tokens"] for name, one in would.items()},
    )

"""Test with planted facts: store known facts in a session, wait for a summary, and probe each fact."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from afterturn.client import Client
from context.shadow.planted import PLANTED, planted_turns
from context.shadow.verdict import ShadowPart
from context.types import JsonObject

MODEL = "gpt-4o"
WINDOW = {"model": MODEL, "context_window": 16_000, "max_tokens": 500}
SMALL = {"model": MODEL, "context_window": 4_000, "max_tokens": 500}
"""Window sizes: large enough for the whole conversation, and small enough to need a summary."""

PAUSE_S = 0.5


@dataclass(frozen=True)
class Probe:
    """A question with the windows holding its fact.

    Attributes:
        question: The question.
        served: True if raw history holds the fact.
        would: Presence of the fact in the window with each part, by name.
        served_tokens: Tokens of the raw window.
        would_tokens: Tokens of the other windows, by name.
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
    """Store the conversation, wait for its summary, and ask every question.

    Args:
        client: The API, with a key for writing and administration.
        session_id: The session, not yet existing; empty for a generated name.
        wait_s: Longest wait for the summary, in seconds; without a summary every fact is present.
        pause: Waits for a number of seconds.

    Raises:
        ApiError: The API refuses, with the reason.
        UnreachableError: The API does not answer.
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
    """Read in a too small window until the summary is in force: under pressure, activation is immediate."""
    asked = {**SMALL, "messages": [{"role": "user", "content": "How far are we?"}]}
    for _ in range(int(wait_s / PAUSE_S) + 1):
        client.context(session_id, asked)
        if client.session(session_id)["tokens"]["summary"]:
            return
        pause(PAUSE_S)


def _probe(client: Client, session_id: str, question: str, fact: str) -> Probe:
    asked = {**WINDOW, "messages": [{"role": "user", "content": question}], "facts": [fact]}
    found = client.probe(session_id, {**asked, "parts": [ShadowPart.SUMMARIES]})
    would = found["would_be"]
    return Probe(
        question,
        found["served"]["held"][0],
        {name: one["held"][0] for name, one in would.items()},
        found["served"]["certificate"]["input_tokens"],
        {name: one["certificate"]["input_tokens"] for name, one in would.items()},
    )

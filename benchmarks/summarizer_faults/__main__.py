"""Measure a chat of 40 turns while the summarizer's provider fails or hangs, and while a process dies.

A scripted model answers the chat at once, and fails under the summarizer's name. The first turn states a
rule. Ours is the service with its Postgres; the peer is LangChain's middleware, whose checkpointer keeps
messages in the process.

python -m benchmarks.summarizer_faults [--peers clients/python/.venv/bin/python]
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any, cast

import httpx
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save
from llm.scripted import Mode, ScriptedServer, Step

MODEL, WINDOW, LIMIT_S, TURNS = "gpt-4o", 2_000, 10.0, 40
RULE = "Gateway GW-3 is never restarted between 06:00 and 09:00."
PEER = Path(__file__).parent / "peer.py"
TALK = (
    "Hall {hall} reports {number} pallets and a broken lamp, and the night shift asks for the list of doors. "
)
QUESTIONS = [
    RULE,
    *(f"Day {n}: " + TALK.format(hall=n % 7, number=n * 3) * 2 for n in range(2, TURNS)),
    "May I restart GW-3 at 07:00?",
]


@dataclass(frozen=True)
class Fault:
    """A fault of the trial.

    Attributes:
        name: What happens.
        summarizer: Name of the summarizer's model; the scripted model goes by its end.
        kills: Whether the process at work is killed in the middle of the chat.
    """

    name: str
    summarizer: str
    kills: bool = False


FAULTS = (
    Fault("none", "scripted-summary"),
    Fault("the summarizer's provider answers 500", "scripted-500"),
    Fault("the summarizer's provider hangs", "scripted-hang"),
    Fault("the process that summarizes is killed", "scripted-summary", kills=True),
)


@dataclass(frozen=True)
class Reading:
    """How a chat went.

    Attributes:
        system: Who kept its history.
        fault: The fault.
        answered: Turns with an answer within the limit.
        usual_ms: Median of the time of a turn, model included.
        longest_s: The longest time of a turn.
        rule_shown: Whether the last request showed the rule of the first turn.
    """

    system: str
    fault: str
    answered: int
    usual_ms: float
    longest_s: float
    rule_shown: bool


def ours(fault: Fault, provider: ScriptedServer) -> Iterator[dict[str, Any]]:
    """Talk with the service behind the chat."""
    given = {"SUMMARIZER_MODEL": f"openai/{fault.summarizer}", "CONTEXT_PLANNER_MODEL": "extractive"}
    os.environ.update(given, AFTERTURN_LLM_API_BASE=provider.base_url, OPENAI_API_KEY="none")
    roles = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)
    with Stack(roles=roles) as stack, httpx.Client(timeout=LIMIT_S) as http:
        key = {"Authorization": f"Bearer {stack.at.api_key}"}
        place = f"{stack.at.base_url}/v1/sessions/chat"
        for number, question in enumerate(QUESTIONS):
            if fault.kills and number == TURNS // 2:
                os.kill(stack.at.pids[StackRole.WORKER], signal.SIGKILL)
            begun = time.monotonic()
            error = None
            said = [{"role": "user", "content": question}]
            asked = {"model": MODEL, "context_window": WINDOW, "max_tokens": 300, "messages": said}
            try:
                window = http.post(f"{place}/context", json=asked, headers=key).raise_for_status().json()
                sent = {"model": MODEL, "messages": window["messages"]}
                answer = (
                    http.post(f"{provider.base_url}/chat/completions", json=sent).raise_for_status().json()
                )
                turn = {"turn_id": str(number), "messages": [*said, answer["choices"][0]["message"]]}
                http.post(f"{place}/turns", json={**turn, "model": MODEL}, headers=key).raise_for_status()
            except httpx.HTTPError as caught:
                error = type(caught).__name__
            yield {"wait_s": time.monotonic() - begun, "error": error}


def peer(python: str, fault: Fault, provider: ScriptedServer) -> Iterator[dict[str, Any]]:
    """Talk with the peer; a killed chat goes on in a new process."""
    middle = TURNS // 2 if fault.kills else TURNS
    for questions in filter(None, (QUESTIONS[:middle], QUESTIONS[middle:])):
        trial = {
            "model_url": provider.base_url,
            "model": MODEL,
            "summarizer": fault.summarizer,
            "window": WINDOW,
            "limit_s": LIMIT_S,
            "questions": questions,
        }
        with subprocess.Popen([python, PEER], stdin=PIPE, stdout=PIPE, text=True) as process:  # noqa: S603
            to, back = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
            to.write(json.dumps(trial))
            to.close()
            for _ in questions:
                yield json.loads(back.readline())
            process.kill()


def measure(
    system: str, fault: Fault, talk: Callable[[Fault, ScriptedServer], Iterator[dict[str, Any]]]
) -> Reading:
    """Talk once under a fault."""
    with ScriptedServer(default=Step(Mode.OK)) as provider:
        turns = list(talk(fault, provider))
        shown = [
            json.dumps(request.body["messages"]) for request in provider.requests if request.model == MODEL
        ]
        provider.release()
    waits = [turn["wait_s"] for turn in turns]
    answered = [turn for turn in turns if turn["error"] is None and turn["wait_s"] <= LIMIT_S]
    return Reading(
        system,
        fault.name,
        len(answered),
        statistics.median(waits) * 1_000,
        max(waits),
        "never restarted" in (shown or [""])[-1],
    )


def main() -> None:
    """Measure every system under every fault, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peers", help="an interpreter of an environment with langchain and langchain-openai"
    )
    python = parser.parse_args().peers
    systems: dict[str, Callable[[Fault, ScriptedServer], Iterator[dict[str, Any]]]] = {"ours": ours}
    if python:
        systems["LangChain's middleware"] = lambda fault, provider: peer(python, fault, provider)
    readings = []
    for fault in FAULTS:
        for system, talk in systems.items():
            readings.append(measure(system, fault, talk))
            print(readings[-1], flush=True)
    table = Table(title=f"A chat of {TURNS} turns in a window of {WINDOW:,} tokens")
    for name in (
        "fault",
        "system",
        f"answered within {LIMIT_S:g} s",
        "usual, ms",
        "longest, s",
        "rule shown",
    ):
        table.add_column(name)
    for one in readings:
        shown = "yes" if one.rule_shown else "no"
        row = (one.fault, one.system, str(one.answered), f"{one.usual_ms:.0f}", f"{one.longest_s:.2f}", shown)
        table.add_row(*row)
    Console().print(table)
    save("summarizer_faults", [asdict(one) for one in readings])


if __name__ == "__main__":
    main()

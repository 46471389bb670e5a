"""Summarize conversations by a small real model, offline: `make soak-model`.

Starts a stack with the built-in summarizer, then a model server and a stack with the model, over the same
conversations in windows of 4,000 tokens. Prints accepted, repaired and refused summaries with the reasons,
names and figures in force that nobody said, planted facts that are kept, and the time until the built-in
summary stands in. Exit 1 where a call failed, or where notes in force hold something that nobody said.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from afterturn.stack.stack import Stack
from benchmarks.real_model.results import NOTHING, Session, show, summarize_run
from benchmarks.real_model.talks import read_talks
from benchmarks.report import RESULTS, save
from benchmarks.served.door import MODEL, ROLES, Door, connections
from benchmarks.served.talks import Talk, window_texts
from llm.settings import EXTRACTIVE

HERE = Path(__file__).parent
WINDOW = 4_000
MAX_TOKENS = 500
NAME = "openai/smollm2-135m-instruct"
PARTS = 2
"""Parts of a conversation, posted one after another, so that a summary is also written on a summary."""

SLOW = {
    "SUMMARIZER_MODEL": NAME,
    "OPENAI_API_KEY": "none",
    "AFTERTURN_LLM_DEADLINE_BASE_S": "550",
    "AFTERTURN_LLM_DEADLINE_MAX_S": "600",
    "AFTERTURN_SUMMARIZER_WINDOW_TOKENS": "8000",
    "AFTERTURN_SUMMARIZER_MAX_OUTPUT_TOKENS": "300",
    "AFTERTURN_LLM_PRICES": f'{{"{NAME}": {{"input": 0, "output": 0}}}}',
}
"""Settings for a model of some tokens a second."""


def main() -> int:
    """Run both sides, show and keep the numbers. Returns the exit code."""
    asked = _asked()
    talks = list(read_talks(asked.data, each=asked.each, most_tokens=asked.tokens))
    print(f"{len(talks)} conversations of {sum(talk.tokens for talk in talks):,} tokens", flush=True)
    usual = {"CONTEXT_PLANNER_MODEL": EXTRACTIVE, "AFTERTURN_ACTIVATION": "immediate"}
    plain, failures = _run(talks, {**usual, "SUMMARIZER_MODEL": EXTRACTIVE}, asked)
    with _model(asked.python, asked.model) as address:
        real, more = _run(talks, {**usual, **SLOW, "AFTERTURN_LLM_API_BASE": f"{address}/v1"}, asked)
    sides = {"model": real[1], "built-in": plain[1]}
    show(sides)
    _tell(real[0], whole=asked.show)
    save("real_model", {"sides": sides, "sessions": [_record(one) for one in real[0]]})
    for line in (*failures, *more):
        print(line)
    return 1 if failures or more or real[1][f"in force, {NOTHING}"] else 0


Side = tuple[list[Session], dict[str, Any]]


def _run(
    talks: Sequence[Talk], environment: Mapping[str, str], asked: argparse.Namespace
) -> tuple[Side, list[str]]:
    os.environ.update(environment)
    with Stack(roles=ROLES) as stack, connections(stack.at.base_url, stack.at.api_key) as http:
        door = Door(http, stack.at.database_url)
        sessions = [Session(talk, f"real-{talk.name}") for talk in talks]
        for part in range(PARTS):
            for session in sessions:
                _post(door, session, part)
            rested_s = door.rest([session.name for session in sessions], asked.minutes * 60 / PARTS)
            print(
                f"{environment['SUMMARIZER_MODEL']}: part {part + 1} at rest after {rested_s:.0f} s",
                flush=True,
            )
        for session in sessions:
            _read(door, session)
        return (sessions, summarize_run(sessions, stack.at.directory / "logs/worker.log")), door.failures


def _post(door: Door, session: Session, part: int) -> None:
    turns = session.talk.turns
    places = [len(turns) * place // PARTS for place in range(PARTS + 1)]
    for turn in turns[places[part] : places[part + 1]]:
        body = {"model": MODEL, "context_window": WINDOW, **turn.event}
        door.call("POST", f"/v1/sessions/{session.name}/turns", json.dumps(body).encode())
    session.posted.append(datetime.now(UTC))


def _read(door: Door, session: Session) -> None:
    for ask in session.talk.asks:
        request = {
            "model": MODEL,
            "context_window": WINDOW,
            "max_tokens": MAX_TOKENS,
            "messages": [ask.message],
        }
        if (answer := door.context(session.name, request)) is not None:
            session.served.append(ask.gold.grade(window_texts(answer["messages"])).share)
    found = door.call("GET", f"/v1/sessions/{session.name}/summaries")
    session.versions = sorted(found["summaries"] if found else [], key=lambda one: int(one["version"]))


@contextmanager
def _model(python: Path, weights: Path | None) -> Iterator[str]:
    """Run the model's server for the time of the block. Yields its address."""
    command = [str(python), str(HERE / "serve.py"), *([str(weights)] if weights else [])]
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "real_model.log").open("wb") as log:
        server = subprocess.Popen(  # noqa: S603 (our own command)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            if not address:
                sys.exit(f"the model's server did not start; see {log.name}")
            yield address
        finally:
            server.terminate()
            server.communicate()


def _tell(sessions: Sequence[Session], *, whole: bool) -> None:
    """Print each version of the model; texts where asked."""
    for session in sessions:
        for one in session.versions:
            verdict = f"{one['rejected_because'] or one['state']}, {one['tokens']} tokens"
            print(f"{session.name} {one['from_seq']}-{one['to_seq']} {one['method']}: {verdict}")
            if whole:
                print("    " + one["text"].replace("\n", "\n    "))
        if invented := session.invented():
            print(f"{session.name}: {NOTHING}: {', '.join(invented)}")


def _record(session: Session) -> dict[str, Any]:
    return {**asdict(session), "talk": session.talk.name, "posted": [at.isoformat() for at in session.posted]}


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data = Path(os.environ.get("AFTERTURN_DATA", HERE.parents[2] / "shared/data"))
    parser.add_argument("--data", type=Path, default=data, help="the folder that holds a folder for each set")
    parser.add_argument("--each", type=int, default=2, help="conversations of each shared set")
    parser.add_argument("--tokens", type=int, default=6_000, help="the longest part of a conversation")
    parser.add_argument("--minutes", type=float, default=60, help="the longest wait for the background")
    parser.add_argument(
        "--python", type=Path, default=HERE / ".venv/bin/python", help="of the model's environment"
    )
    parser.add_argument("--model", type=Path, help="another GGUF file")
    parser.add_argument("--show", action="store_true", help="print the texts")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

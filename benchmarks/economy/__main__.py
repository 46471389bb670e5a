"""What the background costs and what it saves: `python -m benchmarks.economy --sets tau_airline,bfcl_memory`.

Conversations are lived through in lockstep: before each turn (with --steps before some of its answers) a
context is read, then the background comes to rest, then the turn is posted, and it rests again. A scripted
model with the price of a small real one writes its notes; it counts its tokens by characters. Beside it
stands a platform that sends whole turns and cuts the oldest. Money is at list prices for a large model that
answers, without a prefix cache and with cached input at 50 % and 10 % of its price. Exit 1 on failures.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from afterturn.stack.compose import ROOT
from benchmarks.economy.beside import Peer, run_peers
from benchmarks.economy.lockstep import Outcome, live_through
from benchmarks.economy.shown import peer_rows, row_of, show, show_peers, total
from benchmarks.economy.talks import COURSES, Course
from benchmarks.report import save
from benchmarks.served.door import open_door
from benchmarks.served.files import NoDataError

WINDOWS = (8_000, 32_000, 128_000)
MODEL = "openai/gpt-4o-mini"
"""What the scripted model is called: its list price is known."""


def main() -> int:
    """Measure the sets that are there, print the tables, keep the numbers. Returns the exit code."""
    asked = _asked()
    courses = _courses(asked)
    if not courses:
        print("nothing to measure")
        return 1
    outcomes: list[Outcome] = []
    failures: list[str] = []
    peers: list[Peer] = []
    with scripted_model() as url:
        os.environ.update(settings(url))
        for window in asked.windows:
            # A stack for each: no window profits from what another has read.
            with open_door(None, None, model=MODEL) as door:
                outcomes += live_through(
                    door,
                    courses,
                    window,
                    steps=asked.steps,
                    rest_s=asked.rest_s,
                    tell=_tell,
                    budget=asked.budget,
                )
                failures += door.failures
            if asked.peers:
                peers += run_peers(asked.peers, courses, window, url, steps=asked.steps)
    rows = [row_of(one) for one in (*outcomes, *total(outcomes))]
    others = peer_rows(peers, outcomes)
    show(rows)
    if others:
        show_peers(others)
    _show_failures(failures)
    found = {"rows": rows, "peers": others, "failures": failures[:100]}
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    else:
        save("economy", found)
    return 1 if failures else 0


def settings(model_url: str) -> dict[str, str]:
    """The model behind the gateway, caps that no run reaches, and short waits for quick turns."""
    return {
        "AFTERTURN_LLM_API_BASE": model_url,
        "AFTERTURN_LLM_API_KEY": "sk-of-the-scripted-model",
        "AFTERTURN_SUMMARIZE_DEBOUNCE_S": "0.2",
        "AFTERTURN_ARTIFACT_DEBOUNCE_S": "0.2",
        "AFTERTURN_TENANT_USD_PER_DAY": "1000000",
        "AFTERTURN_SESSION_USD_PER_DAY": "1000000",
        "AFTERTURN_TENANT_TOKENS_PER_DAY": "1000000000000",
        "AFTERTURN_SESSION_TOKENS_PER_DAY": "1000000000000",
    }


@contextmanager
def scripted_model() -> Iterator[str]:
    """Run the model beside the stack; where it answers."""
    command = [sys.executable, "-m", "benchmarks.economy.model"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        told = process.stdout.readline() if process.stdout else "{}"
        try:
            yield str(json.loads(told)["base_url"])
        finally:
            process.terminate()


def _courses(asked: argparse.Namespace) -> list[Course]:
    found: list[Course] = []
    for name in asked.sets:
        try:
            found += islice(COURSES[name](asked.data, asked.turns), asked.talks)
        except NoDataError as missing:
            print(f"{name}: skipped, {missing}; --data or AFTERTURN_DATA names its parent")
    return found


def _tell(line: str) -> None:
    print(line, flush=True)


def _show_failures(failures: list[str]) -> None:
    print(f"{len(failures)} failures")
    for line in failures[:20]:
        print(f"  {line}")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.economy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data = Path(os.environ.get("AFTERTURN_DATA", ROOT / "../shared/data"))
    parser.add_argument("--data", type=Path, default=data, help="the folder that holds a folder for each set")
    parser.add_argument("--sets", type=_sets, default=list(COURSES), help=f"of {', '.join(COURSES)}")
    parser.add_argument("--windows", type=_numbers, default=list(WINDOWS), help="of the model, in tokens")
    parser.add_argument("--talks", type=int, default=3, help="conversations of each set, at most")
    parser.add_argument("--turns", type=int, default=60, help="of a conversation without questions, at most")
    parser.add_argument("--steps", type=int, default=1, help="contexts of a turn, at most; 1: one a turn")
    parser.add_argument("--budget", type=int, help="of each of our requests, in tokens; none without it")
    parser.add_argument("--peers", type=Path, help="a Python with langchain, langchain-openai and langmem")
    parser.add_argument("--rest-s", type=float, default=300, help="the longest wait for the background")
    parser.add_argument("--json", type=Path, help="where the numbers go; else benchmarks/results")
    return parser.parse_args()


def _sets(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",") if word.strip()]
    if unknown := set(names) - set(COURSES):
        raise argparse.ArgumentTypeError(f"no such set: {', '.join(sorted(unknown))}")
    return names


def _numbers(text: str) -> list[int]:
    return [int(word.replace("_", "")) for word in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())

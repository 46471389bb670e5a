"""Other systems beside us: run by an interpreter that has them, billed and graded as we are."""

import json
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from benchmarks.economy.account import Bill, Till
from benchmarks.economy.background import Spent
from benchmarks.economy.lockstep import MAX_TOKENS, grade, moments_of
from benchmarks.economy.rules import run_rules
from benchmarks.economy.talks import Course
from context.tokens.message import count_message
from context.types import JsonObject

SCRIPT = Path(__file__).parent / "peers.py"


@dataclass
class Peer:
    """What one system cost over the conversations of one set in one window.

    Attributes:
        name: The system.
        data: The set.
        window: Of the model, in tokens.
        bill: Its requests.
        spent: Its background.
        over: Requests that were larger than their window: the newest messages that fit are counted.
    """

    name: str
    data: str
    window: int
    bill: Bill = field(default_factory=Bill)
    spent: Spent = field(default_factory=Spent)
    over: int = 0


def run_peers(
    python: Path, courses: Sequence[Course], window: int, model_url: str, *, steps: int = 1
) -> list[Peer]:
    """Run every system on the same conversations, at the same moments.

    Args:
        python: An interpreter with langchain, langchain-openai and langmem.
        courses: The conversations.
        window: Of the model, in tokens.
        model_url: Where the scripted model answers.
        steps: The most requests of a turn.
    """
    request = _request(courses, window, model_url, steps)
    rules = run_rules(request["courses"], request["moments"], room=window - MAX_TOKENS, model_url=model_url)
    found: dict[tuple[str, str], Peer] = {}
    tills: defaultdict[tuple[str, int], Till] = defaultdict(Till)
    before: dict[tuple[str, int], tuple[int, int]] = {}
    for line in chain(_lines(python, json.dumps(request).encode()), rules):
        course = courses[line["course"]]
        peer = found.setdefault((line["peer"], course.data), Peer(line["peer"], course.data, window))
        till = tills[line["peer"], line["course"]]
        if "spent" in line:
            peer.bill.add(till.bill)
            peer.spent.add(Spent(**line["spent"]))
            continue
        messages = fitting(line["messages"], window - MAX_TOKENS)
        peer.over += messages is not line["messages"]
        turn, place = before.get((line["peer"], line["course"]), (-1, 0))
        before[line["peer"], line["course"]] = line["turn"], line["place"]
        till.pay(messages, new=line["place"] - (place if turn == line["turn"] else 0))
        grade(till.bill, course.exchanges[line["turn"]], messages)
    return list(found.values())


def fitting(messages: list[JsonObject], room: int) -> list[JsonObject]:
    """Leave out the oldest messages of a request that does not fit; the last one stays in any case."""
    counts = [count_message(message) for message in messages]
    first, left = 0, sum(counts)
    while left > room and first < len(messages) - 1:
        left -= counts[first]
        first += 1
    return messages[first:] if first else messages


def _request(courses: Sequence[Course], window: int, model_url: str, steps: int) -> dict[str, Any]:
    talks = [
        [[message.body for message in exchange.turn.messages] for exchange in course.exchanges]
        for course in courses
    ]
    moments = [[moments_of(exchange, steps) for exchange in course.exchanges] for course in courses]
    asked = {"courses": talks, "moments": moments, "window": window, "max_tokens": MAX_TOKENS}
    return {**asked, "model_url": model_url}


def _lines(python: Path, request: bytes) -> Iterator[dict[str, Any]]:
    command = [str(python), str(SCRIPT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        writer = threading.Thread(target=_write, args=(process.stdin, request))
        writer.start()
        yield from map(json.loads, process.stdout or ())
        writer.join()
    if process.returncode:
        raise RuntimeError(f"the other systems ended with {process.returncode}")


def _write(pipe: IO[bytes] | None, request: bytes) -> None:
    if pipe is not None:
        with pipe:
            pipe.write(request)

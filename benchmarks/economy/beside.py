"""Other systems beside us: run by an interpreter that has them, billed and graded as we are."""

import json
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from benchmarks.economy.account import Bill, Till
from benchmarks.economy.background import Spent
from benchmarks.economy.lockstep import MAX_TOKENS, grade
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


def run_peers(python: Path, courses: Sequence[Course], window: int, model_url: str) -> list[Peer]:
    """Run every system on the same conversations, a request a turn.

    Args:
        python: An interpreter with langchain, langchain-openai and langmem.
        courses: The conversations.
        window: Of the model, in tokens.
        model_url: Where the scripted model answers.
    """
    found: dict[tuple[str, str], Peer] = {}
    tills: defaultdict[tuple[str, int], Till] = defaultdict(Till)
    for line in _lines(python, _request(courses, window, model_url)):
        course = courses[line["course"]]
        peer = found.setdefault((line["peer"], course.data), Peer(line["peer"], course.data, window))
        till = tills[line["peer"], line["course"]]
        if "spent" in line:
            peer.bill.add(till.bill)
            peer.spent.add(Spent(**line["spent"]))
            continue
        messages = fitting(line["messages"], window - MAX_TOKENS)
        peer.over += messages is not line["messages"]
        till.pay(messages)
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


def _request(courses: Sequence[Course], window: int, model_url: str) -> bytes:
    talks = [
        [[message.body for message in exchange.turn.messages] for exchange in course.exchanges]
        for course in courses
    ]
    asked = {"courses": talks, "window": window, "max_tokens": MAX_TOKENS, "model_url": model_url}
    return json.dumps(asked).encode()


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

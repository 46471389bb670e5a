"""Live through conversations in lockstep with the background: a request, rest, the turn, rest."""

import json
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import psycopg

from benchmarks.economy.account import Bill, Till, cut_history
from benchmarks.economy.background import Background, look
from benchmarks.economy.talks import Course, Exchange
from benchmarks.served.door import MODEL, Door
from benchmarks.served.talks import window_texts
from context.types import JsonObject

MAX_TOKENS = 1_000
AT_ONCE = 2


@dataclass
class Live:
    """One conversation on its way.

    Attributes:
        course: What happens in it.
        session_id: Where.
        ours: What our requests were.
        cut: What those of a platform were that cuts its history.
        planned: Contexts that followed a model's plan.
    """

    course: Course
    session_id: str
    ours: Till = field(default_factory=Till)
    cut: Till = field(default_factory=Till)
    planned: int = 0


@dataclass
class Outcome:
    """All conversations of one set in one window."""

    data: str
    window: int
    conversations: int = 0
    tokens: int = 0
    ours: Bill = field(default_factory=Bill)
    cut: Bill = field(default_factory=Bill)
    background: Background = field(default_factory=Background)


def live_through(
    door: Door, courses: Sequence[Course], window: int, *, rest_s: float, tell: Callable[[str], object]
) -> list[Outcome]:
    """Live through conversations at once, step by step.

    Args:
        door: The API, of a stack whose database can be read.
        courses: The conversations.
        window: Of the model, in tokens.
        rest_s: The longest wait for the background, in seconds.
        tell: Told how far it is.
    """
    run = secrets.token_hex(3)
    lives = [Live(one, f"economy-{run}-{window}-{place}") for place, one in enumerate(courses)]
    steps = max(len(one.exchanges) for one in courses)
    for step in range(steps):
        going = [live for live in lives if step < len(live.course.exchanges)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda live: _ask(door, live, step, window), going))  # noqa: B023 (done within)
        door.rest([], rest_s)
        _post(door, going, step, window)
        door.rest([], rest_s)
        if step % 10 == 9:
            tell(f"window {window:,}: turn {step + 1} of {steps}")
    return _outcomes(door, lives, window)


def _ask(door: Door, live: Live, step: int, window: int) -> None:
    exchange, before = live.course.exchanges[step], live.course.exchanges[:step]
    request: JsonObject = {
        "model": MODEL,
        "context_window": window,
        "max_tokens": MAX_TOKENS,
        "messages": [exchange.asked],
    }
    if live.course.tools:
        request["tools"] = [_tool(name) for name in live.course.tools]
    answer = door.context(live.session_id, request)
    if answer is None:
        return
    live.planned += bool(answer["utilization"].get("llm_planning_used"))
    cut = cut_history(before, exchange.asked, window - MAX_TOKENS)
    for till, messages in ((live.ours, answer["messages"]), (live.cut, cut)):
        till.pay(messages)
        _grade(till.bill, exchange, messages)


def _grade(bill: Bill, exchange: Exchange, messages: Sequence[JsonObject]) -> None:
    if exchange.gold is not None:
        bill.found += exchange.gold.grade(window_texts(messages)).share
        bill.known += 1


def _post(door: Door, going: Sequence[Live], step: int, window: int) -> None:
    shared = {"model": MODEL, "context_window": window}
    lines = [
        json.dumps(
            {**shared, "session_id": live.session_id, **live.course.exchanges[step].turn.event}
        ).encode()
        for live in going
    ]
    door.post_lines(lines)


def _tool(name: str) -> JsonObject:
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": {}}},
    }


def _outcomes(door: Door, lives: Sequence[Live], window: int) -> list[Outcome]:
    found: dict[str, Outcome] = {}
    with psycopg.connect(door.database_url, autocommit=True) as database:
        for live in lives:
            one = found.setdefault(live.course.data, Outcome(live.course.data, window))
            one.conversations += 1
            one.tokens += live.course.tokens
            one.ours.add(live.ours.bill)
            one.cut.add(live.cut.bill)
            one.background.add(look(database, live.session_id, live.planned))
    return list(found.values())

"""Live through conversations in lockstep with the background: a request, rest, the turn, rest."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat

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
        asked: The turn of the last request, and how many of its messages that brought.
    """

    course: Course
    session_id: str
    ours: Till = field(default_factory=Till)
    cut: Till = field(default_factory=Till)
    planned: int = 0
    asked: tuple[int, int] = (-1, 0)


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
    lost: Counter[str] = field(default_factory=Counter)


def live_through(
    door: Door,
    courses: Sequence[Course],
    window: int,
    *,
    steps: int,
    rest_s: float,
    tell: Callable[[str], object],
    budget: int | None = None,
) -> list[Outcome]:
    """Live through conversations at once, turn by turn.

    Args:
        door: The API, of a stack whose database can be read.
        courses: The conversations.
        window: Of the model, in tokens.
        steps: The most contexts of a turn: 1 before it, the others before further steps of an agent.
        rest_s: The longest wait for the background, in seconds.
        tell: Told how far it is.
        budget: Of each request, in tokens, as a platform sets it that pays for every token; None for none.
    """
    run = secrets.token_hex(3)
    lives = [Live(one, f"economy-{run}-{window}-{place}") for place, one in enumerate(courses)]
    turns = max(len(one.exchanges) for one in courses)
    for turn in range(turns):
        going = [live for live in lives if turn < len(live.course.exchanges)]
        for step in range(steps):
            moments = [(live, turn, place) for live in going if (place := _moment(live, turn, step, steps))]
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(_ask, repeat(door), moments, repeat(window), repeat(budget)))
            if moments:
                door.rest([], rest_s)
        _post(door, going, turn, window)
        door.rest([], rest_s)
        if turn % 10 == 9:
            tell(f"window {window:,}: turn {turn + 1} of {turns}")
    return _outcomes(door, lives, window)


def _moment(live: Live, turn: int, step: int, steps: int) -> int:
    """How many messages of the turn are there at a step; 0 where the turn has no such step."""
    places = moments_of(live.course.exchanges[turn], steps)
    return places[step] if step < len(places) else 0


def moments_of(exchange: Exchange, steps: int) -> list[int]:
    """How many messages of a turn are there at each of its requests, at most so many."""
    bodies = [message.body for message in exchange.turn.messages]
    places = [place for place, body in enumerate(bodies) if place and body["role"] == "assistant"] or [1]
    most = min(steps, len(places))
    return [places[step * len(places) // most] for step in range(most)]


def _ask(door: Door, moment: tuple[Live, int, int], window: int, budget: int | None) -> None:
    live, turn, place = moment
    exchange, before = live.course.exchanges[turn], live.course.exchanges[:turn]
    new = [message.body for message in exchange.turn.messages[:place]]
    request: JsonObject = {
        "model": MODEL,
        "context_window": window,
        "max_tokens": MAX_TOKENS,
        "messages": new,
    }
    if budget:
        request["budget"] = budget
    if live.course.tools:
        request["tools"] = [_tool(name) for name in live.course.tools]
    answer = door.context(live.session_id, request)
    if answer is None:
        return
    live.planned += bool(answer["utilization"].get("llm_planning_used"))
    cut = cut_history(before, new, window - MAX_TOKENS)
    fresh = place - live.asked[1] if live.asked[0] == turn else place
    live.asked = turn, place
    for till, messages in ((live.ours, answer["messages"]), (live.cut, cut)):
        till.pay(messages, new=fresh)
        grade(till.bill, exchange, messages)


def grade(bill: Bill, exchange: Exchange, messages: Sequence[JsonObject]) -> None:
    """Note how much of the evidence a request shows, where that is known."""
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
            one.lost += live.ours.trace.lost
            one.background.add(look(database, live.session_id, live.planned))
    return list(found.values())

"""What `afterturn status` draws: the worst first, every number where it belongs, on any width."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from afterturn.status_view import ROLES, StatusReading, draw, draw_trouble, judge
from models.due_work.queue import WorkKind
from models.ledger.caps import Caps, CapsInForce, SaidBy
from models.providers.circuit_breaker import Gate, GateState
from models.retention.tenant_policy import LastRun
from models.snapshot import CapCount, RoleCount, Snapshot, Spend, Total, WorkCount
from models.telemetry.counters import Counted

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
ALIVE = [RoleCount(role, 1, 2.0, {}) for role in ROLES]
CAPS = CapsInForce(Caps(tenant_usd_per_day=Decimal(50), tenant_tokens_per_day=100_000_000), SaidBy.WORKERS)
WELL = Snapshot([], is_cut=False, roles=ALIVE, gates=[], sets=[], totals=[])
OPEN = Gate("m1", GateState.OPEN, 7, "the key is wrong", NOW + timedelta(minutes=12))


def frame(snapshot: Snapshot = WELL, **fullest: float) -> StatusReading:
    return StatusReading(snapshot, Spend(Decimal("1.5"), 20_000, fullest), CAPS, NOW, "here:5432/afterturn")


def printed(seen: StatusReading, width: int = 120) -> str:
    console = Console(width=width, file=StringIO(), force_terminal=False)
    with console.capture() as capture:
        console.print(draw(seen, width=width))
    return capture.get()


def row(text: str, first: str) -> list[str]:
    """The words of the line that begins with a word."""
    [words] = [line.strip("│ ").split() for line in text.splitlines() if line.strip("│ ").startswith(first)]
    return words


def test_all_is_well_only_where_every_role_is_at_work() -> None:
    assert judge(frame())[0] == "all is well"
    silent = [replace(one, alive=0) if one.role == "beat" else one for one in ALIVE]
    assert judge(frame(replace(WELL, roles=silent)))[0] == "no beat at work"
    assert "no worker" in judge(frame(replace(WELL, roles=[])))[0]


@pytest.mark.parametrize(
    ("snapshot", "verdict"),
    [
        (replace(WELL, work=[WorkCount("plan", "due", 1, 301)]), "work has waited for 5 min"),
        (replace(WELL, work=[WorkCount("plan", "lost", 1, 301)]), "work has waited for 5 min"),
        (replace(WELL, work=[WorkCount("plan", "dead", 3, 9)]), "3 given up: see `afterturn work list`"),
        (replace(WELL, gates=[OPEN]), "a model is not asked"),
        (
            replace(WELL, over_caps=[CapCount("tenant", "usd", 3), CapCount("session", "tokens", 1)]),
            "4 wait for a cap: see `afterturn work list`",
        ),
        (replace(WELL, retention=LastRun(14_401.0, None, 3_600.0)), "old things are not deleted"),
    ],
)
def test_what_needs_somebody_is_said_first(snapshot: Snapshot, verdict: str) -> None:
    assert judge(frame(snapshot))[0] == verdict
    assert verdict in printed(frame(snapshot))


def test_the_last_run_of_retention_is_told_with_what_came_of_it() -> None:
    ran = replace(WELL, retention=LastRun(720.0, "3 sessions deleted", 3_600.0))
    assert "12 min ago  3 sessions deleted" in printed(frame(ran), width=160)
    waits = replace(WELL, retention=LastRun(720.0, None, 3_600.0))
    assert "none yet, asked for 12 min ago" in printed(frame(waits), width=160)
    assert "never asked for" in printed(frame(), width=160)


def test_a_cap_that_is_nearly_used_up_is_said() -> None:
    assert judge(frame(usd=0.79))[0] == "all is well"
    assert judge(frame(usd=0.81))[0] == "a cap is nearly used up"


def test_whose_caps_they_are_is_said_where_that_is_in_doubt() -> None:
    assert "this command's" not in printed(frame())
    own = replace(frame(), caps=replace(CAPS, said_by=SaidBy.OWN_SETTINGS))
    assert "this command's, no worker's" in printed(own)
    assert "workers have different ones" in printed(replace(frame(), caps=replace(CAPS, differ=True)))


def test_a_row_shows_each_state_in_its_column() -> None:
    work = [
        WorkCount("summarize", "due", 1_234, 72),
        WorkCount("summarize", "running", 4, 0),
        WorkCount("summarize", "dead", 5, 0),
    ]
    totals = [
        Total(Counted.WORK, ("summarize", "done"), 100, 40),
        Total(Counted.WORK, ("summarize", "put off"), 10, 4),
        Total(Counted.WORK_SECONDS, ("summarize",), 500, 150),
    ]
    drawn = printed(frame(replace(WELL, work=work, totals=totals)))
    assert " ".join(row(drawn, "summarize")).startswith("summarize 1,234 1 min 4 · · · 5 44 2.5")


def test_the_oldest_is_that_of_what_is_due_or_was_lost() -> None:
    work = [WorkCount("plan", "lost", 1, 700), WorkCount("plan", "later", 1, 0)]
    assert row(printed(frame(replace(WELL, work=work))), "plan")[:4] == ["plan", "·", "11", "min"]


def test_the_last_minute_is_added_up_over_models_and_reasons() -> None:
    totals = [
        Total(Counted.CONTEXT_TOKENS, ("sent",), 0, 25),
        Total(Counted.CONTEXT_TOKENS, ("saved",), 0, 75),
        Total(Counted.SUMMARIES, ("rejected", "refusal"), 0, 2),
        Total(Counted.SUMMARIES, ("rejected", "empty"), 0, 3),
        Total(Counted.TURNS, (), 0, 41_000),
    ]
    drawn = printed(frame(replace(WELL, totals=totals)))
    assert row(drawn, "history saved")[:6] == ["history", "saved", "75%", "…", "rejected", "5"]
    assert row(drawn, "turns")[:2] == ["turns", "41k"]


def test_a_breaker_says_why_and_for_how_long() -> None:
    drawn = " ".join(printed(frame(replace(WELL, gates=[OPEN])), width=80).split())
    assert "not asked m1: 7 failed for 12 min, the key is wrong" in drawn


def test_money_is_shown_beside_its_cap_and_without_one_says_so() -> None:
    drawn = printed(frame(usd=0.5))
    assert "$1.50  20k tokens" in drawn
    assert "50% of $50" in drawn
    assert "no cap" in drawn


def test_a_wide_screen_shows_every_kind_and_a_narrow_one_those_with_work() -> None:
    some = frame(replace(WELL, work=[WorkCount("recall", "due", 1, 0)]))
    wide, narrow = printed(some), printed(some, width=80)
    assert all(kind in wide for kind in WorkKind)
    assert "recall" in narrow
    assert "relabel" not in narrow


def test_a_database_that_is_away_is_said_with_its_place() -> None:
    console = Console(width=80, file=StringIO())
    with console.capture() as capture:
        console.print(draw_trouble("here:5432/afterturn", "connection refused"))
    assert "connection refused" in capture.get()
    assert "here:5432/afterturn" in capture.get()


KINDS = st.sampled_from([*WorkKind, "a kind of newer code"])
WORK = st.builds(
    WorkCount,
    kind=KINDS,
    state=st.sampled_from(["due", "running", "later", "put-off", "lost", "dead"]),
    count=st.integers(1, 10**9),
    oldest_s=st.floats(0, 1e9),
)


@given(st.lists(WORK, max_size=20), st.integers(80, 200), st.floats(0, 30))
def test_no_line_is_wider_than_the_screen(work: list[WorkCount], width: int, share: float) -> None:
    drawn = printed(frame(replace(WELL, work=work), usd=share), width)
    assert max(len(line.rstrip()) for line in drawn.splitlines()) <= width


GATES = [Gate(f"openai/m{number}", GateState.CLOSED, 2, "server 503 " * 12, None) for number in range(9)]
BUSIEST = replace(
    WELL,
    work=[
        *(WorkCount(kind.value, "due", 3, 40) for kind in WorkKind),
        WorkCount("shadow", "dead", 1, 9),
    ],
    roles=[
        *(RoleCount(role, int(role != "beat"), 2.0, {"summarizer": "m", "planner": "m"}) for role in ROLES),
        *(RoleCount(f"role-{number}", 1, 2.0, {}) for number in range(5)),
    ],
    gates=[*GATES, OPEN],
    totals=[Total(Counted.UNPRICED, ("m",), 9, 9)],
    retention=LastRun(720.0, "3 sessions deleted and more " * 3, 3_600.0),
)


@pytest.mark.parametrize(
    ("queues", "said", "verdict"),
    [
        ({}, "no dispatcher has said", "all is well"),
        ({"summaries": 0}, "no bell waits", "all is well"),
        ({"summaries": 4, "plans": 0, "learning": 1}, "summaries 4, learning 1", "all is well"),
        ({"summaries": 999}, "summaries 999", "all is well"),
        ({"summaries": 1_000}, "summaries 1,000", "the broker is full of old messages"),
    ],
)
def test_the_brokers_queues_are_shown(queues: dict[str, int], said: str, verdict: str) -> None:
    roles = [RoleCount(role, 1, 2.0, {"queues": queues} if role == "dispatcher" else {}) for role in ROLES]
    drawn = printed(frame(replace(WELL, roles=roles)))
    assert said in drawn
    assert verdict in drawn


HEADINGS = ("work", "last full minute", "at work", "models", "money today")


@pytest.mark.parametrize("width", [80, 100, 117, 118, 200])
@pytest.mark.parametrize("height", [18, 24])
def test_on_a_small_screen_every_panel_keeps_its_heading_and_says_how_much_more_there_is(
    width: int, height: int
) -> None:
    seen = replace(frame(BUSIEST, usd=0.5, tokens=0.9), caps=replace(CAPS, differ=True))
    drawn = on_screen(seen, width, height)
    lines = drawn.rstrip().splitlines()
    assert len(lines) <= height
    for heading in HEADINGS:
        assert f"╭─ {heading}" in drawn
    assert drawn.count("╰") == len(HEADINGS)  # no panel is cut off at its end
    assert re.search("not asked +m1: 7 failed", drawn)
    assert "none for 60 s" in drawn
    assert " more " in drawn


def test_a_full_panel_says_how_many_more_there_are() -> None:
    drawn = on_screen(frame(BUSIEST, usd=0.5), 80, 24)
    assert [int(left) for left in re.findall(r"… (\d+) more", drawn)] == [9, 8, 2, 10]
    assert row(drawn, "shadow")[:2] == ["shadow", "3"]  # what was given up comes before the rest


@pytest.mark.parametrize("height", [24, 60])
def test_where_all_fits_nothing_is_left_out(height: int) -> None:
    assert "more" not in on_screen(frame(), 80, height)
    assert on_screen(frame(BUSIEST), 120, 1_000) == printed(frame(BUSIEST))


def on_screen(seen: StatusReading, width: int, height: int) -> str:
    """What a terminal of this size shows."""
    console = Console(width=width, height=height, file=StringIO(), force_terminal=False)
    with console.capture() as capture:
        console.print(draw(seen, width=width, height=height))
    return capture.get()

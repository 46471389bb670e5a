"""Each alert rule speaks up on its condition, and no other does; on a quiet or a new installation none."""

import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.http.middleware import RequestTimes
from api.metrics import SnapshotReading, Watched
from models.providers.circuit_breaker import Gate, GateState
from models.retention.tenant_policy import LastRun
from models.snapshot import MOST_WORK, RoleCount, Snapshot, Spend, Total, WaitCount, WorkCount
from models.telemetry.counters import Counted
from tests.data import ROOT
from tests.promql import Samples, compile_query

RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((ROOT / "docs/operations/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
STEP_S = 60.0
ROLES = ("dispatcher", "worker", "beat")
WELL = Snapshot(
    work=[WorkCount("sweep", "later", 2, 0.0), WorkCount("summarize", "running", 3, 0.0)],
    is_cut=False,
    roles=[RoleCount(role, 1, 2.0, {}) for role in ROLES],
    gates=[],
    sets=[],
    totals=[Total(Counted.TURNS, (), 5.0, 0.0)],
    retention=LastRun(600.0, "nothing", 3_600.0),
)
CHEAP = Spend(Decimal(1), 1_000, {"usd": 0.1, "tokens": 0.1})

Scene = Callable[[int, RequestTimes], SnapshotReading | None]
"""What a scrape in a minute reads, after what requests did meanwhile; None where nothing is scraped."""


def seen(snapshot: Snapshot | None = WELL, spend: Spend = CHEAP) -> SnapshotReading:
    return SnapshotReading(snapshot, spend, 0.0, 0.0)


def always(**changes: Any) -> Scene:
    """An installation that is well but for what is said, all the time."""
    return lambda _minute, _times: seen(replace(WELL, **changes))


def counting(*growing: tuple[Counted, tuple[str, ...], float]) -> Scene:
    """Counts that grow by so much each minute, and that are not there before the third."""

    def scene(minute: int, _times: RequestTimes) -> SnapshotReading:
        counts = [Total(name, labels, by * (minute - 2), 0.0) for name, labels, by in growing if minute > 2]
        return seen(replace(WELL, totals=counts))

    return scene


def once(name: Counted, *labels: str) -> Scene:
    """A count that appears with what is counted for the first time, and never grows again."""

    def scene(minute: int, _times: RequestTimes) -> SnapshotReading:
        return seen(replace(WELL, totals=[Total(name, labels, 1.0, 0.0)] if minute > 2 else []))

    return scene


def requests(route: str, status: str, seconds: float) -> Scene:
    """Ten requests a minute."""

    def scene(_minute: int, times: RequestTimes) -> SnapshotReading:
        for _ in range(10):
            times.seconds.labels("POST", route, status).observe(seconds)
        return seen()

    return scene


def away(_minute: int, times: RequestTimes) -> SnapshotReading:
    """The database is away; it is asked for nothing, and readiness says so."""
    times.seconds.labels("GET", "/healthz", "2xx").observe(0.01)
    return seen(None)


def newborn(minute: int, _times: RequestTimes) -> SnapshotReading:
    """An installation in its first minutes: the API is there first, then the others, and nobody calls."""
    if minute < 2:
        return seen(replace(WELL, work=[], roles=[], totals=[], retention=None), Spend(Decimal(0), 0, {}))
    return seen(replace(WELL, totals=[], retention=LastRun(60.0 * minute, None, 3_600.0)))


Scrape = list[tuple[str, Mapping[str, str], float]]


def scrapes(scene: Scene, minutes: int) -> Iterator[Scrape]:
    """What each minute of a scene scrapes: names, labels and values."""
    times = RequestTimes()
    for minute in range(minutes):
        reading = scene(minute, times)
        families = [] if reading is None else [*times.registry.collect(), *Watched(reading).collect()]
        yield [(one.name, one.labels, one.value) for family in families for one in family.samples]


def fire(scene: Scene, minutes: int) -> set[str]:
    """The rules that fire at any time while a scene lasts."""
    samples = Samples()
    queries = {rule["alert"]: compile_query(rule["expr"], samples) for rule in RULES}
    holds_for: dict[str, int] = dict.fromkeys(queries, 0)
    fired: set[str] = set()
    for minute, scraped in enumerate(scrapes(scene, minutes)):
        at = 1_000_000 + minute * STEP_S
        samples.add(at, scraped)
        for rule in RULES:
            name = rule["alert"]
            found = queries[name](at)
            assert isinstance(found, Mapping)
            holds = any(not math.isnan(value) for value in found.values())
            holds_for[name] = holds_for[name] + 1 if holds else 0
            if holds_for[name] * STEP_S > int(rule["for"][:-1]) * STEP_S:
                fired.add(name)
    return fired


def without(role: str) -> Scene:
    return always(roles=[replace(one, alive=0) if one.role == role else one for one in WELL.roles])


def holding(messages: int) -> Scene:
    """A queue of the broker that holds so many."""
    told = {"queues": {"summaries": messages, "plans": 0}}
    return always(
        roles=[replace(one, detail=told) if one.role == "dispatcher" else one for one in WELL.roles]
    )


DONE = (Counted.WORK, ("summarize", "done"), 6.0)
SUMMARIES = (Counted.SUMMARIES, ("activated", ""), 3.0)
REJECTED = (Counted.SUMMARIES, ("rejected", "refusal"), 3.0)

CONDITIONS: Mapping[str, tuple[Scene, int]] = {
    "NotScraped": (lambda _minute, _times: None, 10),
    "DatabaseAway": (away, 10),
    "NoWorker": (without("worker"), 10),
    "NoDispatcher": (without("dispatcher"), 10),
    "NoBeat": (without("beat"), 10),
    "BrokerFills": (holding(1_000), 10),
    "WorkWaits": (always(work=[WorkCount("plan", "lost", 1, 301.0)]), 10),
    "WaitsForModel": (always(waiting=[WaitCount("model", 1_801.0), WaitCount("cap", 3_600.0)]), 10),
    "WaitsForCap": (always(waiting=[WaitCount("model", 1_800.0), WaitCount("cap", 3_601.0)]), 10),
    "Backlog": (always(work=[WorkCount("plan", "due", MOST_WORK, 20.0)], is_cut=True), 15),
    "DeadWork": (always(work=[WorkCount("plan", "dead", 1, 20.0)]), 10),
    "WorkInVain": (counting(DONE, (Counted.WORK, ("plan", "lease lost"), 2.0)), 30),
    "WorkFails": (counting(DONE, (Counted.WORK, ("summarize", "put off"), 7.0)), 30),
    "RetentionMissed": (always(retention=LastRun(14_401.0, None, 3_600.0)), 15),
    "SummariesRejected": (counting(SUMMARIES, REJECTED), 40),
    "PreflightUnsure": (counting((Counted.PREFLIGHT, ("unsure",), 9.0)), 60),
    "LearningInVain": (once(Counted.PRIOR_SETS, "ranking", "in vain"), 10),
    "SpendNearCap": (lambda _minute, _times: seen(spend=replace(CHEAP, fullest={"usd": 0.81})), 10),
    "CallsDenied": (once(Counted.DENIED, "tenant", "usd"), 10),
    "PriceUnknown": (once(Counted.UNPRICED, "summarize", "openai/new"), 15),
    "ModelNotAsked": (always(gates=[Gate("m1", GateState.OPEN, 7, "bad key", None)]), 10),
    "RequestsFail": (requests("/v1/usage", "5xx", 0.1), 15),
    "ContextsSlow": (requests("/v1/sessions/{session_id}/context", "2xx", 2.0), 20),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_alert_fires_on_its_condition_and_no_other_does(name: str) -> None:
    scene, minutes = CONDITIONS[name]
    assert fire(scene, minutes) == {f"Afterturn{name}"}


def test_every_alert_has_a_condition_here() -> None:
    assert {rule["alert"] for rule in RULES} == {f"Afterturn{name}" for name in CONDITIONS}


def promtool(*words: str) -> None:
    """Run Prometheus' own tool; a test without the tool is skipped."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed; Debian's package `prometheus` has it")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def series(scraped: Sequence[Scrape]) -> list[dict[str, str]]:
    """Scrapes as promtool reads them: each series with a value a minute, or a gap."""
    values: dict[str, list[str]] = {}
    for minute, scrape in enumerate(scraped):
        for name, labels, value in scrape:
            told = ",".join(f"{label}={json.dumps(text)}" for label, text in sorted(labels.items()))
            one = values.setdefault(f"{name}{{{told}}}", ["_"] * len(scraped))
            one[minute] = repr(value)
    return [{"series": name, "values": " ".join(told)} for name, told in values.items()]


def test_prometheus_takes_the_rules() -> None:
    promtool("check", "rules", str(ROOT / "docs/operations/alerts.yml"))


def test_prometheus_fires_the_same_alerts(tmp_path: Path) -> None:
    cases = [
        {
            "name": name,
            "interval": "1m",
            "input_series": series(list(scrapes(scene, minutes))),
            "promql_expr_test": [
                {
                    "expr": 'group by (alertname) (last_over_time(ALERTS{alertstate="firing"}[1d]))',
                    "eval_time": f"{minutes - 1}m",
                    "exp_samples": [{"labels": f'{{alertname="Afterturn{name}"}}', "value": 1}],
                }
            ],
        }
        for name, (scene, minutes) in CONDITIONS.items()
    ]
    rules = str(ROOT / "docs/operations/alerts.yml")
    file = tmp_path / "cases.json"  # JSON is YAML too
    file.write_text(json.dumps({"rule_files": [rules], "evaluation_interval": "1m", "tests": cases}))
    promtool("test", "rules", str(file))


QUIET: Mapping[str, Scene] = {
    "nobody calls": always(),
    "a new installation": newborn,
    "busy and well": counting(DONE, SUMMARIES, (Counted.PREFLIGHT, ("filtered",), 9.0)),
    "quick contexts": requests("/v1/sessions/{session_id}/context", "2xx", 0.02),
    "many sessions wait for a cap": always(
        work=[WorkCount("summarize", "put-off", MOST_WORK, 0.0)], is_cut=True
    ),
    "lost a moment ago": always(work=[WorkCount("summarize", "lost", 1, 3.0)]),
    "denied long ago": always(totals=[Total(Counted.DENIED, ("tenant", "usd"), 40.0, 0.0)]),
}


@pytest.mark.parametrize("name", QUIET)
def test_no_alert_fires_where_all_is_well(name: str) -> None:
    assert fire(QUIET[name], 90) == set()

"""Each expression of the dashboard can be evaluated, and shows something where something happens."""

import json
from decimal import Decimal

import pytest

from api.http.middleware import RequestTimes
from api.metrics import SnapshotReading, Watched
from models.providers.circuit_breaker import Gate, GateState
from models.retention.tenant_policy import LastRun
from models.snapshot import (
    CapCount,
    RoleCount,
    SetCount,
    Snapshot,
    Spend,
    Total,
    WaitCount,
    WorkCount,
)
from models.telemetry.counters import Counted
from tests.data import ROOT
from tests.promql import Samples, compile_query

PANELS = json.loads((ROOT / "docs/operations/grafana-dashboard.json").read_text())["panels"]
SHOWN = {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in PANELS
    for target in panel.get("targets", ())
}
SAID: dict[Counted, list[tuple[str, ...]]] = {
    Counted.CONTEXT_TOKENS: [("sent",), ("saved",)],
    Counted.SUMMARIES: [("activated", ""), ("rejected", "refusal")],
    Counted.PREFLIGHT: [("filtered",), ("unsure",)],
    Counted.SHADOW_TOKENS: [("summaries", "sent"), ("summaries", "would")],
    Counted.SHADOW_FACTS: [("summaries", "kept"), ("summaries", "lost")],
}
"""Labels that expressions choose by or compare; of other counts any will do."""
MINUTES = 20
JOB = {"job": "afterturn"}


def busy(minute: int) -> Snapshot:
    """An installation in which everything happens all the time."""
    states = ("due", "later", "put-off", "running", "lost", "dead")
    labels = {name: SAID.get(name, [("x",) * len(name.labels)]) for name in Counted}
    return Snapshot(
        work=[WorkCount("summarize", state, 3, 60.0) for state in states],
        is_cut=True,
        roles=[RoleCount(role, 1, 2.0, {"summarizer": "m", "planner": "m"}) for role in ("worker", "beat")],
        gates=[Gate("m", GateState.OPEN, 1, "", None)],
        sets=[SetCount("ranking", "active", 1)],
        totals=[Total(name, one, 7.0 * minute, 0.0) for name in Counted for one in labels[name]],
        retention=LastRun(60.0, "nothing", 3_600.0),
        over_caps=[CapCount("tenant", "usd", 3)],
        waiting=[WaitCount("cap", 60.0), WaitCount("model", 60.0)],
    )


@pytest.fixture(scope="module")
def scraped() -> Samples:
    """What Prometheus has of it."""
    samples, times = Samples(), RequestTimes()
    spend = Spend(Decimal(1), 1_000, {"usd": 0.5, "tokens": 0.5})
    for minute in range(MINUTES):
        times.seconds.labels("POST", "/v1/sessions/{session_id}/context", "2xx").observe(0.01)
        families = [
            *times.registry.collect(),
            *Watched(SnapshotReading(busy(minute), spend, 0.1, 0.1)).collect(),
        ]
        told = ((one.name, one.labels, one.value) for family in families for one in family.samples)
        samples.add(
            60.0 * minute, ((name, {"job": "afterturn", **labels}, value) for name, labels, value in told)
        )
    return samples


@pytest.mark.parametrize("panel", SHOWN)
def test_a_panel_shows_something_where_something_happens(panel: str, scraped: Samples) -> None:
    found = compile_query(SHOWN[panel].replace("$__rate_interval", "5m"), scraped)(60.0 * (MINUTES - 1))
    assert isinstance(found, dict)
    assert any(value > 0 for value in found.values()), found

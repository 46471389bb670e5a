"""The dashboard, the alert rules and the page about watching speak of metrics that exist."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from api.app import make_app
from api.http.middleware import RequestTimes
from api.metrics import SnapshotReading, Watched, expose
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

OPERATIONS = ROOT / "docs/operations"
DASHBOARD: dict[str, Any] = json.loads((OPERATIONS / "grafana-dashboard.json").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((OPERATIONS / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SHOWN = {
    f"{panel['title']} {target['refId']}": target["expr"] for panel in PANELS for target in panel["targets"]
}
ALERTED = {rule["alert"]: " ".join(rule["expr"].split()) for rule in RULES}
EXPRESSIONS = {**SHOWN, **ALERTED}

FUNCTIONS = {
    *("absent", "and", "by", "count", "histogram_quantile", "increase"),
    *("max", "offset", "on", "or", "rate", "sum", "unless", "vector"),
}
ADDED_BY_PROMETHEUS = {"instance", "job"}
METRIC = re.compile(r"\b((?:afterturn|process)_\w+)(?:\{([^}]*(?:\}[^}]*)*?)\})?(?=[\s)\[]|$)")
SELECTOR = re.compile(r'(\w+)(?:=~|!=|!~|=)"[^"]*"')
OF_A_PROCESS = re.compile(r"^(?:afterturn_http|process)_")


def known_metrics() -> dict[str, set[str]]:
    """Every metric that a page can hold, with its labels."""
    gate = Gate("m", GateState.OPEN, 1, "", None)
    snapshot = Snapshot(
        work=[WorkCount("summarize", "due", 1, 1.0)],
        is_cut=False,
        roles=[
            RoleCount("worker", 1, 1.0, {"summarizer": "m", "planner": "m"}),
            RoleCount("dispatcher", 1, 1.0, {"queues": {"summaries": 1}}),
        ],
        gates=[gate],
        sets=[SetCount("ranking", "active", 1)],
        totals=[Total(name, ("x",) * len(name.labels), 1.0, 0.0) for name in Counted],
        retention=LastRun(1.0, "", 3_600.0),
        over_caps=[CapCount("tenant", "usd", 1)],
        waiting=[WaitCount("model", 1.0)],
    )
    times = RequestTimes()
    times.seconds.labels("GET", "/healthz", "2xx").observe(0.1)
    spend = Spend(Decimal(1), 1, {"usd": 0.5})
    page = expose(times.registry, Watched(SnapshotReading(snapshot, spend, 0.0, 0.0)))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


METRICS = known_metrics()


def used(expression: str) -> list[tuple[str, set[str]]]:
    """The metrics of an expression, with the labels that they are chosen by."""
    return [
        (found[1], set(SELECTOR.findall(found[2] or "")))
        for found in METRIC.finditer(expression.replace("{session_id}", "<session_id>"))
    ]


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_that_exist(expression: str) -> None:
    assert used(expression)
    for name, labels in used(expression):
        assert name in METRICS
        assert labels <= METRICS[name] | ADDED_BY_PROMETHEUS


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_is_well_formed_and_keeps_to_what_its_metrics_have(expression: str) -> None:
    bare = re.sub(r'"[^"]*"', '""', expression)
    for opening, closing in ("()", "[]", "{}"):
        assert bare.count(opening) == bare.count(closing)
    of_metrics = {label for name, _ in used(expression) for label in METRICS[name]}
    kept = {label.strip() for group in re.findall(r"by \(([^)]*)\)", bare) for label in group.split(",")}
    assert kept <= of_metrics
    words = re.findall(r"\b[a-z_]\w*\b", re.sub(r"\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)", "", bare))
    assert {word for word in words if word not in METRICS} <= FUNCTIONS


CHOSEN = re.compile(r'(\w+)(?:=~|!=|!~|=)"([^"]*)"')
SAID_IN = {
    ("afterturn_work", "state"): "models/snapshot.py",
    ("afterturn_work_oldest_wait_seconds", "waits_for"): "models/due_work/waiting.py",
    ("afterturn_work_finished_total", "outcome"): "workers/telemetry.py",
    ("afterturn_role_alive", "role"): "afterturn/status_view.py",
    ("afterturn_context_tokens_total", "part"): "api/context/routes.py",
    ("afterturn_summaries_total", "outcome"): "workers/jobs/summarize.py",
    ("afterturn_preflight_total", "outcome"): "api/preflight/decide.py",
    ("afterturn_prior_sets_judged_total", "state"): "models/learning/prior_set.py",
    ("afterturn_model_breaker", "state"): "models/providers/circuit_breaker.py",
}
"""Where the code says the values of a label that expressions choose by."""


def chosen(expression: str) -> list[tuple[str, str, str]]:
    """Each value that an expression chooses by: the metric, the label, the value."""
    return [
        (found[1], label, value)
        for found in METRIC.finditer(expression.replace("{session_id}", "<session_id>"))
        for label, values in CHOSEN.findall(found[2] or "")
        for value in values.split("|")
    ]


VALUES = sorted({one for expression in EXPRESSIONS.values() for one in chosen(expression)})


@pytest.mark.parametrize(("metric", "label", "value"), VALUES)
def test_a_value_that_an_expression_chooses_by_is_one_that_the_code_says(
    metric: str, label: str, value: str
) -> None:
    """Otherwise the panel stays empty and the rule silent, whatever happens."""
    if label in ADDED_BY_PROMETHEUS:
        assert value == "afterturn"
    elif metric.startswith("afterturn_http_"):
        routes = set(make_app().openapi()["paths"])
        known = {"route": routes, "status": {f"{number}xx" for number in range(1, 6)}}
        assert value.replace("<session_id>", "{session_id}") in known[label]
    else:
        source = (ROOT / SAID_IN[metric, label]).read_text()
        assert re.search(rf"""["']{re.escape(value)}["']""", source)


def test_a_legend_names_labels_that_its_expression_keeps() -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            outer = re.match(r"(?:\d+ \* |histogram_quantile\([\d.]+, )?\w+ by \(([^)]*)\)", target["expr"])
            kept = {one.strip() for one in outer[1].split(",")} if outer else ADDED_BY_PROMETHEUS
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert named <= kept, panel["title"]


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_what_every_api_process_tells_alike_is_counted_once(expression: str) -> None:
    """Three replicas tell of the same work: a sum of them would be three times as much."""
    for found in METRIC.finditer(expression.replace("{session_id}", "<session_id>")):
        name, before = found[1], expression[: found.start()]
        if OF_A_PROCESS.match(name) or before.endswith("absent("):
            continue
        labels = re.search(r"max(?: by \(([^)]*)\))? \((?:rate\(|increase\()?$", before)
        assert labels, before
        assert {one.strip() for one in (labels[1] or "").split(",") if one} == METRICS[name]


@pytest.mark.parametrize("rule", RULES, ids=ALERTED)
def test_an_alert_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"info", "warning", "critical"}
    assert re.fullmatch(r"\d+m", rule["for"])
    said = rule["annotations"]
    assert said["summary"]
    assert said["description"]
    labels = set(re.findall(r"\$labels\.(\w+)", json.dumps(said)))
    assert labels <= {label for name, _ in used(rule["expr"]) for label in METRICS[name]}


@pytest.mark.parametrize(
    "metric",
    [
        "afterturn_work_oldest_due_seconds",
        "afterturn_work",
        "afterturn_role_alive",
        "afterturn_cap_used_ratio",
        "afterturn_summaries_total",
        "afterturn_preflight_total",
        "afterturn_llm_unpriced_calls_total",
        "afterturn_model_breaker",
        "afterturn_work_oldest_wait_seconds",
        "afterturn_retention_last_run_seconds",
    ],
)
def test_what_an_operator_must_hear_of_has_an_alert(metric: str) -> None:
    assert any(metric == name for expression in ALERTED.values() for name, _ in used(expression))


def test_panels_lie_beside_and_below_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not taken & cells
        taken |= cells


def test_panels_have_numbers_of_their_own_and_ask_the_chosen_source() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert [one["name"] for one in DASHBOARD["templating"]["list"]] == ["datasource"]
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${datasource}"}
    assert {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]} == {
        "${datasource}"
    }


def test_every_metric_is_explained_on_the_page_about_watching() -> None:
    page = (ROOT / "docs/how-to/watching.md").read_text()
    names = {re.sub(r"_(?:bucket|count|sum)$", "", name) for name in METRICS if name.startswith("afterturn_")}
    assert {name for name in names if f"`{name}`" not in page} == set()


def test_every_count_is_shown_on_the_dashboard() -> None:
    shown = {name for expression in SHOWN.values() for name, _ in used(expression)}
    assert {f"afterturn_{name}_total" for name in Counted} <= shown


def test_the_rules_are_those_that_the_scrape_configuration_loads() -> None:
    settings = yaml.safe_load((OPERATIONS / "prometheus.yml").read_text())
    assert all((OPERATIONS / file).is_file() for file in settings["rule_files"])
    assert [job["job_name"] for job in settings["scrape_configs"]] == ["afterturn"]


def test_every_container_of_the_api_is_scraped_by_itself() -> None:
    """Behind one name, each scrape meets another process, whose counts are older: they seem to begin anew."""
    [job] = yaml.safe_load((OPERATIONS / "prometheus.yml").read_text())["scrape_configs"]
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    [found] = job["dns_sd_configs"]
    assert "static_configs" not in job
    assert (found["names"], found["type"]) == (["api"], "A")
    assert f":{found['port']}" in services["api"]["ports"][0]


def test_without_a_database_a_page_says_only_that() -> None:
    away = Watched(SnapshotReading(None, None, 0.0, 0.0))
    assert [metric.name for metric in away.collect()] == ["afterturn_database_up"]
    assert b"afterturn_database_up 0.0" in expose(RequestTimes().registry, away)

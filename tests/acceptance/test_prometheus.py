"""A real Prometheus with the provisioned configuration before a stack: targets, rules, the dashboard."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.platform import ROLES, dialogue
from tests.acceptance.platform import environment as settings
from tests.data import ROOT
from tests.waiting import wait_until

OPERATIONS = ROOT / "docs/operations"
TOKEN = "a-token-of-the-metrics"
PRICES = json.dumps({"openai/scripted": {"input": 1, "output": 2}})
PROGRAM = shutil.which("prometheus")
SOON_S = 90.0
GRAFANA = {"$__rate_interval": "1m"}
"""Grafana's own variables in queries, with a value."""

QUIET = {
    *("Due work by kind", "Oldest due work by kind", "Oldest wait for a cap or a model"),
    *(
        "Calls without a price, and put off by a cap, an hour; work that waits for one",
        "Rejected by the gate, by reason",
    ),
    *("Rows that went with age, a day", "Tokens of recorded reads", "Facts that turns needed"),
    *("Tool calls after recorded reads", "Artifact reads", "Plans of artifacts"),
}
"""Panels without data where nothing waits, is refused or too old, without artifacts and shadow mode."""

Ask = Callable[..., Any]

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no prometheus here (Debian: apt-get install prometheus)"
)


def configuration(api: str) -> str:
    """Write the provisioned configuration, with the API's address in place of the name in Compose."""
    whole = yaml.safe_load((OPERATIONS / "prometheus.yml").read_text())
    (job,) = whole["scrape_configs"]
    (found,) = job.pop("dns_sd_configs")
    assert found["port"] == 8700
    job |= {"static_configs": [{"targets": [api]}], "scrape_interval": "1s"}
    return yaml.safe_dump({**whole, "global": {"evaluation_interval": "1s"}})


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Prometheus' own API, once the stack is scraped and was talked to."""
    place = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as running:
        model = running.enter_context(ScriptedServer())
        with pytest.MonkeyPatch.context() as environment:
            for name, value in {
                **settings(model),
                "AFTERTURN_METRICS_TOKEN": TOKEN,
                "AFTERTURN_LLM_PRICES": PRICES,
            }.items():
                environment.setenv(name, value)
            stack = running.enter_context(Stack(roles=ROLES))
        port = running.enter_context(ReservedPorts()).reserve()
        (place / "prometheus.yml").write_text(configuration(urlsplit(stack.at.base_url).netloc))
        (place / "metrics-token").write_text(TOKEN)
        shutil.copy(OPERATIONS / "alerts.yml", place)
        where = (f"--storage.tsdb.path={place / 'data'}", f"--web.listen-address=127.0.0.1:{port}")
        command = [str(PROGRAM), f"--config.file={place / 'prometheus.yml'}", *where]
        with (place / "log").open("w") as log:
            process = running.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
        running.callback(process.terminate)
        client = running.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=30))

        def asked(path: str, **query: str) -> Any:
            answer = client.get(path, params=query)
            assert answer.is_success, answer.text
            return answer.json()["data"]

        wait_until(lambda: is_scraped(port, asked), within_s=SOON_S, what=(place / "log").read_text())
        talk(stack)
        yield asked


def is_scraped(port: int, ask: Ask) -> bool:
    try:
        if not httpx.get(f"http://127.0.0.1:{port}/-/ready").is_success:
            return False
    except httpx.TransportError:
        return False
    return [one["health"] for one in ask("targets")["activeTargets"]] == ["up"]


def talk(stack: Stack) -> None:
    """Turns until a summary is in force, contexts and plans, so that counters grow between two scrapes."""
    key = {"Authorization": f"Bearer {stack.at.api_key}"}
    tools = [{"name": "crate.weigh", "description": "Weigh a crate."}]
    with httpx.Client(base_url=stack.at.base_url, headers=key, timeout=60) as client:
        assert client.put("/v1/catalogs/main", json={"tools": tools}).is_success
        plan = {"intent": "weigh it", "catalog": "main", "model": "openai/scripted", "wait_ms": 5_000}
        for number in range(1, 7):
            turn = {"turn_id": f"t{number}", "model": "gpt-4o", "messages": dialogue(number)}
            assert client.post("/v1/sessions/s/turns", json=turn).is_success
        assert client.post("/v1/plans", json=plan).is_success
        wait_until(
            lambda: client.get("/v1/sessions/s").json()["freshness"]["summarized_through"],
            within_s=SOON_S,
            what="a summary in force",
        )
        for _ in range(3):
            body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Is GW-4 up?"}]}
            assert client.post("/v1/sessions/s/context", json=body).is_success


def test_every_rule_is_loaded_and_evaluated_and_none_fires_on_a_healthy_stack(ask: Ask) -> None:
    told = yaml.safe_load((OPERATIONS / "alerts.yml").read_text())["groups"]

    def rules() -> list[dict[str, Any]]:
        return [rule for group in ask("rules")["groups"] for rule in group["rules"]]

    wait_until(
        lambda: {one["health"] for one in rules()} == {"ok"}, within_s=SOON_S, what="an evaluation of all"
    )
    assert len(rules()) == sum(len(group["rules"]) for group in told)
    assert [one["name"] for one in rules() if one.get("state") == "firing"] == []


def panels() -> dict[str, list[str]]:
    """The queries of each panel of the dashboard, as Grafana sends them."""
    found: dict[str, list[str]] = {}
    for panel in json.loads((OPERATIONS / "grafana-dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"]
            for name, value in GRAFANA.items():
                query = query.replace(name, value)
            assert "$" not in query
            found.setdefault(panel["title"], []).append(query)
    return found


def test_every_query_of_the_dashboard_is_understood_and_shows_data_unless_nothing_happened(ask: Ask) -> None:
    def empty() -> set[str]:
        return {
            title
            for title, queries in panels().items()
            if not any(ask("query", query=one)["result"] for one in queries)
        }

    wait_until(lambda: empty() <= QUIET, within_s=SOON_S, what=lambda: f"data in {empty() - QUIET}")

"""The Helm chart's values against the code: `make test-helm` renders the chart; this test does not."""

from typing import Any

import pytest
import yaml

from afterturn.settings import unknown_variables
from models.base_settings import RELEASE
from models.due_work.kinds import WorkKind, WorkQueue
from tests.data import ROOT
from tests.unit.test_compose import SERVICES, WORKERS

CHART = ROOT / "deploy/helm/afterturn"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())


def test_the_chart_is_of_this_release() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == RELEASE


@pytest.mark.parametrize("name", ["alerts.yml", "grafana-dashboard.json"])
def test_the_chart_holds_the_files_of_the_operations_folder(name: str) -> None:
    """Helm packs no file from outside of a chart, and archives of a tree may lose links."""
    there, here = ROOT / "docs/operations" / name, CHART / "files" / name
    assert here.read_bytes() == there.read_bytes(), f"copy it: cp docs/operations/{name} {here.parent}"


def test_the_workers_are_those_of_compose() -> None:
    assert {f"worker-{name}" for name in VALUES["workers"]} == WORKERS
    for name, worker in VALUES["workers"].items():
        command = SERVICES[f"worker-{name}"].command or []
        assert command[command.index("--queues") + 1] == worker["queues"]
        assert command[command.index("--concurrency") + 1] == str(worker["concurrency"])


def test_workers_scale_by_the_work_that_their_queues_carry() -> None:
    for worker in VALUES["workers"].values():
        queues = worker["queues"].split(",")
        carried = {kind.value for kind in WorkKind if kind.queue.value in queues}
        assert set(filter(None, worker["kinds"].split("|"))) == carried
    served = {queue for worker in VALUES["workers"].values() for queue in worker["queues"].split(",")}
    assert served == {queue.value for queue in WorkQueue}


def test_every_variable_of_the_templates_is_a_setting() -> None:
    text = (CHART / "templates/_helpers.tpl").read_text()
    names = {word.strip(",{}") for word in text.split() if word.startswith("AFTERTURN_") and "*" not in word}
    assert len(names) > 8
    assert unknown_variables(dict.fromkeys(names, "")) == []

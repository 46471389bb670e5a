"""The Helm chart, rendered by Helm's own engine and held against Kubernetes' schemas.

Needs an environment of its own, see `make test-helm`: the engine alone has 244 MB.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import helm_python as helm
import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy/helm/afterturn"
KUBERNETES = "1.33"
EVERYTHING = {
    "monitoring": {part: {"enabled": True} for part in ("serviceMonitor", "rules", "dashboard")},
    "keda": {"enabled": True},
    "secret": {"textKeys": True, "models": "providers"},
    "settings": {"AFTERTURN_TENANT_USD_PER_DAY": 20},
    "workerSettings": {"SUMMARIZER_MODEL": "gpt-4o-mini"},
}
OF_OPERATORS = {"ServiceMonitor", "PrometheusRule", "ScaledObject"}
CASES = {"as it is": {}, "everything": EVERYTHING}

Objects = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart with its links followed, as `helm package` writes it."""
    return Path(shutil.copytree(CHART, tmp_path_factory.mktemp("chart") / "afterturn"))


def objects(chart: Path, values: dict[str, Any]) -> Objects:
    """Every rendered object, by kind and name; a name used twice is a fault."""
    found: Objects = {}
    for name, text in helm.Chart.load(str(chart)).render(values, name="at", namespace="prod").items():
        for one in yaml.safe_load_all(text) if name.endswith(".yaml") else ():
            if one:
                assert one["metadata"]["name"] not in found.setdefault(one["kind"], {})
                found[one["kind"]][one["metadata"]["name"]] = one
    return found


def containers(found: Objects) -> dict[str, dict[str, Any]]:
    pods = {**found["Deployment"], **found["Job"]}
    return {name: one["spec"]["template"]["spec"]["containers"][0] for name, one in pods.items()}


def test_helm_finds_no_fault(chart: Path) -> None:
    told = helm.lint(str(chart))
    assert told["errors"] == []
    assert [one["error"] for one in told["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("case", CASES)
def test_every_object_is_of_kubernetes_schema(chart: Path, case: str) -> None:
    found = objects(chart, CASES[case])
    own = {kind: named for kind, named in found.items() if kind not in OF_OPERATORS}
    assert set(own) >= {"Deployment", "Service", "Job", "PodDisruptionBudget"}
    for named in own.values():
        for one in named.values():
            kubernetes_validate.validate(one, KUBERNETES, strict=True)
    assert (set(found) >= OF_OPERATORS) == (case == "everything")


@pytest.mark.parametrize("case", CASES)
def test_no_container_has_root_capabilities_or_a_place_to_write(chart: Path, case: str) -> None:
    found = objects(chart, CASES[case])
    for name, one in containers(found).items():
        security = one["securityContext"]
        assert security["readOnlyRootFilesystem"], name
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert one["resources"]["limits"]["memory"]
    for one in found["Deployment"].values():
        assert one["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"]
        assert one["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_each_pod_mounts_the_secrets_of_its_role(chart: Path) -> None:
    found = objects(chart, EVERYTHING)
    pods = {**found["Deployment"], **found["Job"]}
    mounted = {
        name: {item["key"] for item in one["spec"]["template"]["spec"]["volumes"][1]["secret"]["items"]}
        for name, one in pods.items()
    }
    both = {"database-password", "broker-password"}
    assert mounted["at-api"] == both | {"text-keys", "metrics-token"}
    assert mounted["at-migrate"] == {"database-password", "first-key"}
    assert mounted["at-dispatcher"] == mounted["at-beat"] == both
    assert mounted["at-worker-summaries"] == both | {"text-keys"}
    keyed = {name for name, one in containers(found).items() if one.get("envFrom")}
    assert keyed == {name for name in mounted if name.startswith("at-worker-")}


def test_a_container_reads_no_file_that_it_does_not_mount(chart: Path) -> None:
    for values in (
        {},
        EVERYTHING,
        {"secret": {"brokerPassword": False, "metricsToken": False, "firstKey": False}},
    ):
        found = objects(chart, values)
        pods = {**found["Deployment"], **found["Job"]}
        for name, one in containers(found).items():
            items = pods[name]["spec"]["template"]["spec"]["volumes"][1]["secret"]["items"]
            read = {each["value"] for each in one["env"] if each["name"].endswith("_FILE")} - {"/tmp/alive"}
            assert read <= {f"/run/secrets/{item['path']}" for item in items}, name


def test_migrations_run_before_pods_of_the_new_release(chart: Path) -> None:
    (job,) = objects(chart, {})["Job"].values()
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_every_deployment_but_the_single_beat_may_lose_one_pod_at_a_time(chart: Path) -> None:
    found = objects(chart, {})
    chosen = [one["spec"]["selector"] for one in found["PodDisruptionBudget"].values()]
    covered = {name for name, one in found["Deployment"].items() if one["spec"]["selector"] in chosen}
    assert found["Deployment"].keys() - covered == {"at-beat"}


def test_rules_and_dashboard_are_those_of_the_operations_folder(chart: Path) -> None:
    found = objects(chart, EVERYTHING)
    (rule,) = found["PrometheusRule"].values()
    assert rule["spec"] == yaml.safe_load((ROOT / "docs/operations/alerts.yml").read_text())
    (dashboard,) = found["ConfigMap"].values()
    written = json.loads((ROOT / "docs/operations/grafana-dashboard.json").read_text())
    assert json.loads(dashboard["data"]["afterturn.json"]) == written


def test_workers_scale_by_the_oldest_due_work_and_keda_owns_their_number(chart: Path) -> None:
    found = objects(chart, EVERYTHING)
    scaled = {one["spec"]["scaleTargetRef"]["name"]: one["spec"] for one in found["ScaledObject"].values()}
    assert scaled.keys() == {
        f"at-worker-{name}" for name in ("summaries", "artifacts-plans", "learning-maintenance")
    }
    for name, one in found["Deployment"].items():
        assert ("replicas" in one["spec"]) == (name not in scaled)
    query = scaled["at-worker-summaries"]["triggers"][0]["metadata"]["query"]
    assert query == 'max(afterturn_work_oldest_due_seconds{kind=~"summarize"}) or vector(0)'

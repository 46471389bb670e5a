"""The containers run the very commands that the embedded stack runs."""

from typing import Any

import pytest
import yaml

from afterturn.stack import roles
from models.due_work.kinds import WorkQueue
from tests.data import ROOT

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
WORKERS = sorted(name for name in SERVICES if name.startswith("worker-"))
HOSTED_ELSEWHERE = {"postgres", "redis"}
MONITORING = {"prometheus", "grafana"}


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("api", roles.api_command()),
        ("dispatcher", roles.dispatcher_command()),
        ("beat", roles.beat_command()),
        ("flower", roles.flower_command(address="0.0.0.0")),
    ],
)
def test_a_service_runs_the_command_of_its_role(service: str, command: list[str]) -> None:
    assert SERVICES[service]["command"] == command


def test_the_first_service_migrates_and_then_stores_the_first_key() -> None:
    *shell, script = SERVICES["migrate"]["command"]
    assert shell == ["sh", "-c"]
    migrates, adopts = script.split(" && ")
    assert migrates == "python -m afterturn migrate"
    assert adopts.startswith("python -m afterturn keys adopt first --file ")


@pytest.mark.parametrize("service", WORKERS)
def test_a_worker_runs_the_workers_command_on_its_queues(service: str) -> None:
    command = SERVICES[service]["command"]
    queues = option(command, "--queues").split(",")
    concurrency = int(option(command, "--concurrency"))
    name = option(command, "--hostname").removesuffix("@%h")
    assert command == roles.worker_command(queues, concurrency=concurrency, name=name)


def test_every_queue_has_exactly_one_group_of_workers() -> None:
    served = [queue for name in WORKERS for queue in option(SERVICES[name]["command"], "--queues").split(",")]
    assert sorted(served) == sorted(WorkQueue)


def test_no_service_is_without_a_role_here() -> None:
    known = {"api", "dispatcher", "beat", "flower", "migrate", *WORKERS}
    assert set(SERVICES) == known | HOSTED_ELSEWHERE | MONITORING
    assert {name for name in SERVICES if SERVICES[name].get("profiles") == ["monitoring"]} == MONITORING


def test_the_services_together_get_the_settings_of_the_embedded_stack() -> None:
    settings = roles.application_environment(database_url="", broker_url="", api_port=0)
    assert set(SERVICES["api"]["environment"]) >= set(settings)


@pytest.mark.parametrize("service", sorted(set(SERVICES) - {"migrate"}))
def test_every_lasting_service_has_a_health_check(service: str) -> None:
    assert SERVICES[service]["healthcheck"]["test"]

"""The containers run the very commands that the embedded stack runs."""

from typing import Any

import pytest
import yaml

from afterturn.stack import roles
from tests.data import ROOT

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
WORKERS = sorted(name for name in SERVICES if name.startswith("worker-"))
HOSTED_ELSEWHERE = {"postgres", "redis"}


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("api", roles.api_command()),
        ("dispatcher", roles.dispatcher_command()),
        ("beat", roles.beat_command()),
        ("flower", roles.flower_command(address="0.0.0.0")),
        ("migrate", ["python", "-m", "afterturn", "migrate"]),
    ],
)
def test_a_service_runs_the_command_of_its_role(service: str, command: list[str]) -> None:
    assert SERVICES[service]["command"] == command


@pytest.mark.parametrize("service", WORKERS)
def test_a_worker_runs_the_workers_command_on_its_queues(service: str) -> None:
    command = SERVICES[service]["command"]
    queues = option(command, "--queues").split(",")
    concurrency = int(option(command, "--concurrency"))
    name = option(command, "--hostname").removesuffix("@%h")
    assert command == roles.worker_command(queues, concurrency=concurrency, name=name)


def test_every_queue_has_exactly_one_group_of_workers() -> None:
    served = [queue for name in WORKERS for queue in option(SERVICES[name]["command"], "--queues").split(",")]
    assert sorted(served) == sorted(roles.QUEUES)


def test_no_service_is_without_a_role_here() -> None:
    known = {"api", "dispatcher", "beat", "flower", "migrate", *WORKERS} | HOSTED_ELSEWHERE
    assert set(SERVICES) == known


def test_the_services_together_get_the_settings_of_the_embedded_stack() -> None:
    settings = roles.application_environment(database_url="", broker_url="", api_port=0)
    assert set(SERVICES["api"]["environment"]) >= set(settings)


@pytest.mark.parametrize("service", sorted(set(SERVICES) - {"migrate"}))
def test_every_lasting_service_has_a_health_check(service: str) -> None:
    assert SERVICES[service]["healthcheck"]["test"]

"""The containers' file: valid without a Docker to ask, closed to the outside, true to the embedded stack."""

import re
from graphlib import TopologicalSorter
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from afterturn.checks import BACKGROUND_ROLES
from afterturn.settings_report import PREFIX, unknown_variables
from afterturn.stack.servers import INITDB_OPTIONS, POSTGRES_SETTINGS, POSTGRES_VERSION
from llm.settings import PROVIDER_KEYS
from tests.data import ROOT
from tests.unit.sources import PACKAGES
from workers.app import app

Duration = Annotated[str, Field(pattern=r"^[1-9]\d*s$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z-]*$")]


class Part(BaseModel):
    """A part of the file as we use it: a key that is not named here is a typing error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class HealthCheck(Part):
    test: Annotated[list[str], Field(min_length=2)]
    interval: Duration
    timeout: Duration
    retries: Annotated[int, Field(ge=1)]
    start_period: Duration | None = None


class Dependency(Part):
    condition: Literal["service_healthy", "service_completed_successfully"]


class EnvironmentFile(Part):
    path: str
    required: bool


class Service(Part):
    image: Annotated[str, Field(pattern=r"^[a-z]+(:\d+)?$")]
    build: Literal["."] | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None
    init: bool = False
    restart: Literal["no", "unless-stopped"]
    stop_grace_period: Duration = "10s"
    env_file: list[EnvironmentFile] = []
    environment: dict[str, str] = {}
    depends_on: dict[Name, Dependency] = {}
    healthcheck: HealthCheck | None = None
    ports: list[Annotated[str, Field(pattern=r"^127\.0\.0\.1:\d+:\d+$")]] = []
    volumes: list[Annotated[str, Field(pattern=r"^[a-z]+:/[\w/]+$")]] = []


class Compose(Part):
    services: dict[Name, Service]
    volumes: dict[Name, None]


WRITTEN: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
FILE = Compose.model_validate({key: part for key, part in WRITTEN.items() if not key.startswith("x-")})
SERVICES = FILE.services
OURS = {name: service for name, service in SERVICES.items() if service.image == "afterturn"}
WORKERS = {name for name in OURS if name.startswith("worker-")}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def seconds(duration: str) -> int:
    return int(duration.removesuffix("s"))


def test_services_start_in_an_order_that_exists() -> None:
    graph = {name: set(service.depends_on) for name, service in SERVICES.items()}
    assert set(TopologicalSorter(graph).static_order()) == set(SERVICES)


def test_what_is_waited_for_can_come_true() -> None:
    waits = [
        (target, wait.condition)
        for service in SERVICES.values()
        for target, wait in service.depends_on.items()
    ]
    assert waits
    for target, condition in waits:
        if condition == "service_healthy":
            assert SERVICES[target].healthcheck
        else:
            assert SERVICES[target].restart == "no"


def test_everything_that_runs_on_waits_for_the_migrations() -> None:
    lasting = {name for name, service in OURS.items() if service.restart != "no"}
    assert lasting == {name for name, service in OURS.items() if "migrate" in service.depends_on}


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service.healthcheck])
def test_a_health_check_ends_before_the_next_and_is_run_as_written(name: str) -> None:
    check = SERVICES[name].healthcheck
    assert check
    assert check.test[0] in {"CMD", "CMD-SHELL"}
    assert seconds(check.timeout) <= seconds(check.interval)
    if "--alive" in check.test:
        assert check.test[-2:] in [["--alive", role] for role in BACKGROUND_ROLES]


def test_every_volume_is_declared_and_used() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.volumes}
    assert used == set(FILE.volumes)


def test_every_variable_is_one_that_somebody_reads() -> None:
    given = {name: "" for service in OURS.values() for name in service.environment}
    assert unknown_variables(given) == []
    others = {name for name in given if not name.startswith(PREFIX)}
    assert others == {"LITELLM_LOCAL_MODEL_COST_MAP", "FLOWER_BASIC_AUTH"}


@pytest.mark.parametrize(
    ("file", "services"),
    [
        ("models.env", WORKERS),
        ("text.env", WORKERS | {"api"}),
        ("api.env", {"api"}),
        ("afterturn.env", OURS.keys() - {"flower"}),
    ],
)
def test_a_file_of_settings_goes_to_those_who_need_it(file: str, services: set[str]) -> None:
    held = {name: {each.path for each in service.env_file} for name, service in OURS.items()}
    assert {name for name, files in held.items() if file in files} == services
    assert not {name for service in OURS.values() for name in service.environment} & set(PROVIDER_KEYS)


@pytest.mark.parametrize(
    ("variable", "services"),
    [
        ("AFTERTURN_DATABASE_URL", OURS.keys() - {"flower"}),
        ("AFTERTURN_BROKER_URL", OURS.keys() - {"migrate"}),
        ("AFTERTURN_RATE_URL", {"api"}),
        ("FLOWER_BASIC_AUTH", {"flower"}),
    ],
)
def test_an_address_with_a_password_goes_to_those_who_need_it(variable: str, services: set[str]) -> None:
    assert {name for name, service in SERVICES.items() if variable in service.environment} == services


def test_the_broker_asks_for_the_password_that_its_callers_bring() -> None:
    redis = SERVICES["redis"]
    password = redis.environment["REDISCLI_AUTH"]
    command = redis.command or []
    assert command[command.index("--requirepass") + 1] == password
    addresses = {
        service.environment[name]
        for service in OURS.values()
        for name in ("AFTERTURN_BROKER_URL", "AFTERTURN_RATE_URL")
        if name in service.environment
    }
    assert {address.rpartition("/")[0] for address in addresses} == {f"redis://:{password}@redis:6379"}


def test_no_password_is_written_down_or_left_empty() -> None:
    values = [
        value
        for service in SERVICES.values()
        for name, value in service.environment.items()
        if re.search(r"PASSWORD|AUTH$|_KEY$|_URL$", name)
    ]
    assert len(values) > len(OURS)
    assert not [value for value in values if not re.search(r"\$\{AFTERTURN_\w+:\?.+\}", value)]


def test_the_api_is_published_and_checked_where_it_listens() -> None:
    api = SERVICES["api"]
    port = api.environment["AFTERTURN_API_PORT"]
    assert api.ports == [f"127.0.0.1:{port}:{port}"]
    assert api.healthcheck
    assert f"http://127.0.0.1:{port}/readyz" in api.healthcheck.test[-1]


def test_a_worker_may_end_its_task_before_it_is_killed() -> None:
    grace_s = {seconds(SERVICES[name].stop_grace_period) for name in WORKERS}
    assert min(grace_s) > app.conf.worker_soft_shutdown_timeout


def test_postgres_is_the_one_that_is_tested_here() -> None:
    postgres = SERVICES["postgres"]
    assert postgres.image == f"postgres:{POSTGRES_VERSION}"
    assert set(postgres.environment["POSTGRES_INITDB_ARGS"].split()) <= set(INITDB_OPTIONS)
    assert any(
        "--builtin-locale" in option for option in postgres.environment["POSTGRES_INITDB_ARGS"].split()
    )
    shared = [f"{name}={POSTGRES_SETTINGS[name]}" for name in ("max_connections", "log_error_verbosity")]
    assert postgres.command == ["postgres", "-c", shared[0], "-c", shared[1]]


def test_redis_never_evicts_a_hint() -> None:
    command = SERVICES["redis"].command or []
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_the_image_holds_every_layer_and_only_what_is_locked() -> None:
    copied = set(re.findall(r"^COPY (\w+) \./\1$", DOCKERFILE, re.MULTILINE))
    assert copied == {*PACKAGES, "migrations"}
    assert "pip install --no-cache-dir --require-hashes -r requirements.lock" in DOCKERFILE
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert not copied & set(ignored)


def test_the_image_runs_without_root() -> None:
    assert re.findall(r"^USER (\w+)$", DOCKERFILE, re.MULTILINE)[-1:] == ["afterturn"]

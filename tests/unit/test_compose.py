"""The containers' file: valid without a Docker to ask, closed to the outside, true to the embedded stack."""

import os
import re
import subprocess
import threading
from graphlib import TopologicalSorter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

from afterturn.settings import PREFIX, unknown_variables
from afterturn.stack.servers import INITDB_OPTIONS, POSTGRES_SETTINGS, POSTGRES_VERSION
from llm.settings import PROVIDER_KEYS
from tests.data import ROOT
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


class Secret(Part):
    file: Annotated[str, Field(pattern=r"^secrets/[a-z-]+$")]


class Limits(Part):
    cpus: Literal["1"] | None = None
    memory: Annotated[str, Field(pattern=r"^\d+[MG]$")]


class Resources(Part):
    limits: Limits


class Deploy(Part):
    resources: Resources


class Build(Part):
    context: Literal["."]
    target: Literal["api", "worker"]


class Service(Part):
    image: Annotated[str, Field(pattern=r"^[a-z/-]+(:v?\d+(\.\d+)*)?$")]
    build: Build | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None
    init: bool = False
    restart: Literal["no", "unless-stopped"]
    stop_grace_period: Duration = "10s"
    read_only: Literal[True]
    tmpfs: list[str]
    cap_drop: list[Literal["ALL"]]
    cap_add: list[str] = []
    security_opt: list[Literal["no-new-privileges:true"]]
    deploy: Deploy
    user: str | None = None
    shm_size: str | None = None
    profiles: list[Literal["monitoring"]] = []
    secrets: list[str] = []
    env_file: list[str] = []  # a list of objects needs Compose 2.24
    environment: dict[str, str] = {}
    depends_on: dict[Name, Dependency] = {}
    healthcheck: HealthCheck | None = None
    ports: list[Annotated[str, Field(pattern=r"^127\.0\.0\.1:\d+:\d+$")]] = []
    volumes: list[Annotated[str, Field(pattern=r"^([a-z]+:/[\w/]+|\./[\w./-]+:/[\w./-]+:ro)$")]] = []


class Compose(Part):
    services: dict[Name, Service]
    secrets: dict[str, Secret]
    volumes: dict[Name, None]


WRITTEN: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
FILE = Compose.model_validate({key: part for key, part in WRITTEN.items() if not key.startswith("x-")})
SERVICES = FILE.services
OURS = {name: service for name, service in SERVICES.items() if service.image.startswith("afterturn-")}
WORKERS = {name for name in OURS if name.startswith("worker-")}


def test_each_process_runs_in_the_image_of_its_role() -> None:
    targets = {name: service.build.target for name, service in OURS.items() if service.build}
    assert {name for name, target in targets.items() if target == "api"} == {"api", "migrate"}
    assert all(OURS[name].image == f"afterturn-{target}" for name, target in targets.items())
    assert targets.keys() == OURS.keys()


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


def test_every_volume_is_declared_and_used() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.volumes}
    assert {name for name in used if not name.startswith("./")} == set(FILE.volumes)
    missing = [name for name in used if name.startswith("./") and not (ROOT / name).is_file()]
    assert missing == ["./secrets/metrics-token"], "made before the first start"


def test_every_secret_is_declared_made_and_used() -> None:
    used = {name for service in SERVICES.values() for name in service.secrets}
    assert used == set(FILE.secrets)
    script = (ROOT / "deploy/first-start.sh").read_text()
    assert all(secret.file.removeprefix("secrets/") in script for secret in FILE.secrets.values())


def test_a_container_reads_the_secrets_that_it_is_given_and_no_other() -> None:
    for name, service in SERVICES.items():
        said = [*service.environment.values(), *(service.command or [])]
        said += service.healthcheck.test if service.healthcheck else []
        read = {secret for text in said for secret in re.findall(r"/run/secrets/(\w+)", text)}
        assert read == set(service.secrets), name


def test_the_first_start_makes_secrets_once(tmp_path: Path) -> None:
    script = ROOT / "deploy/first-start.sh"

    def start() -> dict[str, str]:
        subprocess.run(["sh", str(script)], cwd=tmp_path, check=True, capture_output=True, timeout=60)
        return {
            str(file.relative_to(tmp_path)): file.read_text()
            for file in tmp_path.rglob("*")
            if file.is_file()
        }

    made = start()
    wanted = {secret.file for secret in FILE.secrets.values()}
    assert made.keys() == wanted | {name for one in OURS.values() for name in one.env_file}
    assert {name for name, text in made.items() if not text and name in wanted} == {"secrets/text-keys"}
    assert re.fullmatch(r"aft_[0-9a-f]{12}_[0-9a-f]{64}", made["secrets/first-key"])
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    (tmp_path / "models.env").write_text("SUMMARIZER_MODEL=extractive\n")
    assert start() == made | {"models.env": "SUMMARIZER_MODEL=extractive\n"}


def test_every_variable_is_one_that_somebody_reads() -> None:
    given = {name: "" for service in OURS.values() for name in service.environment}
    assert unknown_variables(given) == []
    others = {name for name in given if not name.startswith(PREFIX)}
    assert others == {"LITELLM_LOCAL_MODEL_COST_MAP", "FLOWER_BASIC_AUTH_FILE"}


@pytest.mark.parametrize(
    ("file", "services"),
    [
        ("models.env", WORKERS),
        ("api.env", {"api"}),
        ("afterturn.env", OURS.keys() - {"flower"}),
    ],
)
def test_a_file_of_settings_goes_to_those_who_need_it(file: str, services: set[str]) -> None:
    held = {name: set(service.env_file) for name, service in OURS.items()}
    assert {name for name, files in held.items() if file in files} == services
    assert not {name for service in OURS.values() for name in service.environment} & set(PROVIDER_KEYS)


@pytest.mark.parametrize(
    ("variable", "services"),
    [
        ("AFTERTURN_DATABASE_URL", OURS.keys() - {"flower"}),
        ("AFTERTURN_BROKER_URL", OURS.keys() - {"migrate"}),
        ("AFTERTURN_RATE_URL", {"api"}),
        ("AFTERTURN_TEXT_KEYS_FILE", WORKERS | {"api"}),
        ("AFTERTURN_METRICS_TOKEN_FILE", {"api"}),
        ("FLOWER_BASIC_AUTH_FILE", {"flower"}),
    ],
)
def test_an_address_or_a_secret_goes_to_those_who_need_it(variable: str, services: set[str]) -> None:
    assert {name for name, service in SERVICES.items() if variable in service.environment} == services


def test_the_broker_asks_for_the_password_that_its_callers_bring() -> None:
    redis = SERVICES["redis"]
    assert '--requirepass "$$(cat /run/secrets/redis_password)"' in (redis.command or [])[-1]
    for kind in ("BROKER", "RATE"):
        callers = [one.environment for one in OURS.values() if f"AFTERTURN_{kind}_URL" in one.environment]
        assert callers
        for given in callers:
            assert given[f"AFTERTURN_{kind}_URL"].startswith("redis://redis:6379/")
            assert given[f"AFTERTURN_{kind}_PASSWORD_FILE"] == "/run/secrets/redis_password"


def test_no_password_is_written_down() -> None:
    secret = re.compile(r"PASSWORD|AUTH|_KEYS?(_|$)|TOKEN")
    given = [(name, value) for service in SERVICES.values() for name, value in service.environment.items()]
    secrets = {value for name, value in given if secret.search(name)}
    assert len(secrets) > len(OURS) / 2
    assert all(value.startswith("/run/secrets/") for value in secrets)
    assert not [value for _, value in given if re.search(r"://[^/@]*:[^/@]*@", value)]


def test_only_the_database_server_has_capabilities() -> None:
    assert {name for name, service in SERVICES.items() if service.cap_add} == {"postgres"}


def test_monitoring_is_provisioned_from_the_operations_folder() -> None:
    extra = {name for name, service in SERVICES.items() if service.profiles}
    assert extra == {"prometheus", "grafana"}
    mounted = {volume.split(":")[0].rpartition("/")[2] for name in extra for volume in SERVICES[name].volumes}
    assert mounted >= {"prometheus.yml", "alerts.yml", "metrics-token", "grafana-dashboard.json"}
    (source,) = yaml.safe_load((ROOT / "deploy/grafana/datasource.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (folder,) = yaml.safe_load((ROOT / "deploy/grafana/dashboards.yml").read_text())["providers"]
    assert f":{folder['options']['path']}/afterturn.json:ro" in SERVICES["grafana"].volumes[2]


def test_the_api_is_published_and_checked_where_it_listens() -> None:
    api = SERVICES["api"]
    port = api.environment["AFTERTURN_API_PORT"]
    assert api.ports == [f"127.0.0.1:{port}:{port}"]
    assert api.healthcheck
    assert f"/dev/tcp/127.0.0.1/{port} " in api.healthcheck.test[-1]


def check_of(name: str, old: str, new: str) -> int:
    """Run the health check of a service with another address or file; return the exit code."""
    check = SERVICES[name].healthcheck
    assert check
    assert old in check.test[-1]
    shell = ["sh", "-c"] if check.test[0] == "CMD-SHELL" else check.test[1:-1]
    written = check.test[-1].replace("$$", "$").replace(old, new)
    return subprocess.run([*shell, written], check=False, capture_output=True, timeout=60).returncode


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_check_of_the_api_follows_readyz(status: int, code: int) -> None:
    asked: list[str] = []

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            assert check_of("api", "/8700", f"/{server.server_port}") == code
        finally:
            server.shutdown()
            thread.join()
    assert asked == ["/readyz"]


@pytest.mark.parametrize(("name", "port"), [("api", "8700"), ("flower", "5555")])
def test_a_check_fails_where_nobody_listens(name: str, port: str) -> None:
    assert check_of(name, f"/{port}", "/1") == 1


@pytest.mark.parametrize("name", sorted(WORKERS | {"dispatcher", "beat"}))
def test_a_background_process_is_alive_by_the_file_that_its_loop_renews(name: str, tmp_path: Path) -> None:
    path = SERVICES[name].environment["AFTERTURN_ALIVE_FILE"]
    file = tmp_path / "alive"
    assert check_of(name, path, str(file)) == 1
    file.touch()
    assert check_of(name, path, str(file)) == 0
    os.utime(file, (0, 0))
    assert check_of(name, path, str(file)) == 1


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
    assert "--maxmemory-policy noeviction" in (SERVICES["redis"].command or [])[-1]

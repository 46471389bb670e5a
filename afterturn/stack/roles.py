"""Command line of every role, and the request to a keeper with the addresses in its answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from models.due_work.kinds import WorkQueue

LOOPBACK = "127.0.0.1"


class StackRole(StrEnum):
    """Purpose of a process in the stack."""

    POSTGRES = "postgres"
    VALKEY = "valkey"
    API = "api"
    DISPATCHER = "dispatcher"
    WORKER = "worker"
    BEAT = "beat"
    FLOWER = "flower"


SERVERS = (StackRole.POSTGRES, StackRole.VALKEY)
APPLICATIONS = (StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT, StackRole.FLOWER)

PASSED_ON = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Environment of every process beside its settings: prices come from the package, never from the network."""


def api_command() -> list[str]:
    """Build the command of the API; host and port come from AFTERTURN_API_HOST and AFTERTURN_API_PORT."""
    return ["python", "-m", "api"]


def dispatcher_command() -> list[str]:
    """Build the command of the dispatcher, the sender of hints for due work."""
    return ["python", "-m", "workers.dispatch"]


def worker_command(
    queues: Sequence[str] = tuple(WorkQueue), *, concurrency: int = 2, name: str = "worker"
) -> list[str]:
    """Build the command of a worker for some queues.

    Args:
        queues: The queues to serve; by default all, as in the embedded stack.
        concurrency: Processes of the pool, >= 1.
        name: The node's name before the host's, as shown in Flower.
    """
    return [
        *("python", "-m", "celery", "-A", "workers.app", "worker"),
        *("--pool", "prefork", "--concurrency", str(concurrency)),
        *("--queues", ",".join(queues), "--hostname", f"{name}@%h"),
        *("--without-mingle", "--without-gossip"),
    ]


def beat_command(schedule: str = "/tmp/beat-schedule") -> list[str]:  # noqa: S108 - a container's own
    """Build the command of beat; ticks only make work due, so two beats do no harm.

    Args:
        schedule: The file of beat's last ticks.
    """
    return ["python", "-m", "celery", "--quiet", "-A", "workers.app", "beat", f"--schedule={schedule}"]


def flower_command(*, address: str = LOOPBACK, port: int = 5555) -> list[str]:
    """Build the command of Flower, the view of workers and tasks.

    Args:
        address: The interface to listen on.
        port: The port to listen on.
    """
    return [
        *("python", "-m", "celery", "-A", "workers.app", "flower", "--conf=workers/flower_door.py"),
        *(f"--address={address}", f"--port={port}"),
    ]


def application_environment(
    *, database_url: str, broker_url: str, rate_url: str = "", api_port: int
) -> Mapping[str, str]:
    """Build the settings shared by all processes of a stack.

    Args:
        database_url: PostgreSQL's address, as postgresql://.
        broker_url: Valkey's address, as redis://.
        rate_url: Address of the call counters: the same server, another database.
        api_port: The port of the API on loopback.
    """
    return {
        **PASSED_ON,
        "AFTERTURN_DATABASE_URL": database_url,
        "AFTERTURN_BROKER_URL": broker_url,
        "AFTERTURN_RATE_URL": rate_url,
        "AFTERTURN_API_HOST": LOOPBACK,
        "AFTERTURN_API_PORT": str(api_port),
    }


@dataclass(frozen=True)
class StackRequest:
    """Description of a stack to keep.

    Attributes:
        directory: Directory of all the stack's files.
        keep: Leave the directory at the end.
        owner_pid: The owner's process.
        roles: Roles to run; the two servers always run.
        port: The API's port, 0 for any.
    """

    directory: str
    keep: bool
    owner_pid: int
    roles: Sequence[str] = (*SERVERS, *APPLICATIONS)
    port: int = 0

    def to_json(self) -> str:
        """Write the request as a line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read the output of `to_json`."""
        return cls(**json.loads(line))


@dataclass(frozen=True)
class Addresses:
    """Addresses of a running stack.

    Attributes:
        base_url: The API.
        api_key: A key for the API.
        flower_url: The view of the workers.
        flower_auth: Credentials of the view, as `name:password`.
        database_url: PostgreSQL, as postgresql://.
        broker_url: Valkey, as redis://.
        directory: Directory of data and logs.
        pids: The processes by role, at the time of readiness.
    """

    base_url: str
    api_key: str
    flower_url: str
    flower_auth: str
    database_url: str
    broker_url: str
    directory: Path
    pids: dict[str, int] = field(default_factory=dict)

    def to_json_object(self) -> dict[str, Any]:
        """Return the addresses as a JSON object."""
        return {**asdict(self), "directory": str(self.directory)}

    @classmethod
    def from_json_object(cls, body: dict[str, Any]) -> Self:
        """Read the output of `to_json_object`."""
        return cls(**{**body, "directory": Path(body["directory"])})

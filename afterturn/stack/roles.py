"""The command line of every role, in the one place that the embedded stack and the containers share."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

LOOPBACK = "127.0.0.1"

QUEUES = ("summaries", "artifacts", "plans", "learning", "maintenance", "isolation")
"""Every Celery queue; one embedded worker serves them all, containers split them."""


class Role(StrEnum):
    """What a process of the stack is there for."""

    POSTGRES = "postgres"
    VALKEY = "valkey"
    API = "api"
    DISPATCHER = "dispatcher"
    WORKER = "worker"
    BEAT = "beat"
    FLOWER = "flower"


SERVERS = (Role.POSTGRES, Role.VALKEY)
APPLICATIONS = (Role.API, Role.DISPATCHER, Role.WORKER, Role.BEAT, Role.FLOWER)

PASSED_ON = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""What every process gets besides its settings: prices come from the package, never from the network."""


def api_command() -> list[str]:
    """Serve HTTP; host and port come from AFTERTURN_API_HOST and AFTERTURN_API_PORT."""
    return ["python", "-m", "api"]


def dispatcher_command() -> list[str]:
    """Ring for due work."""
    return ["python", "-m", "workers.dispatch"]


def worker_command(
    queues: Sequence[str] = QUEUES, *, concurrency: int = 2, name: str = "worker"
) -> list[str]:
    """Do the work of some queues.

    Args:
        queues: The queues to hear bells of.
        concurrency: Processes of the pool, >= 1.
        name: The node's name before the host's, as Flower shows it.
    """
    return [
        *("python", "-m", "celery", "-A", "workers.app", "worker"),
        *("--pool", "prefork", "--concurrency", str(concurrency)),
        *("--queues", ",".join(queues), "--hostname", f"{name}@%h"),
        *("--without-mingle", "--without-gossip"),
    ]


def beat_command(schedule: str = "/tmp/beat-schedule") -> list[str]:  # noqa: S108 - a container's own
    """Tick; every tick only makes work due, so two beats do no harm.

    Args:
        schedule: The file in which beat remembers its last ticks.
    """
    return ["python", "-m", "celery", "--quiet", "-A", "workers.app", "beat", f"--schedule={schedule}"]


def flower_command(*, address: str = LOOPBACK, port: int = 5555) -> list[str]:
    """Show the workers and their tasks.

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
    """The settings that the processes of one stack share.

    Args:
        database_url: Where PostgreSQL listens, as postgresql://.
        broker_url: Where Valkey listens, as redis://.
        rate_url: Where calls are counted: the same server, another database.
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

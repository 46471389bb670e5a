"""Composition of the stack: processes, their order, ports, settings and readiness."""

import errno
import http.client
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from afterturn.stack import roles
from afterturn.stack.home import MARK, Home
from afterturn.stack.processes import Launch, Unit
from afterturn.stack.roles import LOOPBACK, Addresses, StackRequest, StackRole
from afterturn.stack.servers import Postgres, Valkey
from api.http.process_group import usable_cores


class PortTakenError(Exception):
    """A port requested by number is taken."""


class ReservedPorts:
    """Ports held by bound sockets without listening.

    The kernel never assigns a bound port, yet a server with SO_REUSEADDR, as in all of the stack's servers,
    may bind and listen on the port. So the port stays reserved over every restart of the server.
    """

    def __init__(self) -> None:
        """Start without any port."""
        self._held: list[socket.socket] = []

    def reserve(self, wanted: int = 0, *, preferred: int = 0) -> int:
        """Hold a port until `close`.

        Args:
            wanted: The required port, or 0 for any.
            preferred: The port to try first if any port will do, or 0.

        Returns:
            The port's number.

        Raises:
            PortTakenError: The port `wanted` is in use.
        """
        if wanted:
            return self._hold(wanted)
        try:
            return self._hold(preferred)
        except PortTakenError:
            return self._hold(0)

    def _hold(self, port: int) -> int:
        holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind((LOOPBACK, port))
        except OSError as error:
            holder.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise PortTakenError(f"port {port} on {LOOPBACK} can't be had: {error.strerror}") from error
        self._held.append(holder)
        return int(holder.getsockname()[1])

    def close(self) -> None:
        """Release every port."""
        while self._held:
            self._held.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


PROBE_TIMEOUT_S = 1.0


def answers_ready(port: int) -> bool:
    """Tell whether the API on a loopback port is ready."""
    return _readiness(port) is not None


def has_worked(port: int, role: str, since: datetime) -> bool:
    """Tell from the API whether a background role was active lately.

    Args:
        port: The API's port.
        role: The role of the heartbeat.
        since: Older heartbeats belong to an earlier process.
    """
    readiness = _readiness(port) or b"{}"
    seen = json.loads(readiness).get("last_seen", {}).get(role)
    return seen is not None and datetime.fromisoformat(seen) >= since


def listens(port: int) -> bool:
    """Tell whether a loopback port accepts connections."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _readiness(port: int) -> bytes | None:
    """Return the body of a 200 from /readyz, or None."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.read() if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


ROOT = Path(__file__).parents[2]
INITDB = "initdb"
PREPARE = "prepare"
SERVER_STAGE = 1
FLOWER_AUTH = "FLOWER_BASIC_AUTH"
MOST_API_PROCESSES = 3
"""Most processes of the API without a setting, since the server of the stack takes 200 connections."""

PORT_NAMES = (StackRole.API, StackRole.POSTGRES, StackRole.VALKEY, StackRole.FLOWER)


class Composition:
    """A stack in a directory: its ports, servers and units."""

    def __init__(self, request: StackRequest, home: Home, ports: ReservedPorts) -> None:
        """Reserve a port for every listener; the last ports are kept if free."""
        self._roles = frozenset(request.roles)
        self._home = home
        self._began = datetime.now(UTC)
        last: Mapping[str, int] = home.remembered["ports"]
        self._ports = {
            name: ports.reserve(request.port if name is StackRole.API else 0, preferred=last.get(name, 0))
            for name in PORT_NAMES
        }
        home.remember(ports=self._ports)
        self._postgres = Postgres(home, self._ports[StackRole.POSTGRES], self._plain_environment())
        self._valkey = Valkey(home, self._ports[StackRole.VALKEY], self._plain_environment())

    def addresses(self, pids: dict[str, int]) -> Addresses:
        """Addresses of the ready stack."""
        return Addresses(
            base_url=f"http://{LOOPBACK}:{self._ports[StackRole.API]}",
            api_key=self._home.api_key.read_text(),
            flower_url=f"http://{LOOPBACK}:{self._ports[StackRole.FLOWER]}",
            flower_auth=self._flower_auth,
            database_url=self._postgres.url,
            broker_url=self._valkey.url,
            directory=self._home.path,
            pids=pids,
        )

    def units(self) -> list[Unit]:
        """List every process, servers first."""
        return [*self._server_units(), *(u for u in self._application_units() if u.name in self._roles)]

    def _server_units(self) -> list[Unit]:
        make = Unit(
            INITDB, self._postgres.making, once=True, succeeded=self._postgres.made, stage=SERVER_STAGE
        )
        made = self._postgres.is_made
        return [
            *([] if made else [make]),
            Unit(
                StackRole.POSTGRES,
                self._postgres.running,
                self._postgres.is_ready,
                after=() if made else (INITDB,),
                stage=SERVER_STAGE,
            ),
            Unit(StackRole.VALKEY, self._valkey.running, self._valkey.is_ready, stage=SERVER_STAGE),
            Unit(PREPARE, self._prepare, after=(StackRole.POSTGRES,), once=True),
        ]

    def _application_units(self) -> list[Unit]:
        after = (PREPARE, StackRole.VALKEY)
        api_port = self._ports[StackRole.API]
        works = partial(has_worked, api_port, since=self._began)
        flower_port = self._ports[StackRole.FLOWER]
        schedule = str(self._home.path / "beat-schedule")
        return [
            self._unit(StackRole.API, roles.api_command(), lambda: answers_ready(api_port), (PREPARE,)),
            # It loads its models while the migrations run, and only then takes work.
            self._unit(
                StackRole.WORKER,
                roles.worker_command(),
                lambda: works(role=StackRole.WORKER),
                (StackRole.POSTGRES, StackRole.VALKEY),
            ),
            self._unit(
                StackRole.DISPATCHER,
                roles.dispatcher_command(),
                lambda: works(role=StackRole.DISPATCHER),
                after,
            ),
            self._unit(StackRole.BEAT, roles.beat_command(schedule), lambda: True, after),
            Unit(StackRole.FLOWER, self._flower, lambda: listens(flower_port), after=after),
        ]

    def _unit(
        self, role: StackRole, command: Sequence[str], is_ready: Callable[[], bool], after: Sequence[str]
    ) -> Unit:
        return Unit(role, partial(self._python, command), is_ready, after=after)

    def _prepare(self) -> Launch:
        return self._python(["python", "-m", "afterturn.stack.prepare", str(self._home.api_key)])

    @property
    def _flower_auth(self) -> str:
        """Credentials for Flower: from its own setting if present, the first of several pairs."""
        return self._flower_pairs.partition(",")[0]

    @property
    def _flower_pairs(self) -> str:
        return os.environ.get(FLOWER_AUTH) or self._home.flower_auth

    def _flower(self) -> Launch:
        """Build the unit of Flower; the password goes by the environment, since command lines are public."""
        launch = self._python(roles.flower_command(port=self._ports[StackRole.FLOWER]))
        return replace(launch, environment={**launch.environment, FLOWER_AUTH: self._flower_pairs})

    def _python(self, command: Sequence[str], death_signal: signal.Signals = signal.SIGKILL) -> Launch:
        return Launch(
            (sys.executable, *command[1:]), self._application_environment(), ROOT, death_signal=death_signal
        )

    def _plain_environment(self) -> dict[str, str]:
        """Environment of servers, without anybody's secrets."""
        return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", MARK: str(self._home.path)}

    def _application_environment(self) -> dict[str, str]:
        settings = roles.application_environment(
            database_url=self._postgres.url,
            broker_url=self._valkey.url,
            rate_url=self._valkey.rate_url,
            api_port=self._ports[StackRole.API],
        )
        return {
            "AFTERTURN_API_PROCESSES": str(min(usable_cores(), MOST_API_PROCESSES)),
            **os.environ,
            **settings,
            MARK: str(self._home.path),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(self._home.temporary),
        }

"""Composition of the stack: processes, their order and their settings."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from afterturn.stack import ready, roles
from afterturn.stack.home import Home
from afterturn.stack.ports import ReservedPorts
from afterturn.stack.processes import Launch
from afterturn.stack.request import Addresses, Request
from afterturn.stack.roles import LOOPBACK, Role
from afterturn.stack.servers import Postgres, Valkey
from afterturn.stack.supervisor import Unit
from afterturn.stack.sweep import MARK

ROOT = Path(__file__).parents[2]
INITDB = "initdb"
PREPARE = "prepare"
SERVER_STAGE = 1
FLOWER_AUTH = "FLOWER_BASIC_AUTH"
PORT_NAMES = (Role.API, Role.POSTGRES, Role.VALKEY, Role.FLOWER)


class Composition:
    """A stack in a directory: its ports, servers and units."""

    def __init__(self, request: Request, home: Home, ports: ReservedPorts) -> None:
        """Reserve a port for every listener; the last ports are kept if free."""
        self._roles = frozenset(request.roles)
        self._home = home
        self._began = datetime.now(UTC)
        last: Mapping[str, int] = home.remembered["ports"]
        self._ports = {
            name: ports.reserve(request.port if name is Role.API else 0, preferred=last.get(name, 0))
            for name in PORT_NAMES
        }
        home.remember(ports=self._ports)
        self._postgres = Postgres(home, self._ports[Role.POSTGRES], self._plain_environment())
        self._valkey = Valkey(home, self._ports[Role.VALKEY], self._plain_environment())

    def addresses(self, pids: dict[str, int]) -> Addresses:
        """Addresses of the ready stack."""
        return Addresses(
            base_url=f"http://{LOOPBACK}:{self._ports[Role.API]}",
            api_key=self._home.api_key.read_text(),
            flower_url=f"http://{LOOPBACK}:{self._ports[Role.FLOWER]}",
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
                Role.POSTGRES,
                self._postgres.running,
                self._postgres.is_ready,
                after=() if made else (INITDB,),
                stage=SERVER_STAGE,
            ),
            Unit(Role.VALKEY, self._valkey.running, self._valkey.is_ready, stage=SERVER_STAGE),
            Unit(PREPARE, self._prepare, after=(Role.POSTGRES,), once=True),
        ]

    def _application_units(self) -> list[Unit]:
        after = (PREPARE, Role.VALKEY)
        api_port = self._ports[Role.API]
        works = partial(ready.has_worked, api_port, since=self._began)
        flower_port = self._ports[Role.FLOWER]
        schedule = str(self._home.path / "beat-schedule")
        return [
            self._unit(Role.API, roles.api_command(), lambda: ready.answers_ready(api_port), (PREPARE,)),
            # It loads its models while the migrations run, and only then takes work.
            self._unit(
                Role.WORKER,
                roles.worker_command(),
                lambda: works(role=Role.WORKER),
                (Role.POSTGRES, Role.VALKEY),
            ),
            self._unit(
                Role.DISPATCHER, roles.dispatcher_command(), lambda: works(role=Role.DISPATCHER), after
            ),
            self._unit(Role.BEAT, roles.beat_command(schedule), lambda: True, after),
            Unit(Role.FLOWER, self._flower, lambda: ready.listens(flower_port), after=after),
        ]

    def _unit(
        self, role: Role, command: Sequence[str], is_ready: Callable[[], bool], after: Sequence[str]
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
        launch = self._python(roles.flower_command(port=self._ports[Role.FLOWER]))
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
            api_port=self._ports[Role.API],
        )
        return {
            **os.environ,
            **settings,
            MARK: str(self._home.path),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(self._home.temporary),
        }

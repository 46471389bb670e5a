"""Processes beside those of the stack: one more of a role, or a server of one's own."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.data import ROOT

STOP_S = 30


@contextmanager
def process(command: list[str], settings: Mapping[str, str], log: Path) -> Iterator[None]:
    """One more process of a role, outside the stack."""
    with log.open("wb") as output:
        started = subprocess.Popen(
            [sys.executable, *command[1:]], cwd=ROOT, env=dict(settings), stdout=output, stderr=output
        )
        try:
            yield
        finally:
            started.terminate()
            try:
                started.wait(STOP_S)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


@contextmanager
def server(command: list[str], directory: Path) -> Iterator[None]:
    """A server that needs nothing but to be started."""
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) as started:
        try:
            yield
        finally:
            started.terminate()

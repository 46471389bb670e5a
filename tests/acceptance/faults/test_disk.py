"""The disk is full: turns are refused, not lost, and taken again as soon as there is room."""

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.platform import Platform, environment
from tests.oracle import find_violations

DISK_MB, LEFT_MB = 500, 3
TURN_CHARACTERS = 60_000
MOST_TURNS = 500
"""Many more than fit into what is left."""


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of its own, in memory."""
    with tempfile.TemporaryDirectory(prefix="afterturn-disk-") as place:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", place]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave almost no room on a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - LEFT_MB * 2**20)
    try:
        yield
    finally:
        ballast.unlink()


def large_turn(number: int) -> list[dict[str, str]]:
    """A message that no compression makes small."""
    noise = random.Random(number).randbytes(TURN_CHARACTERS // 2).hex()  # noqa: S311
    return [{"role": "user", "content": noise}, {"role": "assistant", "content": "Noted."}]


def test_a_full_disk_refuses_turns_and_loses_none(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer sent before the commit would promise turns that are not there once the disk was full.

    Red without "intake: acknowledged after the commit".
    """
    with ScriptedServer() as model:
        for name, value in environment(model).items():
            monkeypatch.setenv(name, value)
        with Stack(small_disk / "stack", roles=(*SERVERS, StackRole.API)) as stack:
            platform = Platform(stack, model)
            with filled(small_disk):
                refused = send_until_refused(platform)
            assert platform.send_until_accepted("disk", f"disk-{refused}", large_turn(refused)) is False
            assert find_violations(platform.database_url, platform.log, overdue_s=3600) == []
            platform.close()


def send_until_refused(platform: Platform) -> int:
    """Send large turns until one is not taken; its number."""
    for number in range(MOST_TURNS):
        answer = platform.send("disk", f"disk-{number}", large_turn(number))
        if answer is None or not answer.is_success:
            assert answer is None or answer.is_server_error, answer.text
            return number
    raise AssertionError("the disk was never full")

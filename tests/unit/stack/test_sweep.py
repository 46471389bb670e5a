"""What a stack leaves behind is ended with it, and whoever only stands in its directory is not."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from afterturn.stack.home import MARK, end_leftovers, open_home

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes that would go on for ever."""
    started: list[subprocess.Popen[bytes]] = []

    def one(place: Path, **environment: str) -> "subprocess.Popen[bytes]":
        place.mkdir(parents=True, exist_ok=True)
        started.append(subprocess.Popen(["sleep", "600"], cwd=place, env={**os.environ, **environment}))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("place", ["postgres", "postgres/base", "postgres.new", "tmp"])
def test_who_works_where_servers_do_is_ended(tmp_path: Path, start: Start, place: str) -> None:
    server = start(tmp_path / place)
    assert end_leftovers(tmp_path) == 1
    assert server.wait(60) < 0


def test_who_was_started_for_the_stack_is_ended_wherever_it_works(tmp_path: Path, start: Start) -> None:
    home = tmp_path / "home"
    marked = start(tmp_path / "elsewhere", **{MARK: str(home)})
    other = start(tmp_path / "elsewhere", **{MARK: f"{home}-2"})
    assert end_leftovers(home) == 1
    assert marked.wait(60) < 0
    assert other.poll() is None


@pytest.mark.parametrize("place", ["", "logs", "postgres-notes"])
def test_the_shell_of_somebody_who_looks_around_is_left_alone(
    tmp_path: Path, start: Start, place: str
) -> None:
    shell = start(tmp_path / place)
    assert end_leftovers(tmp_path) == 0
    assert shell.poll() is None


def test_a_temporary_stack_ends_what_still_writes_before_its_directory_goes(
    tmp_path: Path, start: Start
) -> None:
    with open_home(tmp_path / "home", owner_pid=os.getpid(), keep=False) as home:
        late = start(home.postgres)
    assert late.wait(60) < 0
    assert not home.path.exists()

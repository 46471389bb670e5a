"""A log that cannot be written: the writer never hears of it, and the next reader does."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from models.telemetry.logging import LogFile
from tests.data import ROOT

SMALLEST_PIPE = 4096
LINE = b'{"event": "deed_done"}\n'


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe that is full after one page."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    yield ours, theirs
    for end in (ours, theirs):
        try:
            os.close(end)
        except OSError as error:
            assert error.errno == errno.EBADF  # noqa: PT017 (the test closed it)


def told(ours: int) -> list[bytes]:
    os.set_blocking(ours, False)
    found = b""
    try:
        while chunk := os.read(ours, 65_536):
            found += chunk
    except BlockingIOError:
        pass
    return found.splitlines(keepends=True)


def test_a_line_is_written_whole_and_nothing_is_said_of_it(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    assert LogFile(theirs).write(LINE) == len(LINE)
    assert told(ours) == [LINE]


@pytest.mark.parametrize("place", ["/dev/full", "/dev/null"])
def test_a_full_disk_is_no_error_of_the_writer(place: str) -> None:
    with open(place, "wb", buffering=0) as file:  # noqa: PTH123 (a device)
        log = LogFile(file.fileno())
        assert [log.write(LINE) for _ in range(3)] == [len(LINE)] * 3


def test_neither_is_a_closed_pipe_nor_a_closed_descriptor(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    log = LogFile(theirs)
    os.close(ours)
    assert log.write(LINE) == len(LINE)
    os.close(theirs)
    assert log.write(LINE) == len(LINE)


def test_a_reader_that_sleeps_holds_nobody_up_and_learns_how_much_it_missed(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    log, filling = LogFile(theirs), b"x" * (SMALLEST_PIPE - 1) + b"\n"
    log.write(filling)
    for _ in range(5):
        log.write(LINE)
    assert told(ours) == [filling]
    log.write(LINE)
    missed, line = told(ours)
    assert (json.loads(missed)["lines"], json.loads(missed)["error"]) == (5, "EAGAIN")
    assert line == LINE
    log.write(LINE)
    assert told(ours) == [LINE], "it is said once"


def test_the_line_after_one_that_was_cut_begins_anew(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    log = LogFile(theirs)
    log.write(b"y" * (2 * SMALLEST_PIPE) + b"\n")
    [cut] = told(ours)
    assert cut == b"y" * SMALLEST_PIPE
    log.write(LINE)
    end, missed, line = told(ours)
    assert (end, json.loads(missed)["lines"], line) == (b"\n", 1, LINE)


DEEDS = """
import logging, os, sys, threading
import structlog
from models.telemetry.logging import configure_logging
configure_logging()
class Wrong:
    def __repr__(self):
        raise RuntimeError("marigold")
    __str__ = __repr__
circle = []
circle.append(circle)
log, library = structlog.get_logger(), logging.getLogger("library")
log.warning("deed_done", value=Wrong())
log.warning("deed_done", value=circle)
library.warning("%s", Wrong())
library.error("no", exc_info=True)
print("words", flush=True)
print("words", file=sys.__stderr__, flush=True)
fails = threading.Thread(target=lambda: 1 / 0)
fails.start()
fails.join()
os.write(int(sys.argv[1]), b"the deeds are done")
"""


@pytest.mark.parametrize("streams", ["full", "closed", "no reader"])
def test_a_process_that_can_tell_nobody_does_its_deeds_and_ends_well(streams: str) -> None:
    ours, theirs = os.pipe()
    gone, unread = os.pipe()
    os.close(gone)
    way = {"full": ">/dev/full 2>&1", "closed": ">&- 2>&-", "no reader": f">&{unread} 2>&1"}[streams]
    with subprocess.Popen(
        ["bash", "-c", f'exec "$0" -c "$1" {theirs} {way}', sys.executable, DEEDS],
        cwd=ROOT,
        pass_fds=(theirs, unread),
    ) as process:
        os.close(theirs)
        os.close(unread)
        assert os.read(ours, 100) == b"the deeds are done"
    os.close(ours)
    assert process.returncode == 0


def test_a_value_that_cannot_be_written_is_told_of_by_the_errors_kind() -> None:
    run = subprocess.run(
        [sys.executable, "-c", DEEDS, "1"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = [line for line in run.stderr.splitlines() if line != "words"]
    events = [(line["event"], line.get("error")) for line in map(json.loads, lines)]
    unmade = ("RuntimeError", "ValueError", "RuntimeError")
    assert events[:3] == [("log_line_failed", kind) for kind in unmade]
    assert events[-1] == ("thread_failed", "ZeroDivisionError")
    assert "marigold" not in run.stderr

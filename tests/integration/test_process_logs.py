"""What a process logs when things go wrong: one JSON object a line, and never a word of an error."""

import json
import os
import re
import socket
import subprocess
import sys
from typing import Any

import pytest

from models.base_settings import RELEASE
from models.telemetry.logging import MOST_CHARS
from tests.data import ROOT

MARKER = "marigold"
LONG = 20_000
"""More than any buffer of a stream holds."""
SETUP = """
import asyncio, logging, threading, warnings
import structlog
from models.telemetry.logging import configure_logging
configure_logging()
word = "mari" + "gold"
def fail():
    raise ValueError(word)
def caught():
    try:
        fail()
    except ValueError as error:
        return error
"""
LIBRARY = "logging.getLogger('library')"
TASK = """
from celery.app.trace import build_tracer
from workers.app import app
app.log.setup(logging.WARNING)
@app.task(name="fails")
def fails(work_id):
    fail()
build_tracer("fails", fails, app=app)("id-1", (1,), {})
"""
NEVER_AWAITED = """
async def leave():
    asyncio.get_running_loop().create_task(raise_it())
    await asyncio.sleep(0.01)
async def raise_it():
    fail()
asyncio.run(leave())
import gc; gc.collect()
"""
ROW = """
from sqlalchemy.exc import IntegrityError
import psycopg
try:
    try:
        raise psycopg.errors.CheckViolation("DETAIL: Failing row contains " + word)
    except psycopg.Error as refused:
        raise IntegrityError("insert", {"body": word}, refused) from refused
except IntegrityError as error:
    structlog.get_logger().error("row_refused", exc_info=True)
"""
CHAIN = """
try:
    try:
        fail()
    except ValueError as error:
        raise KeyError(word) from error
except KeyError as error:
    structlog.get_logger().error("chain_failed", exc_info=error)
"""
IN_WORDS = f"""
import traceback
{LIBRARY}.error("start failed: " + "".join(traceback.format_exception(caught())))
"""
SERVER = """
from api.__main__ import _config
_config()
logging.getLogger("uvicorn.error").error("Exception in ASGI application\\n", exc_info=caught())
"""
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "the API's own server": (SERVER, {"event": "Exception in ASGI application", "logger": "uvicorn.error"}),
    "a server's exception": (
        f"{LIBRARY}.error('Exception in application\\n', exc_info=caught())",
        {"event": "Exception in application", "error": "ValueError"},
    ),
    "an exception among the values": (
        f"{LIBRARY}.error('lost: %r and %d', caught(), 3)",
        {"event": "lost: 'ValueError' and 3", "logger": "library"},
    ),
    "an exception by its name": (
        f"{LIBRARY}.error('lost: %(exc)s', dict(exc=caught()))",
        {"event": "lost: ValueError"},
    ),
    "a task that fails": (TASK, {"error": "ValueError", "logger": "celery.app.trace"}),
    "a task of asyncio that nobody asks after": (
        NEVER_AWAITED,
        {"event": "Task exception was never retrieved", "error": "ValueError"},
    ),
    "a traceback in words": (IN_WORDS, {"event": "start failed: an error"}),
    "a template that is no template": (f"{LIBRARY}.error('100% of it', caught())", {"event": "100% of it"}),
    "a thread that ends": (
        "t = threading.Thread(target=fail); t.start(); t.join()",
        {"event": "thread_failed", "error": "ValueError"},
    ),
    "a process that ends": ("fail()", {"event": "process_failed", "error": "ValueError"}),
    "a warning about a value": (
        "warnings.warn(f'input_value={word!r}')",
        {"event": "<string>:14: UserWarning", "level": "warning"},
    ),
    "a row that is refused": (ROW, {"event": "row_refused", "error": "CheckViolation"}),
    "an error from another": (CHAIN, {"error": "KeyError", "causes": ["ValueError"]}),
}


def told_by(program: str) -> list[dict[str, Any]]:
    """The lines that a process writes."""
    run = subprocess.run(
        [sys.executable, "-c", SETUP + program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert MARKER not in run.stdout + run.stderr
    return [json.loads(line) for line in run.stderr.splitlines()]


@pytest.mark.parametrize("way", WAYS)
def test_an_error_is_told_by_its_kind_and_place(way: str) -> None:
    """Red without "logs: the server's lines are ours": uvicorn would print the error's words."""
    program, expected = WAYS[way]
    [line] = told_by(program)
    assert {name: line[name] for name in expected} == expected
    assert ("where" in line) == ("error" in line)
    if line.get("error") == "ValueError":
        assert re.fullmatch(r"<string>:\d+ fail", line["where"][-1])


def test_keys_stand_in_one_order_in_every_line() -> None:
    bound = "structlog.contextvars.bind_contextvars(zoo=1, request_id='r', alpha=2, work_id='w');"
    ours, theirs = told_by(
        f"{bound} structlog.get_logger().info('deed_done', ms=1, count=2); {LIBRARY}.error('no')"
    )
    first = ["timestamp", "level", "event"]
    assert list(ours) == [*first, "request_id", "work_id", "alpha", "count", "ms", "zoo"]
    assert list(theirs) == [*first, "logger", "request_id", "work_id", "alpha", "zoo"]


def test_a_process_begins_with_its_release_and_what_is_not_the_default() -> None:
    start = "from models.process_start import tell_start; os.environ.update(GIVEN); tell_start('api')"
    given = {"AFTERTURN_DATABASE_URL": f"postgresql://me:{MARKER}@host/db", "AFTERTURN_POOL_SIZE": "7"}
    [line] = told_by(f"import os; GIVEN = {given}; {start}".replace(MARKER, "mari' + 'gold"))
    assert (line["event"], line["role"], line["release"]) == ("process_started", "api", RELEASE)
    assert line["settings"]["AFTERTURN_POOL_SIZE"] == "7"
    assert line["settings"]["AFTERTURN_DATABASE_URL"] == "postgresql://me:****@host/db"


def test_what_a_library_says_is_no_longer_than_a_line() -> None:
    [line] = told_by(f"{LIBRARY}.warning('%s', 'long ' * 1000)")
    assert len(line["event"]) == MOST_CHARS


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_line_and_its_end_are_one_write(unbuffered: str) -> None:
    """Processes of one pool share a log: between two writes, another's line would come into this one."""
    program = f"""
for log in (structlog.get_logger(), {LIBRARY}):
    for chars in (1, {MOST_CHARS}, {LONG}):
        log.warning("x" * chars)
"""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        subprocess.run(
            [sys.executable, "-c", SETUP + program],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stderr=theirs.fileno(),
            check=True,
        )
        lines = [json.loads(ours.recv(2 * LONG, socket.MSG_DONTWAIT)) for _ in range(6)]
        with pytest.raises(BlockingIOError):
            ours.recv(1, socket.MSG_DONTWAIT)
    assert [len(line["event"]) for line in lines] == [1, MOST_CHARS, LONG, 1, MOST_CHARS, MOST_CHARS]


def test_a_library_may_say_what_is_no_warning_to_itself() -> None:
    assert told_by(f"{LIBRARY}.info('%s', word)") == []


@pytest.mark.parametrize("module", ["api", "workers.dispatch"])
def test_a_process_with_a_wrong_setting_says_which_and_ends(module: str) -> None:
    environment = {**os.environ, "AFTERTURN_RECALL_MAX_SHARE": "2"}
    run = subprocess.run(
        [sys.executable, "-m", module], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    named = "a setting is wrong: AFTERTURN_RECALL_MAX_SHARE: Input should be less than or equal to 1"
    assert run.stderr.strip() == named

"""The API as it is, with a route beside it that does the least a context read could do.

The floor checks the key, runs the SELECTs of tail and summary, and answers the bytes of the real answer. Each
answer says in a header how many statements and connection checkouts came before it.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Response
from sqlalchemy import Engine, event, text
from sqlalchemy.pool import Pool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from afterturn.stack.roles import LOOPBACK, application_environment
from afterturn.stack.stack import Stack
from api.app import make_app
from api.http.call import BodyCall
from models.database import read_transaction
from models.telemetry.logging import configure_logging

READY_S = 180.0
TAIL = text(
    "select seq, turn_index, role, wire, tokens, tokens_wide, body from message"
    " where tenant_id = :tenant_id and session_id = :session_id and seq > :after order by seq"
)
SUMMARY = text(
    "select version, from_seq, to_seq, text, tokens from summary"
    " where tenant_id = :tenant_id and session_id = :session_id and state = 'active'"
)
_counted: ContextVar[list[int] | None] = ContextVar("counted", default=None)


class CountTrips:
    """Say in a header how many statements and checkouts an answer took, without what came after it."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application, and count over every pool of the process."""
        self.app = app
        event.listen(Engine, "before_cursor_execute", lambda *_: _add(0))
        event.listen(Pool, "checkout", lambda *_: _add(1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count for a request."""
        counts = [0, 0]
        token = _counted.set(counts)

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = f"{counts[0]} {counts[1]}".encode()
                message["headers"] = [*message.get("headers", []), (b"x-trips", said)]
            await send(message)

        try:
            await self.app(scope, receive, told)
        finally:
            _counted.reset(token)


def _add(place: int) -> None:
    counts = _counted.get()
    if counts is not None:
        counts[place] += 1


def make_measured_app() -> FastAPI:
    """Build the real application with the floor's routes."""
    app = make_app()
    kept: dict[str, bytes] = {}

    @app.put("/floor/{name}")
    def keep(name: str, call: BodyCall) -> Response:
        call.caller("read")
        kept[name] = call.raw
        return Response(status_code=204)

    @app.post("/floor/{name}")
    def floor(name: str, call: BodyCall, session: str, after: int) -> Response:
        caller = call.caller("read")
        asked = {"tenant_id": caller.tenant_id, "session_id": session}
        with read_transaction() as db:
            db.execute(TAIL, {**asked, "after": after}).all()
            db.execute(SUMMARY, asked).all()
        return Response(kept[name], media_type="application/json")

    app.add_middleware(CountTrips)
    return app


@contextmanager
def serving(
    stack: Stack, *, settings: Mapping[str, str] | None = None, root: Path | None = None
) -> Iterator[tuple[str, int]]:
    """Run the measured application in a process of its own; give its address and its number.

    Args:
        stack: Its database and broker.
        settings: Further settings.
        root: Root of another checkout; None for the present one.
    """
    port, at = free_port(), stack.at
    own: dict[str, str] = dict(
        application_environment(database_url=at.database_url, broker_url=at.broker_url, api_port=port)
    )
    child = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
        [sys.executable, "-m", "benchmarks.context_read.server", str(port)],
        env={**os.environ, **own, **(settings or {})},
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the log of thousands of reads
    )
    try:
        wait_ready(f"http://{LOOPBACK}:{port}", child)
        yield f"http://{LOOPBACK}:{port}", child.pid
    finally:
        child.terminate()
        child.wait(20)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_ready(base_url: str, child: "subprocess.Popen[bytes]") -> None:
    """Wait until a server takes calls.

    Raises:
        RuntimeError: It takes too long, or has ended.
    """
    until = time.monotonic() + READY_S
    while time.monotonic() < until and child.poll() is None:
        try:
            if httpx.get(f"{base_url}/readyz").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError("the measured server is not ready")


def cpu_s(pid: int) -> float:
    """Processor time of a process, in seconds."""
    with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123 (a file of the kernel)
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Serve on the port of the command line."""
    configure_logging()
    options: dict[str, Any] = {"log_config": None, "log_level": "warning", "access_log": False}
    uvicorn.run(make_measured_app, factory=True, host=LOOPBACK, port=int(sys.argv[1]), **options)


if __name__ == "__main__":
    main()

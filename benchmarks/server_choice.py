"""Measure the servers that could carry the API, with the same application and the same load.

python -m benchmarks.server_choice [--seconds 4]

granian is no dependency; without it (`pip install granian`) its rows are left out, with the reason.
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from benchmarks.report import save

BODY = b'{"model":"gpt-4o","context_window":8000,"messages":[{"role":"user","content":"Is the gate open?"}]}'
SERVERS_TO_TRY = {
    "uvicorn (uvloop, httptools)": ["uvicorn", "--factory", "--log-level", "warning", "--no-access-log"],
    "uvicorn (asyncio, h11)": [
        *("uvicorn", "--factory", "--log-level", "warning", "--no-access-log"),
        *("--loop", "asyncio", "--http", "h11"),
    ],
    "granian (asgi)": ["granian", "--interface", "asgi", "--factory", "--log-level", "warning"],
    "granian (asgi, uvloop)": [
        *("granian", "--interface", "asgi", "--factory", "--log-level", "warning"),
        *("--loop", "uvloop"),
    ],
}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(connection: HTTPConnection, key: str) -> float:
    """One context request; its ms as the client sees them."""
    started = time.perf_counter()
    connection.request("POST", "/v1/sessions/none/context", BODY, {"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}")
    return (time.perf_counter() - started) * 1000


def load(port: int, key: str, *, clients: int, seconds: float) -> list[float]:
    """The ms of every request that so many clients made in the time."""
    end = time.perf_counter() + seconds

    def client(_: int) -> list[float]:
        connection = HTTPConnection("127.0.0.1", port)
        times = []
        while time.perf_counter() < end:
            times.append(ask(connection, key))
        return times

    with ThreadPoolExecutor(clients) as pool:
        return [ms for times in pool.map(client, range(clients)) for ms in times]


def wait_for(port: int) -> None:
    """Wait until the server answers."""
    for _ in range(2_400):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the server did not come up")


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    seconds = parser.parse_args().seconds
    table = Table(title="Servers: context requests of an empty session")
    for column in ("server", "1 client p50 ms", "p99", "16 clients, requests/s", "p99 ms"):
        table.add_column(column, justify="right")
    results = {}
    with Stack(roles=SERVERS) as stack:
        environment = {**os.environ, "AFTERTURN_DATABASE_URL": stack.at.database_url}
        for name, (module, *options) in SERVERS_TO_TRY.items():
            if find_spec(module) is None:
                print(f"{name} is left out: {module} is not installed")
                continue
            port = free_port()
            command = [sys.executable, "-m", module, *options, "--host", "127.0.0.1", "--port", str(port)]
            server = subprocess.Popen(  # noqa: S603 (servers of our own environment)
                [*command, "api.app:make_app"], env=environment
            )
            try:
                wait_for(port)
                load(port, stack.at.api_key, clients=4, seconds=1)
                alone = load(port, stack.at.api_key, clients=1, seconds=seconds)
                many = load(port, stack.at.api_key, clients=16, seconds=seconds)
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait(15)
            single, crowd = statistics.quantiles(alone, n=100), statistics.quantiles(many, n=100)
            row = (single[49], single[98], len(many) / seconds, crowd[98])
            table.add_row(name, *(f"{value:,.2f}" for value in row))
            results[name] = dict(zip(("p50_ms", "p99_ms", "per_s", "crowd_p99_ms"), row, strict=True))
    Console().print(table)
    save("server_choice", results)


if __name__ == "__main__":
    main()

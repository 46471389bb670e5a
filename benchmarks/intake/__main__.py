"""Measure the intake of turns over HTTP against a floor on the same server, and against raw transactions.

python -m benchmarks.intake [--seconds 5] [--clients 4] [--rounds 3] [--before CHECKOUT]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import LOOPBACK, SERVERS, StackRole, application_environment
from afterturn.stack.stack import Stack
from benchmarks.context_read.server import cpu_s, free_port, wait_ready
from benchmarks.intake.load import BATCH, Clients, batches, open_sessions, raw, singles
from benchmarks.report import save

ROOT = Path(__file__).parents[2]
SERVER = Path(__file__).with_name("server.py")
COUNTED = 20
"""Requests whose statements are counted, once the sessions and the connections are warm."""

FIGURES = {
    "ours_per_s": "events a second",
    "floor_per_s": "floor, events a second",
    "raw_per_s": "raw transactions, events a second",
    "of_floor": "ours / floor",
    "of_raw": "ours / raw",
    "cpu_ms": "CPU, ms",
    "floor_cpu_ms": "CPU of the floor, ms",
    "cpu_of_floor": "CPU / CPU of the floor",
    "statements": "statements of a request",
    "round_trips": "round trips of a request",
}


@contextmanager
def serving(stack: Stack, root: Path) -> Iterator[tuple[str, int]]:
    """Serve the application of a checkout with the floor beside it; give its address and its pid."""
    port, at = free_port(), stack.at
    settings = application_environment(database_url=at.database_url, broker_url=at.broker_url, api_port=port)
    child = subprocess.Popen(  # noqa: S603 (our own interpreter and file)
        [sys.executable, str(SERVER), str(port)],
        cwd=root,
        env={**os.environ, **settings, "PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base_url = f"http://{LOOPBACK}:{port}"
    try:
        wait_ready(base_url, child)
        yield base_url, child.pid
    finally:
        child.terminate()
        child.wait(20)


def clients_of(stack: Stack, base_url: str, clients: int, label: str) -> dict[str, dict[str, Clients]]:
    """Make the clients of each shape: ours, the floor's, and raw transactions."""
    at = stack.at
    with psycopg.connect(at.database_url) as database:
        row = database.execute("select tenant_id from api_key limit 1").fetchone()
    tenant_id: UUID = row[0] if row else UUID(int=0)
    names = {
        name: f"{name}-{label}" for name in ("one", "many", "floor-one", "floor-many", "raw-one", "raw-many")
    }
    open_sessions(at.database_url, tenant_id, [name for key, name in names.items() if "-" in key], clients)
    to = (base_url, at.api_key)
    makes = {
        "single events": {
            "ours": singles(*to, name=names["one"]),
            "floor": singles(*to, path="/floor/turns/{}", name=names["floor-one"]),
            "raw": raw(at.database_url, tenant_id, 1, name=names["raw-one"]),
        },
        f"batches of {BATCH}": {
            "ours": batches(*to, name=names["many"]),
            "floor": batches(*to, path="/floor/turns", name=names["floor-many"]),
            "raw": raw(at.database_url, tenant_id, BATCH, name=names["raw-many"]),
        },
    }
    return {
        shape: {side: Clients(make, clients) for side, make in sides.items()}
        for shape, sides in makes.items()
    }


def measure(stack: Stack, root: Path, label: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Send in turns to ours, the floor and the database: whatever else the machine does meets all alike."""
    found = {}
    with serving(stack, root) as (base_url, pid), httpx.Client(base_url=base_url) as control:
        for shape, sides in clients_of(stack, base_url, options.clients, label).items():
            sums = {side: [0.0, 0.0, 0.0] for side in sides}
            for number in range(options.rounds + 1):
                for side, clients in sides.items():
                    used = cpu_s(pid)
                    done, spent = clients.send(options.seconds if number else 1)
                    if number:
                        for place, more in enumerate((done, spent, cpu_s(pid) - used)):
                            sums[side][place] += more
            found[shape] = {**_figures(sums), **_count(control, sides["ours"])}
    return found


def _figures(sums: Mapping[str, list[float]]) -> dict[str, float]:
    per_s = {side: done / spent for side, (done, spent, _) in sums.items()}
    cpu_ms = {side: used / done * 1000 for side, (done, _, used) in sums.items()}
    return {
        **{f"{side}_per_s": rate for side, rate in per_s.items()},
        "of_floor": per_s["ours"] / per_s["floor"],
        "of_raw": per_s["ours"] / per_s["raw"],
        "cpu_ms": cpu_ms["ours"],
        "floor_cpu_ms": cpu_ms["floor"],
        "cpu_of_floor": cpu_ms["ours"] / cpu_ms["floor"],
    }


def _count(control: httpx.Client, clients: Clients) -> dict[str, float]:
    """Count the statements and round trips of a request: those of BEGIN and COMMIT included."""
    control.put("/counting/true").raise_for_status()
    clients.send_once(COUNTED)
    answer = control.put("/counting/false")
    answer.raise_for_status()
    return {name: count / COUNTED for name, count in answer.json().items()}


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another checkout, measured first")
    options = parser.parse_args()
    roots = {"before": options.before, "now": ROOT} if options.before else {"now": ROOT}
    results: dict[str, Any] = {}
    with Stack(roles=(*SERVERS, StackRole.API)) as stack:
        for label, root in roots.items():
            results[label] = measure(stack, root, label, options)
    table = Table(title=f"Turns of two messages, {options.clients} clients; CPU of the API, an event")
    table.add_column("figure")
    shown = {f"{shape}, {label}": one for label, shapes in results.items() for shape, one in shapes.items()}
    for name in shown:
        table.add_column(name, justify="right")
    for name, title in FIGURES.items():
        table.add_row(title, *(f"{figures[name]:,.2f}" for figures in shown.values()))
    Console().print(table)
    save("intake", results)


if __name__ == "__main__":
    main()

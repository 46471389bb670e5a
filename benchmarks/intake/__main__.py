"""Measure the intake of turns over HTTP against a floor on the same server, and against raw transactions.

python -m benchmarks.intake [--seconds 5] [--clients 4] [--rounds 3] [--before CHECKOUT]
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
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
WARM_S = 1.0
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
    kinds = ("one", "many", "floor-one", "floor-many", "raw-one", "raw-many")
    names = {name: f"{name}-{label}" for name in kinds}
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


def measure(
    stack: Stack, roots: Mapping[str, Path], options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """Send in turns to ours, the floor and the database: whatever else the machine does meets all alike.

    Returns:
        The figures by shape and checkout.
    """
    found = {}
    with ExitStack() as servers:
        at = {label: servers.enter_context(serving(stack, root)) for label, root in roots.items()}
        clients = {
            label: clients_of(stack, base_url, options.clients, label) for label, (base_url, _) in at.items()
        }
        for shape in next(iter(clients.values())):
            sums = {label: {side: [0.0] * 3 for side in clients[label][shape]} for label in roots}
            for number, label in product(range(options.rounds + 1), roots):
                for side, senders in clients[label][shape].items():
                    used = cpu_s(at[label][1])
                    done, spent = senders.send(options.seconds if number else WARM_S)
                    more = (done, spent, cpu_s(at[label][1]) - used)
                    if number:
                        sums[label][side] = list(map(sum, zip(sums[label][side], more, strict=True)))
            for label in roots:
                counted = _count(at[label][0], clients[label][shape]["ours"])
                found[f"{shape}, {label}"] = {**_figures(sums[label]), **counted}
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


def _count(base_url: str, clients: Clients) -> dict[str, float]:
    """Count the statements and round trips of a request: those of BEGIN and COMMIT included."""
    httpx.put(f"{base_url}/counting/true").raise_for_status()
    clients.send_once(COUNTED)
    answer = httpx.put(f"{base_url}/counting/false")
    answer.raise_for_status()
    return {name: count / COUNTED for name, count in answer.json().items()}


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another checkout, measured beside this one")
    options = parser.parse_args()
    roots = {"before": options.before, "now": ROOT} if options.before else {"now": ROOT}
    with Stack(roles=(*SERVERS, StackRole.API)) as stack:
        results = measure(stack, roots, options)
    table = Table(title=f"Turns of two messages, {options.clients} clients; CPU of the API, an event")
    table.add_column("figure")
    for name in results:
        table.add_column(name, justify="right")
    for name, title in FIGURES.items():
        table.add_row(title, *(f"{figures[name]:,.2f}" for figures in results.values()))
    Console().print(table)
    save("intake", results)


if __name__ == "__main__":
    main()

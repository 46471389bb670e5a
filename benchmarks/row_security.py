"""Measure what the second wall around tenants costs: the same calls on two stacks, without it and with it.

python -m benchmarks.row_security [--rounds 300]
"""

import argparse
import os
import re
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from uuid import UUID

import httpx
import psycopg
from rich.console import Console
from rich.table import Table

from afterturn.operating import transaction_at
from afterturn.stack.roles import SERVERS, Addresses, StackRole
from afterturn.stack.stack import Stack
from benchmarks.context_read.plain import seed, server_ms
from benchmarks.report import save
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant

MESSAGES = 1_000
WARM_ROUNDS = 30
WALLS = ("off", "on")


@dataclass
class Side:
    """One stack: two tenants of it, each with a session, and how often each call was made."""

    clients: tuple[httpx.Client, httpx.Client]
    sessions: tuple[str, str]
    made: int = 0

    def read(self, tenant: int) -> float:
        """A context read of one of the tenants, in the server's milliseconds."""
        return server_ms(self.clients[tenant], self.sessions[tenant])

    def write(self) -> float:
        """A turn of the first tenant, in the server's milliseconds."""
        self.made += 1
        said = [
            {"role": "user", "content": "Which truck?"},
            {"role": "assistant", "content": "The blue one."},
        ]
        body = {"turn_id": f"t{self.made}", "messages": said}
        answer = self.clients[0].post("/v1/sessions/written/turns", json=body)
        answer.raise_for_status()
        found = re.search(r"total;dur=([\d.]+)", answer.headers["server-timing"])
        return float(found[1]) if found else float("nan")


@contextmanager
def open_side(wall: str) -> Iterator[Side]:
    """A stack with the wall on or off, and its tenants."""
    os.environ["AFTERTURN_ROW_SECURITY"] = wall
    with ExitStack() as held:
        at = held.enter_context(Stack(roles=(*SERVERS, StackRole.API))).at
        made = [_tenant(at, name) for name in ("first", "second")]
        clients = [held.enter_context(_client(at, key)) for _, key in made]
        with psycopg.connect(at.database_url, autocommit=True) as database:
            sessions = [seed(database, tenant_id, MESSAGES) for tenant_id, _ in made]
            database.execute("vacuum analyze")
        yield Side((clients[0], clients[1]), (sessions[0], sessions[1]))


def _tenant(at: Addresses, name: str) -> tuple[UUID, str]:
    with transaction_at(at.database_url) as db:
        tenant_id = ensure_tenant(db, name)
        return tenant_id, create_key(Scope(db, tenant_id), label="bench")


def _client(at: Addresses, key: str) -> httpx.Client:
    return httpx.Client(base_url=at.base_url, headers={"Authorization": f"Bearer {key}"})


CALLS: dict[str, Callable[[Side, int], float]] = {
    "context read, one tenant": lambda side, _: side.read(0),
    "context read, two tenants in turns": lambda side, number: side.read(number % 2),
    "turn stored": lambda side, _: side.write(),
}


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    samples = {call: {wall: list[float]() for wall in WALLS} for call in CALLS}
    with ExitStack() as held:
        sides = {wall: held.enter_context(open_side(wall)) for wall in WALLS}
        for number in range(rounds + WARM_ROUNDS):
            # Whoever comes second finds the machine otherwise: they take it in turn.
            order = WALLS if number % 4 < 2 else WALLS[::-1]
            for call, make in CALLS.items():
                for wall in order:
                    took_ms = make(sides[wall], number)
                    if number >= WARM_ROUNDS:
                        samples[call][wall].append(took_ms)
    table = Table(title="The second wall: server time, p50 (p99) in ms")
    for column in ("call", "without", "with", "added at p50"):
        table.add_column(column, justify="left" if column == "call" else "right")
    results = []
    for call, taken in samples.items():
        p50 = {wall: statistics.median(taken[wall]) for wall in WALLS}
        p99 = {wall: statistics.quantiles(taken[wall], n=100)[98] for wall in WALLS}
        cells = [f"{p50[wall]:.2f} ({p99[wall]:.2f})" for wall in WALLS]
        table.add_row(call, *cells, f"{p50['on'] - p50['off']:+.2f}")
        results.append({"call": call, "without_p50_ms": p50["off"], "with_p50_ms": p50["on"]})
    Console().print(table)
    save("row_security", results)


if __name__ == "__main__":
    main()

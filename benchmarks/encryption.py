"""Measure what sealing stored text costs: the same calls on two stacks, without keys and with one.

python -m benchmarks.encryption [--rounds 100]
"""

import argparse
import base64
import os
import re
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
from rich.console import Console
from rich.table import Table

from afterturn.operating import transaction_at
from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant

KEYS = {"without": "", "with": f"bench:{base64.b64encode(bytes(range(32))).decode()}"}
TURNS = 100
WARM_ROUNDS = 10
SAID = "The crane driver reports that the box is wet and asks where it should go now. " * 5


def read(client: httpx.Client, session_id: str) -> float:
    """A context read, in the server's milliseconds."""
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "And now?"}]}
    return _server_ms(client.post(f"/v1/sessions/{session_id}/context", json=asked))


def store(client: httpx.Client, session_id: str, number: int) -> float:
    """A turn of two messages, in the server's milliseconds."""
    said = [{"role": "user", "content": SAID}, {"role": "assistant", "content": SAID}]
    body = {"turn_id": f"t{number}", "messages": said}
    return _server_ms(client.post(f"/v1/sessions/{session_id}/turns", json=body))


def _server_ms(answer: httpx.Response) -> float:
    answer.raise_for_status()
    found = re.search(r"total;dur=([\d.]+)", answer.headers["server-timing"])
    return float(found[1]) if found else float("nan")


@contextmanager
def open_side(keys: str) -> Iterator[httpx.Client]:
    """A stack with these keys, and a session that has turns."""
    os.environ["AFTERTURN_TEXT_KEYS"] = keys
    with Stack(roles=(*SERVERS, StackRole.API)) as stack:
        with transaction_at(stack.at.database_url) as db:
            key = create_key(Scope(db, ensure_tenant(db, "bench")), label="bench")
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=stack.at.base_url, headers=headers, timeout=30) as client:
            for number in range(TURNS):
                store(client, "read", number)
            yield client


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    taken = {call: {side: list[float]() for side in KEYS} for call in ("context read", "turn stored")}
    with ExitStack() as held:
        sides = {side: held.enter_context(open_side(keys)) for side, keys in KEYS.items()}
        for number in range(rounds + WARM_ROUNDS):
            for side, client in sides.items():
                read_ms, stored_ms = read(client, "read"), store(client, "written", number)
                if number >= WARM_ROUNDS:
                    taken["context read"][side].append(read_ms)
                    taken["turn stored"][side].append(stored_ms)
    table = Table("call", "without", "with", "added", title="Sealed text: server time, p50 in ms")
    results = []
    for call, samples in taken.items():
        plain, sealed = (statistics.median(samples[side]) for side in KEYS)
        table.add_row(call, f"{plain:.2f}", f"{sealed:.2f}", f"{sealed - plain:+.2f}")
        results.append({"call": call, "without_p50_ms": plain, "with_p50_ms": sealed})
    Console().print(table)
    save("encryption", results)


if __name__ == "__main__":
    main()

"""Measure the processor time of the Python client's calls beside bare httpx calls, in the caller's process.

python -m benchmarks.client_cost [--calls 300]
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save

ROOT = Path(__file__).parents[1]
ROUNDS = 5
SOME = {"model": "gpt-4o", "wire": "openai", "messages": [{"role": "user", "content": "Is the gate open?"}]}


def _measure(calls: int, ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least processor time of a call in ms, over rounds that take turns."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            call()
            begun = time.process_time()
            for _ in range(calls):
                call()
            spent_ms = (time.process_time() - begun) * 1000 / calls
            best[name] = min(spent_ms, best.get(name, spent_ms))
    return best


async def _measure_async(calls: int, ways: dict[str, Callable[[], Awaitable[Any]]]) -> dict[str, float]:
    """Return the same for coroutines."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            await call()
            begun = time.process_time()
            for _ in range(calls):
                await call()
            spent_ms = (time.process_time() - begun) * 1000 / calls
            best[name] = min(spent_ms, best.get(name, spent_ms))
    return best


def _blocking(url: str, key: str, calls: int) -> dict[str, float]:
    from afterturn_client import Afterturn  # noqa: PLC0415 - found by the path that main adds

    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as bare, Afterturn(url, key) as client:
        chat = client.chat("cost", model="gpt-4o")
        for number in range(20):
            said = {"role": "user", "content": f"Crate {number} is wet. " * 20}
            chat.record([said, {"role": "assistant", "content": "Noted. " * 20}])
        messages = SOME["messages"]
        return _measure(
            calls,
            {
                "bare": lambda: bare.post("/v1/sessions/cost/context", content=json.dumps(SOME)).json(),
                "client": lambda: chat.context(messages),  # type: ignore[arg-type]
            },
        )


async def _coroutines(url: str, key: str, calls: int) -> dict[str, float]:
    from afterturn_client import AsyncAfterturn  # noqa: PLC0415 - found by the path that main adds

    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as bare,
        AsyncAfterturn(url, key) as client,
    ):
        chat, messages = client.chat("cost", model="gpt-4o"), SOME["messages"]

        async def ask() -> Any:
            return (await bare.post("/v1/sessions/cost/context", content=json.dumps(SOME))).json()

        ways: dict[str, Callable[[], Awaitable[Any]]] = {
            "bare": ask,
            "client": lambda: chat.context(messages),  # type: ignore[arg-type]
        }
        return await _measure_async(calls, ways)


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description="Measure the processor time of the Python client.")
    parser.add_argument("--calls", type=int, default=300, help="calls of a round")
    calls = parser.parse_args().calls
    sys.path.insert(0, str(ROOT / "clients/python/src"))
    with Stack(roles=(*SERVERS, StackRole.API)) as stack:
        rows = {
            "blocking": _blocking(stack.at.base_url, stack.at.api_key, calls),
            "coroutine": asyncio.run(_coroutines(stack.at.base_url, stack.at.api_key, calls)),
        }
    table = Table(title="Processor time of a context call in the caller's process, ms")
    for column in ("colour", "bare httpx", "afterturn-client", "ratio"):
        table.add_column(column, justify="right" if column != "colour" else "left")
    for colour, row in rows.items():
        ratio = row["client"] / row["bare"]
        table.add_row(colour, f"{row['bare']:.3f}", f"{row['client']:.3f}", f"{ratio:.2f}")
    Console().print(table)
    save("client_cost", rows)


if __name__ == "__main__":
    main()

"""`afterturn shadow` on a running stack: planted facts, and a read that a worker judges."""

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from afterturn.stack.roles import Addresses
from context.shadow.facts import PLANTED
from tests.acceptance.command import afterturn
from tests.waiting import wait_until

SESSION = "/v1/sessions/judged-in-shadow"
ASKED = {"model": "gpt-4o", "context_window": 16_000, "max_tokens": 500}


def shadow(addresses: Addresses, *arguments: str) -> str:
    return afterturn(addresses.directory, "shadow", *arguments)


@pytest.fixture
def in_shadow(addresses: Addresses) -> Iterator[Addresses]:
    """The stack with summaries in shadow, and without afterwards."""
    shadow(addresses, "on", "--part", "summaries")
    yield addresses
    shadow(addresses, "off")


def test_the_built_in_summary_holds_every_planted_fact(addresses: Addresses) -> None:
    told = shadow(addresses, "plant", "--wait-s", "120")
    (held,) = [line for line in told.splitlines() if line.startswith("held ")]
    assert held.count(f"{len(PLANTED)} of {len(PLANTED)}") == 2
    assert "LOST" not in told
    (tokens,) = [line for line in told.splitlines() if line.startswith("tokens ")]
    raw, summarized = (int(cell.replace(",", "")) for cell in tokens.split("│")[1:])
    assert summarized < raw * 0.75


def test_a_worker_judges_a_read_in_shadow_by_the_turn_that_follows(
    in_shadow: Addresses, client: httpx.Client
) -> None:
    said = [{"role": "user", "content": "Take order WB-4711."}, {"role": "assistant", "content": "Taken."}]
    assert client.post(f"{SESSION}/turns", json={"turn_id": "t1", "messages": said}).status_code == 202
    new = {"role": "user", "content": "And WB-4711?"}
    wait_until(lambda: "shadow" in read(client, new), within_s=120, what="the API knows the switch")
    turn = {"turn_id": "t2", "messages": [new, {"role": "assistant", "content": "WB-4711 is there."}]}
    assert client.post(f"{SESSION}/turns", json=turn).status_code == 202
    wait_until(lambda: judged(in_shadow) == [(1, 0)], within_s=120, what="the read is judged")
    assert "not enough reads: 1 of 200" in shadow(in_shadow, "report")


def read(client: httpx.Client, new: dict[str, Any]) -> dict[str, Any]:
    """The context for a new message."""
    answer = client.post(f"{SESSION}/context", json={**ASKED, "messages": [new]})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def judged(addresses: Addresses) -> list[tuple[int, int]]:
    """What was needed and lost in the reads that are judged; whoever waits for the next look gets it now."""
    with psycopg.connect(addresses.database_url) as db:
        db.execute("update due_work set due_at = now() where kind = 'shadow' and state = 'ready'")
        rows = db.execute("select needed, lost from shadow_read where state = 'judged' and not planted")
        return [(needed, lost) for needed, lost in rows]

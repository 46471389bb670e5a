"""Recall beside raw turns: it hides none that no search saw, and a little of it spares a cached beginning."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from tests.integration.summarizing import Model, Room
from tests.integration.test_recall_context import block, index, prepared, read, region, words

RULE = "Rule: the washing machine must not run after 22:00."
REVOKED = "The neighbours moved out, the rule about 22:00 for the washing machine is gone."
GOODS = ("eggs", "salt", "plums", "leeks", "yeast", "cocoa")


def said(question: str, answer: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


@pytest.fixture
def talk(tenant_id: UUID) -> Room:
    """An old rule behind a summary, and its end in the raw turns after the summary."""
    room = Room(tenant_id)
    room.add(*said(RULE, "Good, no washing machine after 22:00."))
    for flat in range(30):
        told = f"After {8 + flat % 9}:00 the plumber may run the tap of flat {flat} again, it stands still."
        room.add(*said(told, f"Noted for flat {flat}."))
    room.summarize(Model())
    room.add(*said(REVOKED, "Then it may run at night."))
    for place, goods in enumerate(GOODS):
        told = f"Errand {place}: buy bread, milk and {goods} at the corner shop on the way home."
        room.add(*said(told, f"Bread, milk and {goods}, noted."))
    index(room)
    return room


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize("budget", [300, 500, 700, 800, 900, 1_000, 1_200, 1_400, 2_000, None])
def test_more_room_never_hides_the_end_of_a_rule(client: TestClient, budget: int | None) -> None:
    room: dict[str, Any] = {"budget": budget} if budget else {}
    answer = read(client, "May the washing machine run after 22:00?", **room)
    assert any("is gone" in words(message) for message in answer["messages"][:-1])


@pytest.mark.usefixtures("early_summaries")
def test_a_little_recall_spares_all_raw_turns(client: TestClient, tenant_id: UUID) -> None:
    room = prepared(Room(tenant_id))
    room.add_turns(20)
    index(room)
    whole = read(client, context_window=128_000)
    used = whole["certificate"]["input_tokens"] - block(whole)["tokens"]
    answer = read(client, context_window=used + 250 + 1_000)
    assert "The spare kayak hangs behind the boathouse." in region(answer)
    assert answer["certificate"]["tail"] == whole["certificate"]["tail"]
    assert block(answer)["tokens"] <= 250

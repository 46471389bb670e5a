"""A conversation of 32 turns with tools, read before each turn by the protocol's official client."""

from typing import Any

from mcp.client.client import Client

from context.types import Wire
from context.wire import check_pairs
from tests.integration.agents import Agent

TURNS = 32
WINDOW = 3_000
RULE = "Never restart GW-3 between 06:00 and 09:00."


def turn(number: int) -> list[dict[str, Any]]:
    """What is said in a turn; every second one calls a tool."""
    words = RULE if number == 0 else f"What of hall {number}? " + "The pallets wait for papers. " * 8
    made: list[dict[str, Any]] = [{"role": "user", "content": words}]
    if number % 2:
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"hall {number}: 7 pallets"})
    return [*made, {"role": "assistant", "content": f"Hall {number} is in order."}]


def test_a_conversation_of_32_turns_is_read_within_its_window_before_each(
    agent: Agent, writer: Agent
) -> None:
    async def live(client: Client) -> None:
        stored = 0
        for number in range(TURNS):
            asked = {"model": "gpt-4o", "context_window": WINDOW, "max_tokens": 300}
            found = await client.call_tool(
                "read_context", {**asked, "session_id": "long", "message": f"What of hall {number}?"}
            )
            assert not found.is_error, found
            window: Any = found.structured_content
            certificate = window["certificate"]
            assert certificate["fits"]
            assert certificate["input_tokens"] <= WINDOW - 300
            assert check_pairs(window["messages"], Wire.OPENAI) == []
            assert (certificate["tail"] or [0, 0])[1] == stored, "the newest message is there"
            event = {"turn_id": f"t{number}", "messages": turn(number)}
            answer = writer.http("POST", "/v1/sessions/long/turns", json=event)
            assert answer.status_code == 202
            stored = answer.json()["last_seq"]

    agent.do(live)
    turns = agent.http("GET", "/v1/sessions/long").json()["turns"]
    assert turns == TURNS

"""The Anthropic SDK with a chat of its format."""

from typing import Any

import anthropic
from conftest import PATIENT_S, TURNS, WINDOW, Model, Service, question

from afterturn_client import Afterturn, Options

TOOLS: list[Any] = [{"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object"}}]


def test_32_turns_with_tools_and_streams(
    service: Service, model: Model, options: Options, session_id: str
) -> None:
    provider = anthropic.Anthropic(
        base_url=model.base_url.removesuffix("/v1"), api_key="none", max_retries=0, timeout=PATIENT_S
    )
    with provider, Afterturn(service.url, service.key, options=options) as client:
        chat = client.chat(
            session_id,
            model="claude-haiku-4-5",
            wire="anthropic",
            system_prompt="You run a store.",
            tools=TOOLS,
            context_window=WINDOW,
            max_tokens=300,
        )
        for number in range(1, TURNS + 1):
            model.plan(number)
            with chat.turn(question(number)) as turn:
                while turn.is_open:
                    given = {"model": "claude-haiku-4-5", **turn.request().kwargs()}
                    if number % 4 == 0:
                        with provider.messages.stream(**given) as stream:
                            turn.add(stream)
                    else:
                        turn.add(provider.messages.create(**given, stream=number % 2 == 0))
                    for call in turn.calls:
                        turn.add_tool_result(call.id, "9 kg")
            assert turn.text.startswith(f"answer {number} ")
    turns = service.turns(session_id)
    assert [turn["messages"][0]["content"] for turn in turns] == [question(n) for n in range(1, TURNS + 1)]
    assert [len(turn["messages"]) for turn in turns] == [4 if n % 3 == 0 else 2 for n in range(1, TURNS + 1)]
    requests = model.requests()
    assert all(request["messages"][0]["role"] == "user" for request in requests)
    assert len(requests[-1]["messages"]) < 2 * TURNS

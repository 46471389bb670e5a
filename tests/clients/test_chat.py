"""A chat's turns, in both colours and in the three formats, against a real stack."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import openai
import pytest
from afterturn_client import Afterturn, AsyncAfterturn, Options, OverBudgetError, Request, TurnConflictError

from llm.scripted import Mode, ScriptedServer, Step
from tests.clients.door import Door

Stored = Callable[[str], list[dict[str, Any]]]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]
CALL = {
    "id": "call_0",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "notes.md"}'},
}


def complete(provider: openai.OpenAI, request: Request, **more: Any) -> Any:
    return provider.chat.completions.create(model="gpt-4o", **request.kwargs(**more))


@pytest.mark.parametrize("stream", [False, True])
def test_a_turn_with_a_tool_is_recorded_as_it_was_said(
    client: Afterturn,
    provider: openai.OpenAI,
    model: ScriptedServer,
    session_id: str,
    stored: Stored,
    *,
    stream: bool,
) -> None:
    model.next(Mode.TOOL_CALL, Step(Mode.OK, text="It is written in the notes: hall 3."))
    chat = client.chat(session_id, model="gpt-4o", system_prompt="You run a store.", tools=TOOLS)
    with chat.turn("Where is the crate? Read the file notes.md.") as turn:
        while turn.is_open:
            request = turn.request()
            assert not request.degraded
            turn.add(complete(provider, request, stream=stream))
            for call in turn.calls:
                assert (call.name, call.arguments) == ("read_file", '{"path": "notes.md"}')
                turn.add_tool_result(call.id, "hall 3")
    assert turn.text == "It is written in the notes: hall 3."
    [kept] = stored(session_id)
    assert kept["turn_id"] == turn.turn_id
    assert kept["messages"] == [
        {"role": "user", "content": "Where is the crate? Read the file notes.md."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_0", "content": "hall 3"},
        {"role": "assistant", "content": "It is written in the notes: hall 3."},
    ]
    assert turn.usage is not None
    assert turn.usage["prompt_tokens"] > 0
    assert turn.recorded is not None
    assert (turn.recorded.first_seq, turn.recorded.last_seq, turn.recorded.queued) == (1, 4, False)
    assert not turn.abandoned
    first = model.requests[0].body
    assert first["messages"][0] == {"role": "system", "content": "You run a store."}
    assert first["tools"] == TOOLS


def test_the_next_turn_sees_the_last_one(
    client: Afterturn, provider: openai.OpenAI, model: ScriptedServer, session_id: str
) -> None:
    chat = client.chat(session_id, model="gpt-4o")
    for said in ("My crate is number 7.", "Which crate is mine?"):
        with chat.turn(said) as turn:
            turn.add(complete(provider, turn.request()))
    assert [message["content"] for message in model.requests[-1].body["messages"]] == [
        "My crate is number 7.",
        "ok",
        "Which crate is mine?",
    ]
    assert chat.state().turns == 2


def test_chunks_pass_on_while_they_are_put_together(
    client: Afterturn, provider: openai.OpenAI, model: ScriptedServer, session_id: str, stored: Stored
) -> None:
    words = "one two three four five six seven eight nine ten eleven twelve"
    model.next(Step(Mode.OK, text=words))
    chat = client.chat(session_id, model="gpt-4o")
    with chat.turn("Count.") as turn:
        seen = [
            chunk.choices[0].delta.content or ""
            for chunk in turn.stream(complete(provider, turn.request(), stream=True))
            if chunk.choices
        ]
    assert "".join(seen) == turn.text == words
    assert len([piece for piece in seen if piece]) > 1
    assert stored(session_id)[0]["messages"][1]["content"] == words


def test_a_reader_who_leaves_in_the_middle_leaves_the_words_so_far(
    client: Afterturn, provider: openai.OpenAI, model: ScriptedServer, session_id: str, stored: Stored
) -> None:
    model.next(Step(Mode.OK, text="one two three four five six seven eight nine ten eleven twelve"))
    with client.chat(session_id, model="gpt-4o").turn("Count.") as turn:
        for chunk in turn.stream(complete(provider, turn.request(), stream=True)):
            if chunk.choices and chunk.choices[0].delta.content:
                break
    assert turn.abandoned
    assert stored(session_id)[0]["messages"][1:] == [
        {"role": "assistant", "content": "one two three four five six seven eight "}
    ]


def test_a_stream_that_breaks_off_is_recorded_as_abandoned_and_the_error_goes_on(
    client: Afterturn, session_id: str, stored: Stored
) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "It is in "}}]}
        call = {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": '{"pa'}}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        raise ConnectionError("the line is cut")

    chat = client.chat(session_id, model="gpt-4o")
    with pytest.raises(ConnectionError, match="the line is cut"), chat.turn("Where is it?") as turn:
        turn.add(broken())
    assert turn.abandoned
    assert stored(session_id)[0]["messages"] == [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": "It is in "},
    ]


def test_a_turn_whose_model_fails_keeps_the_users_words(
    client: Afterturn, provider: openai.OpenAI, model: ScriptedServer, session_id: str, stored: Stored
) -> None:
    model.next(Mode.SERVER_ERROR)
    chat = client.chat(session_id, model="gpt-4o")
    with pytest.raises(openai.InternalServerError), chat.turn("Where is it?") as turn:
        turn.add(complete(provider, turn.request()))
    assert [message["role"] for message in stored(session_id)[0]["messages"]] == ["user"]
    with chat.turn("Forget it.") as unwanted:
        unwanted.discard()
    assert len(stored(session_id)) == 1


def test_anthropic_events_make_the_same_message_as_the_whole_answer(
    client: Afterturn, model: ScriptedServer, session_id: str, stored: Stored
) -> None:
    chat = client.chat(session_id, model="claude-sonnet-4-5", wire="anthropic", system_prompt="Be kind.")
    for stream in (False, True):
        model.next(Mode.TOOL_CALL, Step(Mode.OK, text="In hall 3, as the notes say."))
        with chat.turn("Where is the crate?") as turn:
            while turn.is_open:
                request = turn.request()
                body = {"model": "x", **request.kwargs(stream=stream)}
                assert body["system"] == "Be kind."
                assert body["max_tokens"] > 0
                turn.add(list_or_whole(model, "/messages", body))
                for call in turn.calls:
                    turn.add_tool_result(call.id, "hall 3")
        assert turn.usage is not None
        assert set(turn.usage) == {"input_tokens", "output_tokens"}
    whole, streamed = stored(session_id)
    assert whole["messages"] == streamed["messages"]
    assert [message["role"] for message in whole["messages"]] == ["user", "assistant", "user", "assistant"]
    assert whole["messages"][1]["content"][0]["input"] == {"path": "notes.md"}


def test_responses_events_make_the_same_items_as_the_whole_answer(
    client: Afterturn, provider: openai.OpenAI, model: ScriptedServer, session_id: str, stored: Stored
) -> None:
    chat = client.chat(session_id, model="gpt-4o", wire="responses")
    for stream in (False, True):
        model.next(Mode.TOOL_CALL, Step(Mode.OK, text="In hall 3, as the notes say."))
        with chat.turn("Where is the crate?") as turn:
            while turn.is_open:
                request = turn.request()
                turn.add(provider.responses.create(model="gpt-4o", **request.kwargs(stream=stream)))
                for call in turn.calls:
                    turn.add_tool_result(call.id, "hall 3")
        assert turn.usage is not None
        assert turn.usage["input_tokens"] > 0
    first, second = ([plain_item(item) for item in turn["messages"]] for turn in stored(session_id))
    assert first == second
    assert [item.get("type", "message") for item in first] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]


def plain_item(item: dict[str, Any]) -> dict[str, Any]:
    """An item without the provider's own ids."""
    return {name: value for name, value in item.items() if name != "id"}


def list_or_whole(model: ScriptedServer, path: str, body: dict[str, Any]) -> Any:
    """Ask the scripted model as a library would: a whole answer, or an iterator over its events."""
    answer = httpx.post(model.base_url + path, json=body, timeout=60)
    if not body.get("stream"):
        return answer.json()
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return iter([json.loads(line.removeprefix("data: ")) for line in lines])


def test_a_coroutine_chats_alike(
    door: Door, key: str, options: Options, model: ScriptedServer, *, session_id: str, stored: Stored
) -> None:
    async def talk() -> None:
        async with (
            AsyncAfterturn(door.url, key, options=options) as client,
            openai.AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0) as provider,
        ):
            chat = client.chat(session_id, model="gpt-4o", tools=TOOLS)
            async with chat.turn("Where is the crate? Read the file notes.md.") as turn:
                while turn.is_open:
                    request = await turn.request()
                    answer = await provider.chat.completions.create(
                        model="gpt-4o", **request.kwargs(stream=True)
                    )
                    await turn.add(answer)
                    for call in turn.calls:
                        turn.add_tool_result(call.id, "hall 3")
            async with chat.turn("Count.") as second:
                request = await second.request()
                events = await provider.chat.completions.create(model="gpt-4o", **request.kwargs(stream=True))
                assert len([event async for event in second.stream(events)]) > 1
            assert second.text == "ok"
            assert second.usage is not None

    model.next(Mode.TOOL_CALL, Step(Mode.OK, text="Hall 3."))
    asyncio.run(talk())
    assert [len(turn["messages"]) for turn in stored(session_id)] == [4, 2]


def test_a_cancelled_coroutine_leaves_its_turn_with_the_words_so_far(
    door: Door, key: str, options: Options, session_id: str, stored: Stored
) -> None:
    async def talk() -> None:
        began = asyncio.Event()

        async def endless() -> AsyncIterator[dict[str, Any]]:
            yield {"choices": [{"index": 0, "delta": {"content": "It is in"}}]}
            began.set()
            await asyncio.Event().wait()

        async with AsyncAfterturn(door.url, key, options=options) as client:

            async def turn() -> None:
                async with client.chat(session_id, model="gpt-4o").turn("Where is it?") as one:
                    await one.add(endless())

            task = asyncio.create_task(turn())
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.close(wait_s=60)

    asyncio.run(talk())
    assert [message["content"] for message in stored(session_id)[0]["messages"]] == [
        "Where is it?",
        "It is in",
    ]


def test_an_answer_of_another_format_is_named(client: Afterturn, session_id: str, stored: Stored) -> None:
    with client.chat(session_id, model="claude-sonnet-4-5").turn("Hello") as turn:
        answer = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}
        with pytest.raises(ValueError, match="make the chat with wire='anthropic'"):
            turn.add(answer)
        with pytest.raises(ValueError, match="make the chat with wire='anthropic'"):
            turn.add(iter([{"type": "message_start", "message": answer}]))
        with pytest.raises(TypeError, match="no answer of a known provider"):
            turn.add(3)
        turn.discard()
    assert stored(session_id) == []


def test_a_refusal_of_the_budget_comes_with_its_numbers(client: Afterturn, session_id: str) -> None:
    chat = client.chat(session_id, model="gpt-4o", context_window=100)
    with chat.turn("word " * 500) as turn:
        with pytest.raises(OverBudgetError) as caught:
            turn.request()
        turn.discard()
    error = caught.value
    assert error.budget == 75
    assert error.needed == error.budget + error.over_by == sum(error.parts.values())
    assert error.parts["new_messages"] > 500
    assert "shorten new_messages" in str(error)
    assert error.request_id


def test_a_refusal_of_the_provider_makes_the_next_request_smaller(
    client: Afterturn, provider: openai.OpenAI, model: ScriptedServer, session_id: str
) -> None:
    chat = client.chat(session_id, model="gpt-4o", context_window=16_000, max_tokens=500)
    for number in range(4):
        chat.record(
            [
                {"role": "user", "content": f"Crate {number}: " + "wet seal, please check. " * 400},
                {"role": "assistant", "content": "Noted."},
            ]
        )
    with chat.turn("Which crates are wet?") as turn:
        request = turn.request()
        model.next(Mode.CONTEXT_LENGTH)
        with pytest.raises(openai.BadRequestError) as refused:
            complete(provider, request)
        smaller = turn.compress(refused.value)
        turn.add(complete(provider, smaller))
    assert request.context is not None
    assert smaller.context is not None
    assert smaller.context.certificate.context_window == 8192
    assert smaller.context.certificate.input_tokens <= 8192 - 500 < request.context.certificate.input_tokens


def test_an_id_that_is_taken_is_a_conflict(client: Afterturn, session_id: str, stored: Stored) -> None:
    chat = client.chat(session_id, model="gpt-4o")
    chat.record([{"role": "user", "content": "One"}], turn_id="t1")
    with pytest.raises(TurnConflictError) as caught:
        chat.record([{"role": "user", "content": "Two"}], turn_id="t1")
    assert caught.value.field == "turn_id"
    assert client.waiting_turns == []
    assert [turn["messages"][0]["content"] for turn in stored(session_id)] == ["One"]

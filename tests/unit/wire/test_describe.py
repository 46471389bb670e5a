"""What one incoming message says, and what is refused."""

from typing import Any

import pytest

from context.errors import InvalidInputError
from context.types import JsonObject, Role, Wire
from context.wire import MessageFacts, describe


def call(call_id: object = "c1", name: object = "read") -> JsonObject:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def calling(*calls: object) -> JsonObject:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def use(call_id: str, kind: str = "tool_use") -> JsonObject:
    return {"type": kind, "id": call_id, "name": "read", "input": {}}


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ({"role": "system", "content": "Be brief."}, MessageFacts(Role.SYSTEM)),
        ({"role": "developer", "content": "Be brief."}, MessageFacts(Role.SYSTEM)),
        ({"role": "user", "content": "Hi", "name": "ana"}, MessageFacts(Role.USER, speaker="ana")),
        ({"role": "user", "content": [], "name": None, "tool_calls": None}, MessageFacts(Role.USER)),
        ({"role": "user", "content": [{"type": "hologram", "x": 1}]}, MessageFacts(Role.USER)),
        ({"role": "assistant", "content": ""}, MessageFacts(Role.ASSISTANT)),
        ({"role": "assistant", "content": None}, MessageFacts(Role.ASSISTANT)),
        ({"role": "assistant", "tool_calls": []}, MessageFacts(Role.ASSISTANT)),
        (calling(call("a"), call("b")), MessageFacts(Role.ASSISTANT, call_ids=("a", "b"))),
        (
            {"role": "tool", "content": "ok", "tool_call_id": "a", "name": "read"},
            MessageFacts(Role.TOOL, answer_ids=("a",)),
        ),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            MessageFacts(Role.ASSISTANT, call_ids=("function_call:f",)),
        ),
        (
            {"role": "function", "name": "f", "content": "ok"},
            MessageFacts(Role.TOOL, answer_ids=("function_call:f",)),
        ),
        (
            calling({"id": "x", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}),
            MessageFacts(Role.ASSISTANT, call_ids=("x",)),
        ),
        (calling({"id": "x", "type": "future_call"}), MessageFacts(Role.ASSISTANT, call_ids=("x",))),
    ],
)
def test_a_chat_message_tells_its_facts(body: JsonObject, facts: MessageFacts) -> None:
    assert describe(body, Wire.OPENAI) == facts


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("hi", "message: must be an object, not a string"),
        (None, "message: must be an object, not null"),
        ({"content": "hi"}, "message.role: is missing; allowed: system, developer, user, assistant"),
        ({"role": "robot", "content": "hi"}, "message.role: 'robot' is unknown; allowed: system, developer"),
        ({"role": ["user"], "content": "hi"}, "message.role: must be a string, not a list"),
        ({"role": "user"}, "message.content: is missing"),
        ({"role": "user", "content": None}, "message.content: must be a string or a list of parts, not null"),
        (
            {"role": "user", "content": 3},
            "message.content: must be a string or a list of parts, not a number",
        ),
        ({"role": "user", "content": ["hi"]}, "message.content[0]: must be an object, not a string"),
        ({"role": "user", "content": [{"text": "hi"}]}, "message.content[0].type: is missing"),
        ({"role": "user", "content": [{"type": 1}]}, "message.content[0].type: must be a string"),
        (
            {"role": "user", "content": [{"type": "text", "text": {"value": "hi"}}]},
            "message.content[0].text: must be a string, not an object",
        ),
        ({"role": "user", "content": "hi", "name": 1}, "message.name: must be a string, not a number"),
        ({"role": "tool", "content": "ok"}, "message.tool_call_id: is missing"),
        ({"role": "tool", "content": "ok", "tool_call_id": ""}, "message.tool_call_id: must not be empty"),
        ({"role": "assistant", "tool_calls": {}}, "message.tool_calls: must be a list, not an object"),
        (calling("x"), "message.tool_calls[0]: must be an object, not a string"),
        (calling(call("a"), call(7)), "message.tool_calls[1].id: must be a string, not a number"),
        (calling(call("a", None)), "message.tool_calls[0].function.name: must be a string, not null"),
        (
            calling({"id": "a", "type": "function"}),
            "message.tool_calls[0].function: must be an object, not null",
        ),
        (calling(call("a"), call("a")), "message.tool_calls: the id 'a' is used 2 times in one message"),
        ({"role": "function", "content": "ok"}, "message.name: is missing"),
        ({"role": "assistant", "function_call": True}, "message.function_call: must be an object"),
    ],
)
def test_a_chat_message_that_cannot_be_sent_is_refused_by_field(body: object, error: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        describe(body, Wire.OPENAI)
    assert caught.value.message.startswith(error)


def test_an_unhashable_call_type_is_kept_as_sent() -> None:
    assert describe(calling({"id": "x", "type": ["odd"]}), Wire.OPENAI).call_ids == ("x",)


def test_the_field_path_begins_as_the_caller_names_the_message() -> None:
    with pytest.raises(InvalidInputError) as caught:
        describe(calling(call("")), Wire.OPENAI, "messages[3]")
    assert caught.value.field == "messages[3].tool_calls[0].id"


@pytest.mark.parametrize(
    ("role", "blocks", "facts"),
    [
        ("user", "Hi", MessageFacts(Role.USER)),
        ("assistant", [use("a"), use("b")], MessageFacts(Role.ASSISTANT, call_ids=("a", "b"))),
        (
            "user",
            [{"type": "tool_result", "tool_use_id": "a"}, {"type": "text", "text": "and?"}],
            MessageFacts(Role.USER, answer_ids=("a",)),
        ),
        (
            "assistant",
            [
                use("s", "server_tool_use"),
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": {}},
            ],
            MessageFacts(Role.ASSISTANT),
        ),
        ("assistant", [use("m", "mcp_tool_use")], MessageFacts(Role.ASSISTANT, call_ids=("m",))),
        (
            "assistant",
            [
                {"type": "thinking", "thinking": "", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
            ],
            MessageFacts(Role.ASSISTANT),
        ),
        ("system", [{"type": "tool_addition", "tool": {}}], MessageFacts(Role.SYSTEM)),
    ],
)
def test_an_anthropic_message_tells_its_facts(role: str, blocks: Any, facts: MessageFacts) -> None:
    assert describe({"role": role, "content": blocks}, Wire.ANTHROPIC) == facts


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"role": "tool", "content": "x"},
            "message.role: 'tool' is unknown; allowed: user, assistant, system",
        ),
        ({"role": "user", "content": None}, "message.content: must be a string or a list of parts, not null"),
        (
            {"role": "assistant", "content": [{**use("a"), "input": "{}"}]},
            "message.content[0].input: must be",
        ),
        (
            {"role": "assistant", "content": [use("a"), use("a")]},
            "message.content: the id 'a' is used 2 times",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result"}]},
            "message.content[0].tool_use_id: is missing",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": 1}]},
            "message.content[0].content: must be a string or a list of parts, not a number",
        ),
    ],
)
def test_an_anthropic_message_that_cannot_be_sent_is_refused_by_field(body: JsonObject, error: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        describe(body, Wire.ANTHROPIC)
    assert caught.value.message.startswith(error)


@pytest.mark.parametrize(
    ("item", "facts"),
    [
        ({"role": "user", "content": "Hi"}, MessageFacts(Role.USER)),
        ({"type": "message", "role": "developer", "content": "Hi"}, MessageFacts(Role.SYSTEM)),
        (
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            MessageFacts(Role.ASSISTANT, call_ids=("a",)),
        ),
        (
            {"type": "function_call_output", "call_id": "a", "output": ""},
            MessageFacts(Role.TOOL, answer_ids=("a",)),
        ),
        ({"type": "computer_call", "call_id": "k", "id": "i"}, MessageFacts(Role.ASSISTANT, call_ids=("k",))),
        (
            {"type": "local_shell_call_output", "id": "k", "output": "x"},
            MessageFacts(Role.TOOL, answer_ids=("k",)),
        ),
        ({"type": "web_search_call", "id": "w"}, MessageFacts(Role.ASSISTANT)),
        ({"type": "tool_search_call", "call_id": None, "execution": "server"}, MessageFacts(Role.ASSISTANT)),
        ({"type": "tool_search_call", "call_id": "t", "execution": "server"}, MessageFacts(Role.ASSISTANT)),
        ({"type": "mcp_approval_request", "id": "q"}, MessageFacts(Role.ASSISTANT, call_ids=("q",))),
        (
            {"type": "mcp_approval_response", "approval_request_id": "q", "approve": True},
            MessageFacts(Role.TOOL, answer_ids=("q",)),
        ),
        ({"type": "reasoning", "id": "r", "summary": []}, MessageFacts(Role.ASSISTANT)),
        ({"id": "msg_1"}, MessageFacts(Role.ASSISTANT)),
        ({"type": "additional_tools", "role": "developer", "tools": []}, MessageFacts(Role.SYSTEM)),
        ({"type": "of_tomorrow"}, MessageFacts(Role.ASSISTANT)),
    ],
)
def test_a_responses_item_tells_its_facts(item: JsonObject, facts: MessageFacts) -> None:
    assert describe(item, Wire.RESPONSES) == facts


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ({"type": 5}, "message.type: must be a string, not a number"),
        ({"role": "tool", "content": "x"}, "message.role: 'tool' is unknown"),
        ({"type": "function_call", "name": "f"}, "message.call_id: is missing"),
        ({"type": "function_call", "call_id": "a"}, "message.name: is missing"),
        ({"type": "function_call_output", "call_id": "a"}, "message.output: is missing"),
        (
            {"type": "function_call_output", "call_id": "a", "output": 1},
            "message.output: must be a string or",
        ),
        ({"type": "item_reference"}, "message.id: is missing"),
    ],
)
def test_a_responses_item_that_cannot_be_sent_is_refused_by_field(item: JsonObject, error: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        describe(item, Wire.RESPONSES)
    assert caught.value.message.startswith(error)

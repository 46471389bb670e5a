"""What a provider would refuse in an outgoing array."""

import pytest

from context.types import JsonObject, Wire
from context.wire import check_pairs

BLANK: JsonObject = {"type": "text", "text": " "}
USER: JsonObject = {"role": "user", "content": "hi"}
SAYS: JsonObject = {"role": "assistant", "content": "hello"}


def calls(*ids: str) -> JsonObject:
    functions = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": functions}


def tool(call_id: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def uses(*ids: str, kind: str = "tool_use") -> JsonObject:
    return {"role": "assistant", "content": [{"type": kind, "id": i, "name": "f", "input": {}} for i in ids]}


def results(*ids: str) -> JsonObject:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": i, "content": "ok"} for i in ids],
    }


def item(kind: str, call_id: str | None = None) -> JsonObject:
    return {"type": kind, "call_id": call_id, "id": "x", "name": "f", "output": "ok", "summary": []}


@pytest.mark.parametrize(
    ("wire", "items"),
    [
        (Wire.OPENAI, [USER, calls("a", "b"), tool("b"), tool("a"), SAYS]),
        (Wire.OPENAI, [USER, calls("a"), tool("a"), USER, calls("a"), tool("a")]),
        (Wire.ANTHROPIC, [USER, uses("a", "b"), results("b", "a"), SAYS]),
        (Wire.ANTHROPIC, [USER, {"role": "system", "content": "now"}, SAYS]),
        (Wire.RESPONSES, [USER, item("function_call", "a"), USER, item("function_call_output", "a")]),
        (Wire.RESPONSES, [USER, item("reasoning"), item("reasoning"), SAYS]),
        (Wire.RESPONSES, [USER, item("reasoning"), item("web_search_call"), SAYS]),
    ],
)
def test_a_window_that_a_provider_takes_has_no_fault(wire: Wire, items: list[JsonObject]) -> None:
    assert check_pairs(items, wire) == []


@pytest.mark.parametrize(
    ("wire", "items", "faults"),
    [
        (Wire.OPENAI, [USER, calls("a"), USER], ["messages[2]: comes before the answer to 'a'"]),
        (Wire.OPENAI, [USER, calls("a")], ["messages[2]: the answer to 'a' is missing"]),
        (Wire.OPENAI, [tool("a")], ["messages[0]: answers no open call of the assistant message before it"]),
        (
            Wire.OPENAI,
            [calls("a"), tool("a"), tool("a")],
            ["messages[2]: answers no open call of the assistant message before it"],
        ),
        (
            Wire.OPENAI,
            [{"role": "assistant", "content": None}],
            ["messages[0]: has neither content nor calls"],
        ),
        (
            Wire.OPENAI,
            [{"role": "tool", "content": ""}],
            ["messages[0].tool_call_id: is missing; it must be a string"],
        ),
        (Wire.ANTHROPIC, [SAYS], ["messages[0]: role assistant where the other one must speak"]),
        (Wire.ANTHROPIC, [USER, USER], ["messages[1]: role user where the other one must speak"]),
        (Wire.ANTHROPIC, [{"role": "user", "content": []}], ["messages[0]: is empty"]),
        (Wire.ANTHROPIC, [{"role": "user", "content": [BLANK]}], ["messages[0]: is empty"]),
        (Wire.ANTHROPIC, [{"role": "user", "content": " \n"}], ["messages[0]: is empty"]),
        (
            Wire.ANTHROPIC,
            [{"role": "user", "content": [BLANK, {"type": "text", "text": "x"}]}],
            ["messages[0]: holds a blank text"],
        ),
        (
            Wire.ANTHROPIC,
            [
                USER,
                uses("a"),
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "a", "content": [BLANK]}],
                },
            ],
            ["messages[2]: holds a blank text"],
        ),
        (Wire.ANTHROPIC, [USER, uses("a", "b"), results("a")], ["messages[2]: lacks the answer to 'b'"]),
        (Wire.ANTHROPIC, [USER, uses("a")], ["messages[2]: the answer to 'a' is missing"]),
        (Wire.ANTHROPIC, [results("a")], ["messages[0]: answers no call of the message before it: 'a'"]),
        (
            Wire.ANTHROPIC,
            [USER, uses("a"), results("a"), uses("a"), results("a")],
            ["messages[3]: uses an id again: 'a'"],
        ),
        (
            Wire.ANTHROPIC,
            [
                USER,
                uses("a"),
                {"role": "user", "content": [{"type": "text", "text": "x"}, *results("a")["content"]]},
            ],
            ["messages[2]: a tool result stands behind other content"],
        ),
        (
            Wire.ANTHROPIC,
            [USER, uses("s", kind="server_tool_use"), USER],
            ["messages[2]: begins a new turn before the answer to 's'"],
        ),
        (Wire.RESPONSES, [item("function_call_output", "a")], ["input[0]: answers no open call: 'a'"]),
        (
            Wire.RESPONSES,
            [item("function_call_output", "a"), item("function_call", "a")],
            ["input[0]: answers no open call: 'a'", "input[1]: the call 'a' is not answered"],
        ),
        (Wire.RESPONSES, [item("reasoning"), USER], ["input[0]: reasoning without the item that it led to"]),
        (Wire.RESPONSES, [item("reasoning")], ["input[0]: reasoning without the item that it led to"]),
    ],
)
def test_a_window_that_a_provider_refuses_has_its_fault_named(
    wire: Wire, items: list[JsonObject], faults: list[str]
) -> None:
    assert check_pairs(items, wire) == faults


def test_the_provider_may_answer_its_own_call_after_the_client() -> None:
    mixed = {
        "role": "assistant",
        "content": [*uses("s", kind="server_tool_use")["content"], *uses("a")["content"]],
    }
    late = {
        "role": "assistant",
        "content": [{"type": "web_search_tool_result", "tool_use_id": "s", "content": []}],
    }
    assert check_pairs([USER, mixed, results("a"), late], Wire.ANTHROPIC) == []

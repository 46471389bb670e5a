"""Fields that a provider does not know never go out, wherever in a message they stand."""

from typing import Any, get_args

import pytest
from openai.types.chat import chat_completion_content_part_param as parts
from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam
from openai.types.responses import response_input_content_param as contents
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from openai.types.responses.response_output_text_param import ResponseOutputTextParam

from context.shape.check import check_shape
from context.shape.known_fields import CHAT, ITEMS
from context.shape.rule_names import ShapeRule
from context.shape.target import target_of
from context.types import JsonObject, Wire
from tests.unit.shape.windows import HELLO, NEXT, call, calling, lay, result, said, sent

CLAUDE = "claude-sonnet-4-5"
SEARCH: JsonObject = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "a"},
}
FOUND: JsonObject = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
PICTURE: JsonObject = {"type": "image", "source": {"type": "url", "url": "https://a.invalid/1.png"}}
SHOT: JsonObject = {"type": "image_url", "image_url": {"url": "https://a.invalid/1.png"}}
WORDS: JsonObject = {"type": "text", "text": "Done."}
TOLD: JsonObject = {"type": "output_text", "text": "Done.", "annotations": []}
CALL: JsonObject = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
OUTPUT: JsonObject = {"type": "function_call_output", "call_id": "c", "output": "seen"}
THOUGHT: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": []}
SAID: JsonObject = {"type": "message", "role": "assistant", "content": [TOLD]}


def chat_call(**more: Any) -> JsonObject:
    found = call("c")
    found["function"] |= more
    return found


CASES: list[tuple[Wire, str, list[JsonObject], list[JsonObject]]] = [
    (Wire.ANTHROPIC, CLAUDE, [HELLO, said([{**WORDS, "parsed_output": {"a": 1}}])], [HELLO, said([WORDS])]),
    (
        Wire.ANTHROPIC,
        CLAUDE,
        [HELLO, said([{**SEARCH, "partial_json": "{", "index": 0}, {**FOUND, "index": 1}, WORDS])],
        [HELLO, said([SEARCH, FOUND, WORDS])],
    ),
    (
        Wire.ANTHROPIC,
        CLAUDE,
        [{"role": "user", "content": [{**PICTURE, "filename": "a.png"}]}, said([WORDS])],
        [{"role": "user", "content": [PICTURE]}, said([WORDS])],
    ),
    (Wire.OPENAI, "gpt-4o", [{**HELLO, "id": "m1", "metadata": {"a": 1}}, said()], [HELLO, said()]),
    (Wire.OPENAI, "azure/gpt-5", [HELLO, said(parsed={"a": 1}, images=[SHOT])], [HELLO, said()]),
    (
        Wire.OPENAI,
        "gpt-4o",
        [HELLO, calling({**chat_call(parsed_arguments={"a": 1}), "note": "x"}), result("c"), said()],
        [HELLO, calling(call("c")), result("c"), said()],
    ),
    (
        Wire.OPENAI,
        "mistral-large-latest",
        [{"role": "user", "content": [WORDS, {**SHOT, "uuid": "u1"}]}, said()],
        [{"role": "user", "content": [WORDS, SHOT]}, said()],
    ),
    (
        Wire.RESPONSES,
        "gpt-5",
        [
            {**HELLO, "metadata": {"a": 1}, "created_at": 3},
            {**THOUGHT, "status": None, "content": None, "encrypted_content": None},
            {**CALL, "parsed_arguments": {"a": 1}, "id": None},
            {**OUTPUT, "call_name": "look"},
            {**SAID, "content": [{**TOLD, "parsed": {"a": 1}, "logprobs": None}]},
        ],
        [HELLO, THOUGHT, CALL, OUTPUT, SAID],
    ),
]


@pytest.mark.parametrize(("wire", "model", "stored", "goes"), CASES)
def test_unknown_fields_are_left_out_and_named(
    wire: Wire, model: str, stored: list[JsonObject], goes: list[JsonObject]
) -> None:
    window = lay(stored, model, wire)
    assert sent(window) == [*goes, NEXT]
    assert ShapeRule.KNOWN_FIELDS in window.certificate.accepted_shape.rules
    assert "fields" in [loss.kind for loss in window.certificate.losses]
    assert window.certificate.accepted_shape.accepted
    assert check_shape(stored, target_of(wire, model)) != []
    assert sent(lay(goes, model, wire)) == [*goes, NEXT]


@pytest.mark.parametrize(
    ("wire", "stored"), [(case[0], case[2]) for case in CASES if case[0] is not Wire.ANTHROPIC]
)
def test_a_model_of_no_known_provider_gets_its_own_fields(wire: Wire, stored: list[JsonObject]) -> None:
    assert sent(lay(stored, "my-own-model", wire))[0] == stored[0]


@pytest.mark.parametrize(("model", "stays"), [("gpt-4o", True), ("mistral-large-latest", False)])
def test_a_field_that_a_platform_marks_as_its_own_goes_to_models_of_openai(model: str, stays: bool) -> None:
    window = lay([HELLO, said(x_note=[1, None])], model)
    assert sent(window)[1] == (said(x_note=[1, None]) if stays else said())


@pytest.mark.parametrize("model", ["gpt-4o", "deepseek-chat", "my-own-model"])
def test_calls_and_names_that_are_null_go_as_if_they_were_not_there(model: str) -> None:
    window = lay([{**HELLO, "name": None}, said(tool_calls=None)], model)
    assert sent(window) == [HELLO, said(), NEXT]
    assert ShapeRule.EMPTY_CALLS in window.certificate.accepted_shape.rules


@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
def test_a_call_of_claude_without_input_gets_an_empty_one(kind: str) -> None:
    used = {"type": kind, "id": "srvtoolu_1", "name": "web_search"}
    seen: JsonObject = {"type": "tool_result", "tool_use_id": "srvtoolu_1", "content": "a"}
    results = [{"role": "user", "content": [seen]}] if kind == "tool_use" else []
    talk = [HELLO, said([used, *([] if results else [FOUND])]), *results, said([WORDS])]
    assert sent(lay(talk, CLAUDE, Wire.ANTHROPIC))[1]["content"][0] == {**used, "input": {}}
    assert check_shape(talk, target_of(Wire.ANTHROPIC, CLAUDE)) != []


@pytest.mark.parametrize("arguments", ["", " ", None])
def test_an_item_that_calls_without_arguments_gets_empty_ones(arguments: str | None) -> None:
    window = lay([HELLO, {**CALL, "arguments": arguments}, OUTPUT, SAID], "gpt-5", Wire.RESPONSES)
    assert sent(window)[1] == CALL


@pytest.mark.parametrize(
    ("model", "name", "goes"),
    [
        ("gemini-2.5-pro", "21st_magic", "_21st_magic"),
        ("openrouter/google/gemini-3-pro", "-look", "_-look"),
        ("kimi-k2-turbo", "1st-tool", "_1st-tool"),
        ("moonshotai/kimi-k2", "look", "look"),
        ("gpt-4o", "21st_magic", "21st_magic"),
    ],
)
def test_a_tools_name_begins_with_a_letter_where_it_has_to(model: str, name: str, goes: str) -> None:
    window = lay([HELLO, calling(call("c", name)), result("c"), said()], model)
    assert sent(window)[1]["tool_calls"][0]["function"]["name"] == goes
    assert window.certificate.accepted_shape.accepted


def _fields(kind: Any) -> tuple[str, set[str]]:
    name = str(kind.__annotations__.get("type"))
    return name.partition("Literal['")[2].partition("'")[0], set(kind.__annotations__)


def test_every_field_of_openais_own_description_is_known() -> None:
    described = [*get_args(ResponseInputItemParam), *get_args(contents.ResponseInputContentParam)]
    for kind, fields in map(_fields, [*described, ResponseOutputTextParam]):
        assert fields <= ITEMS.get(kind, fields), kind
    for kind, fields in map(_fields, get_args(parts.ChatCompletionContentPartParam)):
        assert fields <= CHAT[kind], kind
    known = target_of(Wire.OPENAI, "gpt-4o").known_fields or frozenset()
    for message in get_args(ChatCompletionMessageParam):
        assert set(message.__annotations__) <= known


@pytest.mark.parametrize(
    ("model", "host"),
    [
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock"),
        ("openai.gpt-oss-120b-1:0", "bedrock"),
        ("moonshotai.kimi-k2.5", "bedrock"),
        ("us.deepseek.r1-v1:0", "bedrock"),
        ("gpt-4.1", ""),
        ("kimi-k2.5", ""),
    ],
)
def test_a_name_of_bedrock_is_known_in_every_region_and_of_every_maker(model: str, host: str) -> None:
    assert target_of(Wire.OPENAI, model).host == host


REASONED: JsonObject = {
    "reasoning": "I look.",
    "reasoning_content": "I look.",
    "reasoning_details": [{"type": "reasoning.text", "text": "I look."}],
    "thinking_blocks": [{"type": "thinking", "thinking": "I look.", "signature": "c2ln"}],
    "provider_specific_fields": {"reasoning": "I look."},
}
OF_GATEWAY = REASONED.keys() - {"reasoning_content"}


@pytest.mark.parametrize("made_by", [None, "gpt-4.1"])
@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("gpt-4o", set()),
        ("gpt-5-mini", set()),
        ("o4-mini", set()),
        ("chatgpt-4o-latest", set()),
        ("openai/gpt-5", OF_GATEWAY),
        ("azure/gpt-5-mini", OF_GATEWAY),
        ("openrouter/openai/o3", OF_GATEWAY),
        ("gpt-oss-120b", {"reasoning", "reasoning_content", "reasoning_details"}),
        ("openai/gpt-oss-20b", {"reasoning", "reasoning_content", "reasoning_details"}),
        ("groq/openai/gpt-oss-120b", {"reasoning"}),
    ],
)
def test_reasoning_goes_to_those_who_read_it(model: str, kept: set[str], made_by: str | None) -> None:
    bodies = [HELLO, {**calling(call("call_1")), **REASONED}, result("call_1"), said(**REASONED)]
    window = lay(bodies, model, made_by=made_by)
    assert [set(body) & REASONED.keys() for body in sent(window)] == [set(), kept, set(), kept, set()]
    assert window.certificate.accepted_shape.accepted
    bare = lay([HELLO, calling(call("call_1")), result("call_1"), said()], model, made_by=made_by)
    assert (window.certificate.input_tokens == bare.certificate.input_tokens) == (not kept)


def test_a_message_with_nothing_but_reasoning_that_is_not_sent_does_not_go_out_empty() -> None:
    window = lay([HELLO, said("", reasoning_content="I think."), HELLO, said()], "gpt-4o")
    assert [body["role"] for body in sent(window)] == ["user", "user", "assistant", "user"]
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(
    "extra",
    [{"status": "success"}, {"type": "tool"}, {"text": "seen"}, {"output": "seen"}, {"call_id": "call_1"}],
)
@pytest.mark.parametrize("model", ["gpt-4o", "mistral-large-latest", "groq/llama-3.3-70b"])
def test_a_result_of_words_alone_has_no_field_of_another_format(model: str, extra: JsonObject) -> None:
    window = lay([HELLO, calling(call("call_1")), {**result("call_1"), **extra}, said()], model)
    [answer] = [body for body in sent(window) if body["role"] == "tool"]
    assert set(answer) == {"role", "tool_call_id", "content"}
    assert window.certificate.losses


@pytest.mark.parametrize("extra", [{"status": None}, {"role": "tool"}, {"content": "seen"}])
def test_an_output_of_words_alone_has_no_field_of_another_format(extra: JsonObject) -> None:
    asked = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    told = {"type": "function_call_output", "call_id": "c", "output": "seen"}
    window = lay([HELLO, asked, {**told, **extra}, said()], "gpt-5", Wire.RESPONSES)
    assert sent(window)[2] == told


@pytest.mark.parametrize("name", ["look", "srv.look", "the <look>", "9x", "näher", "x" * 90])
@pytest.mark.parametrize("model", ["gpt-4o", "gemini-2.5-pro", "mistral-large-latest"])
def test_a_result_names_its_tool_as_its_call_does(name: str, model: str) -> None:
    told = {**result("call_1"), "name": name}
    window = lay([HELLO, calling(call("call_1", name)), told, said()], model)
    _, asked, answer, *_ = sent(window)
    assert answer["name"] == asked["tool_calls"][0]["function"]["name"]
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize("content", ["I look.", [{"type": "text", "text": "I look."}]])
def test_fields_of_a_stored_answer_that_do_not_go_out_are_not_counted(content: object) -> None:
    """An answer as a client dumps it: fields beside role and content are no part of a request."""
    answer: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": CLAUDE,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 2_000, "output_tokens": 100, "service_tier": "standard" * 100},
    }
    bare = {"role": "assistant", "content": content}
    window, less = (lay([HELLO, each, NEXT, said()], CLAUDE, Wire.ANTHROPIC) for each in (answer, bare))
    assert sent(window) == sent(less)
    assert window.certificate.input_tokens == less.certificate.input_tokens
    assert ShapeRule.KNOWN_FIELDS in window.certificate.accepted_shape.rules

"""What providers refuse in the shape of stored messages is mended on the way out, and named."""

import json
from typing import Any

import pytest

from context.shape.check import check_shape
from context.shape.rule_names import ShapeRule
from context.shape.target import target_of
from context.types import JsonObject, Wire
from context.wire import check_pairs
from tests.unit.shape.windows import HELLO, NEXT, call, calling, lay, result, said, sent, system

LONG = "call_" + "x" * 255
CHAT, BLOCKS, ITEMS = Wire.OPENAI, Wire.ANTHROPIC, Wire.RESPONSES
GPT, CLAUDE, MISTRAL = "gpt-4o", "claude-sonnet-4-5", "mistralai/mistral-small-2506"
THOUGHT = {"type": "thinking", "thinking": "Let me thi", "signature": ""}
SIGNED = {"type": "thinking", "thinking": "I look.", "signature": "c2lnbmVk"}
MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> JsonObject:
    return {"type": "text", "text": words, **more}


CASES: list[tuple[str, Wire, str, list[JsonObject], ShapeRule]] = [
    ("empty calls", CHAT, GPT, [HELLO, said(tool_calls=[])], ShapeRule.EMPTY_CALLS),
    (
        "empty content beside calls",
        CHAT,
        GPT,
        [HELLO, calling(call("c1"), content=[]), result("c1"), said()],
        ShapeRule.EMPTY_CONTENT,
    ),
    (
        "a result that is an empty list",
        CHAT,
        GPT,
        [HELLO, calling(call("c1")), result("c1", [])],
        ShapeRule.EMPTY_CONTENT,
    ),
    ("a blank part among others", CHAT, GPT, [HELLO, said([text(""), text("Done.")])], ShapeRule.EMPTY_TEXT),
    (
        "a blank refusal among others",
        CHAT,
        GPT,
        [HELLO, said([{"type": "refusal"}, text("Done.")])],
        ShapeRule.EMPTY_TEXT,
    ),
    (
        "a blank refusal alone",
        CHAT,
        GPT,
        [HELLO, said([{"type": "refusal", "refusal": ""}])],
        ShapeRule.EMPTY_TEXT,
    ),
    (
        "a free-form call without input",
        Wire.RESPONSES,
        "gpt-5",
        [
            HELLO,
            {"type": "custom_tool_call", "call_id": "c1", "name": "look"},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "r"},
        ],
        ShapeRule.ARGUMENTS,
    ),
    (
        "a free-form call with an object",
        Wire.RESPONSES,
        "gpt-5",
        [
            HELLO,
            {"type": "custom_tool_call", "call_id": "c1", "name": "look", "input": {"at": 1}},
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "r"},
        ],
        ShapeRule.ARGUMENTS,
    ),
    ("a long id", CHAT, GPT, [HELLO, calling(call(LONG)), result(LONG), said()], ShapeRule.CALL_ID),
    (
        "an id of 41",
        CHAT,
        "azure/gpt-4.1",
        [HELLO, calling(call("c" * 41)), result("c" * 41)],
        ShapeRule.CALL_ID,
    ),
    (
        "an id for Mistral",
        CHAT,
        MISTRAL,
        [HELLO, calling(call("call_abc")), result("call_abc"), said()],
        ShapeRule.CALL_ID,
    ),
    (
        "an id with dots for Claude behind chat",
        CHAT,
        "openrouter/anthropic/claude-sonnet-4.5",
        [HELLO, calling(call("functions.look:0")), result("functions.look:0"), said()],
        ShapeRule.CALL_ID,
    ),
    (
        "an id with dots",
        BLOCKS,
        CLAUDE,
        [
            HELLO,
            said([{"type": "tool_use", "id": "f.look:0", "name": "look", "input": {}}]),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "f.look:0", "content": "a"}]},
            said(),
        ],
        ShapeRule.CALL_ID,
    ),
    (
        "a long id of an item",
        ITEMS,
        GPT,
        [
            HELLO,
            {"type": "function_call", "call_id": LONG, "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": LONG, "output": "a"},
        ],
        ShapeRule.CALL_ID,
    ),
    (
        "thinking that was broken off",
        BLOCKS,
        CLAUDE,
        [HELLO, said([THOUGHT, text("Done.")])],
        ShapeRule.UNSIGNED_THINKING,
    ),
    (
        "thinking without a signature behind chat",
        CHAT,
        "anthropic/claude-sonnet-4-5",
        [HELLO, said(thinking_blocks=[{"type": "thinking", "thinking": "a"}])],
        ShapeRule.UNSIGNED_THINKING,
    ),
    (
        "thinking at the end",
        BLOCKS,
        CLAUDE,
        [HELLO, said([text("Done."), SIGNED])],
        ShapeRule.TRAILING_THINKING,
    ),
    (
        "seven marks",
        BLOCKS,
        CLAUDE,
        [each for _ in range(7) for each in ({"role": "user", "content": [text("a", **MARK)]}, said())],
        ShapeRule.CACHE_MARKS,
    ),
    (
        "marks behind chat",
        CHAT,
        "openrouter/anthropic/claude-sonnet-4.5",
        [each for _ in range(7) for each in ({"role": "user", "content": [text("a", **MARK)]}, said())],
        ShapeRule.CACHE_MARKS,
    ),
    (
        "a document for Mistral alone",
        CHAT,
        GPT,
        [
            {"role": "user", "content": [{"type": "document_url", "document_url": "https://a.invalid"}]},
            said(),
        ],
        ShapeRule.PART_KIND,
    ),
    (
        "a video for some",
        CHAT,
        GPT,
        [
            {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://a.invalid"}}]},
            said(),
        ],
        ShapeRule.PART_KIND,
    ),
    (
        "thinking parts of Mistral",
        CHAT,
        GPT,
        [HELLO, said([{"type": "thinking", "thinking": [text("a")]}, text("Done.")])],
        ShapeRule.PART_KIND,
    ),
    (
        "the developer's role",
        CHAT,
        "deepseek-chat",
        [{"role": "developer", "content": "Go."}, HELLO],
        ShapeRule.DEVELOPER_ROLE,
    ),
    (
        "two users in a row",
        CHAT,
        MISTRAL,
        [HELLO, said(), HELLO],
        ShapeRule.ALTERNATING_ROLES,
    ),
    (
        "two users for Gemma",
        CHAT,
        "google/gemma-3-27b-it",
        [HELLO, said(), HELLO],
        ShapeRule.ALTERNATING_ROLES,
    ),
    (
        "a user after a tool",
        CHAT,
        MISTRAL,
        [HELLO, calling(call("aaaaaaaaa")), result("aaaaaaaaa")],
        ShapeRule.USER_AFTER_TOOL,
    ),
    (
        "an instruction inside the conversation",
        CHAT,
        "qwen/qwen3-235b",
        [HELLO, said(), {"role": "system", "content": "Now be brief."}, HELLO, said()],
        ShapeRule.SYSTEM_ITEM,
    ),
    (
        "a tool's name",
        CHAT,
        GPT,
        [HELLO, calling(call("c1", "mcp.look/up")), result("c1")],
        ShapeRule.TOOL_NAME,
    ),
    ("a speaker's name", CHAT, GPT, [{**HELLO, "name": "Ann Lee <a>"}, said()], ShapeRule.MESSAGE_NAME),
    ("a speaker for Mistral", CHAT, MISTRAL, [{**HELLO, "name": "ann"}, said()], ShapeRule.MESSAGE_NAME),
    ("fields for Mistral", CHAT, MISTRAL, [HELLO, said(reasoning_content="a")], ShapeRule.KNOWN_FIELDS),
    (
        "arguments that are an object",
        CHAT,
        GPT,
        [
            HELLO,
            calling({"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}),
            result("c"),
        ],
        ShapeRule.ARGUMENTS,
    ),
    (
        "arguments cut off",
        CHAT,
        "gemini-2.5-pro",
        [HELLO, calling(call("c", arguments='{"a')), result("c")],
        ShapeRule.ARGUMENTS,
    ),
    (
        "a call without its type",
        CHAT,
        GPT,
        [HELLO, calling({**call("c"), "type": None}), result("c")],
        ShapeRule.CALL_SHAPE,
    ),
    (
        "ids of items of another maker",
        ITEMS,
        GPT,
        [
            HELLO,
            {"type": "function_call", "id": "call_1", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "a"},
        ],
        ShapeRule.ITEM_ID,
    ),
    (
        "words of the other kind",
        ITEMS,
        GPT,
        [HELLO, {"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}],
        ShapeRule.PART_KIND,
    ),
    (
        "reasoning of R1",
        CHAT,
        "deepseek/deepseek-r1",
        [HELLO, said(reasoning_content="a")],
        ShapeRule.SPENT_REASONING,
    ),
]


@pytest.mark.parametrize(("_name", "wire", "model", "bodies", "rule"), CASES, ids=[case[0] for case in CASES])
def test_what_would_be_refused_is_mended_and_the_rule_is_named(
    _name: str, wire: Wire, model: str, bodies: list[JsonObject], rule: ShapeRule
) -> None:
    window = lay(bodies, model, wire)
    shape = window.certificate.accepted_shape
    assert (shape.accepted, shape.faults) == (True, ())
    assert rule in shape.rules
    assert check_pairs(sent(window), wire) == []
    assert check_shape(sent(window), target_of(wire, model)) == []
    assert NEXT["content"] in json.dumps(sent(window)[-1])


_MENDED_WITHOUT_A_FAULT = {
    ShapeRule.CALL_SHAPE,
    ShapeRule.ITEM_ID,
    ShapeRule.MESSAGE_NAME,
    ShapeRule.PART_KIND,
    ShapeRule.SPENT_REASONING,
    ShapeRule.ARGUMENTS,
}
FAULTY = [case for case in CASES if case[4] not in _MENDED_WITHOUT_A_FAULT]


@pytest.mark.parametrize(
    ("wire", "model", "bodies"), [case[1:4] for case in FAULTY], ids=[c[0] for c in FAULTY]
)
def test_the_validator_names_the_fault_in_what_is_stored(
    wire: Wire, model: str, bodies: list[JsonObject]
) -> None:
    assert check_shape([*bodies, NEXT], target_of(wire, model)) != []


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.RESPONSES])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_stored_message_of_no_parts_is_left_out(wire: Wire, role: str) -> None:
    window = lay([HELLO, said(), {"role": role, "content": []}, HELLO, said()], GPT, wire)
    assert [body["content"] for body in sent(window)] == ["hello", "Done.", "hello", "Done.", "and now?"]
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize("content", ["", " \n", None, [], [text(" ")]])
def test_an_assistant_that_says_nothing_is_left_out(content: Any) -> None:
    assert len(sent(lay([HELLO, said(content)], GPT))) == 2


def test_an_id_of_forty_characters_stays_and_one_more_is_shaped_on_both_sides_alike() -> None:
    for length, stays in ((40, True), (41, False)):
        call_id = "c" * length
        bodies = sent(lay([HELLO, calling(call(call_id)), result(call_id), said()], GPT))
        made, answered = bodies[1]["tool_calls"][0]["id"], bodies[2]["tool_call_id"]
        assert made == answered
        assert (made == call_id) is stays
        assert len(made) <= 40


def test_the_result_of_a_stored_call_in_a_new_message_gets_the_same_id() -> None:
    window = lay([HELLO, calling(call(LONG))], GPT, new=[result(LONG)])
    assert sent(window)[1]["tool_calls"][0]["id"] == sent(window)[2]["tool_call_id"]
    assert window.certificate.tool_pairs_intact


def test_calls_of_another_format_keep_their_pairs_for_a_model_that_wants_nine_characters() -> None:
    bodies = [
        HELLO,
        said([{"type": "tool_use", "id": "toolu_01", "name": "look", "input": {}}]),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "a"}]},
        said(),
    ]
    window = lay(bodies, MISTRAL, CHAT, stored_in=BLOCKS)
    call_id = sent(window)[1]["tool_calls"][0]["id"]
    assert call_id == sent(window)[2]["tool_call_id"]
    assert len(call_id) == 9
    assert call_id.isalnum()


@pytest.mark.parametrize("model", ["gemini/gemini-3-pro", "moonshot/kimi-k2"])
def test_ids_in_which_a_provider_reads_more_stay(model: str) -> None:
    bodies = sent(lay([HELLO, calling(call(LONG)), result(LONG), said()], model))
    assert bodies[1]["tool_calls"][0]["id"] == LONG


def test_marks_of_the_new_message_stay_as_far_as_there_is_room() -> None:
    new = {"role": "user", "content": [text(str(place), **MARK) for place in range(4)]}
    blocks = sent(lay([HELLO, said()], CLAUDE, BLOCKS, new=[new]))[-1]["content"]
    assert ["cache_control" in block for block in blocks] == [False, False, True, True]


def test_a_strict_template_gets_the_instructions_of_history_as_words_that_say_whose_they_are() -> None:
    bodies = [{"role": "system", "content": "Be brief."}, HELLO, said()]
    assert sent(lay(bodies, MISTRAL))[0] == bodies[0]
    window = lay(bodies, MISTRAL, system=system())
    assert [body["role"] for body in sent(window)] == ["system", "user", "assistant", "user"]
    assert "Be brief." in sent(window)[1]["content"]
    assert "Instruction of the platform" in sent(window)[1]["content"]


@pytest.mark.parametrize(
    ("model", "stays"),
    [
        ("claude-sonnet-4-5", False),
        ("claude-opus-4-8", True),
        ("bedrock/anthropic.claude-opus-4-8", False),
    ],
)
def test_a_system_message_inside_anthropics_conversation_stays_where_the_model_takes_it(
    model: str, stays: bool
) -> None:
    bodies = [HELLO, {"role": "system", "content": "Now be brief."}, said(), HELLO, said()]
    window = lay(bodies, model, BLOCKS)
    assert ("system" in [body["role"] for body in sent(window)]) is stays
    assert (window.system == "Now be brief.") is not stays
    assert window.certificate.accepted_shape.accepted


def test_a_system_message_between_two_users_joins_the_prompt_and_the_new_words_stay_last() -> None:
    bodies = [HELLO, said(), HELLO, {"role": "system", "content": "Now be brief."}]
    window = lay(bodies, "claude-opus-4-8", BLOCKS)
    assert window.system == "Now be brief."
    assert "and now?" in json.dumps(sent(window)[-1])
    assert sent(window)[-1]["role"] == "user"


@pytest.mark.parametrize(
    ("model", "wire", "last"),
    [
        ("claude-opus-4-6", BLOCKS, {"role": "user", "content": "[Go on from here.]"}),
        ("anthropic/claude-sonnet-4-6", CHAT, {"role": "user", "content": "[Go on from here.]"}),
        ("claude-sonnet-4-5", BLOCKS, {"role": "assistant", "content": "{"}),
        (MISTRAL, CHAT, {"role": "assistant", "content": "{ ", "prefix": True}),
        (GPT, CHAT, {"role": "assistant", "content": "{ "}),
    ],
)
def test_a_window_that_ends_with_the_assistants_words_can_be_gone_on_with(
    model: str, wire: Wire, last: JsonObject
) -> None:
    window = lay([HELLO, said()], model, wire, new=[NEXT, said("{ ")])
    assert sent(window)[-1] == last
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize("wire", list(Wire))
def test_what_is_fine_goes_out_as_it_was_stored(wire: Wire) -> None:
    bodies: dict[Wire, list[JsonObject]] = {
        CHAT: [HELLO, calling(call("call_1")), result("call_1"), said(refusal=None, annotations=[])],
        BLOCKS: [
            {"role": "user", "content": [text("hello")]},
            said([SIGNED, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}]},
            said([text("Done.")]),
        ],
        ITEMS: [
            HELLO,
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QUJD"},
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "a"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        ],
    }
    model = CLAUDE if wire is BLOCKS else GPT
    window = lay(bodies[wire], model, wire, made_by=model)
    assert sent(window) == [*bodies[wire], NEXT]
    assert window.certificate.accepted_shape.rules == ()
    assert window.certificate.losses == ()


@pytest.mark.parametrize("words", ["", " ", "\n" * 300])
@pytest.mark.parametrize("wire", list(Wire))
def test_blank_words_of_another_format_never_go_out(words: str, wire: Wire) -> None:
    bodies = [HELLO, said([text("Yes."), text(words)]), {"role": "user", "content": [text(words)]}]
    window = lay([*bodies, said([text(words)]), HELLO, said()], GPT, wire, stored_in=BLOCKS)
    assert check_pairs(sent(window), wire) == []
    assert window.certificate.accepted_shape.accepted
    assert json.dumps(sent(window)).count("Yes.") == 1


@pytest.mark.parametrize("reply", [said("\n" * 300), said("", reasoning_content="I think. " * 40)])
def test_a_long_message_without_words_is_left_out(reply: JsonObject) -> None:
    window = lay([HELLO, reply, HELLO, said()], GPT)
    assert check_pairs(sent(window), CHAT) == []
    assert window.certificate.accepted_shape.accepted
    assert len(sent(window)) == 4


@pytest.mark.parametrize("length", [1, 4_000])
def test_reasoning_that_leads_to_nothing_is_not_counted(length: int) -> None:
    sealed = "QUJD" * length
    idle: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed}
    made = {**idle, "id": "rs_2"}
    asked: JsonObject = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    told: JsonObject = {"type": "function_call_output", "call_id": "c", "output": "seen"}
    done = said([{"type": "output_text", "text": "Done."}])
    for bodies, left_out in (
        ([HELLO, idle, idle, HELLO, done], [HELLO, HELLO, done]),
        ([HELLO, asked, told, idle, HELLO, made, done], [HELLO, asked, told, HELLO, made, done]),
        ([HELLO, made, idle, asked, told, done], [HELLO, made, idle, asked, told, done]),
    ):
        window, less = (lay(each, "gpt-5", ITEMS) for each in (bodies, left_out))
        assert sent(window) == sent(less)
        assert window.certificate.input_tokens == less.certificate.input_tokens

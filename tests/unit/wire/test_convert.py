"""How a window looks in each format, and what is said of what it lost."""

import base64
import json
from typing import Any

import pytest

from context.types import JsonObject, Message, Wire
from context.window.outgoing import Sender
from context.wire import ConvertedWindow, Loss, LossKind, check_pairs, convert
from tests.unit.wire.windows import kinds, message, window

SIGNED = '{"type":"thinking","thinking":"a  b","signature":"EqoB+/=="}'
BLANK: JsonObject = {"type": "text", "text": " \n"}
USER: JsonObject = {"role": "user", "content": "hi"}
REASONS: JsonObject = {"type": "reasoning", "id": "r", "summary": []}
ANSWERS: JsonObject = {"type": "message", "role": "assistant", "content": "yes"}


def calls(*ids: str, arguments: str = "{}") -> JsonObject:
    functions = [
        {"id": i, "type": "function", "function": {"name": "f", "arguments": arguments}} for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": functions}


def tool(call_id: str, content: object = "ok") -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def use(call_id: str) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}}


def result(call_id: str, content: object = "ok") -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def to(wire: Wire, bodies: list[JsonObject], own: Wire = Wire.OPENAI) -> ConvertedWindow:
    return convert(window(bodies, own), wire)


def parts(*content: JsonObject) -> list[JsonObject]:
    return [{"role": "user", "content": list(content)}]


def test_anthropic_gets_the_system_prompt_apart_and_one_message_of_results() -> None:
    out = to(
        Wire.ANTHROPIC,
        [{"role": "system", "content": "Be brief."}, USER, calls("a", "b"), tool("a"), tool("b")],
    )
    assert out.system == "Be brief."
    assert out.bodies() == [
        USER,
        {"role": "assistant", "content": [use("a"), use("b")]},
        {"role": "user", "content": [result("a"), result("b")]},
    ]
    assert out.dropped == ()


def test_words_after_results_join_them_in_one_user_message() -> None:
    out = to(Wire.ANTHROPIC, [USER, calls("a"), tool("a"), {"role": "user", "content": "stop"}])
    assert out.bodies()[2]["content"] == [result("a"), {"type": "text", "text": "stop"}]


def test_a_later_system_message_joins_the_prompt_and_is_listed() -> None:
    out = to(Wire.ANTHROPIC, [USER, {"role": "system", "content": "Now in French."}])
    assert out.system == "Now in French."
    assert kinds(out.dropped) == {LossKind.ORDER}


def test_a_window_that_opens_with_the_assistant_gets_a_user_first() -> None:
    out = to(Wire.ANTHROPIC, [{"role": "assistant", "content": "Welcome."}, USER])
    assert [body["role"] for body in out.bodies()] == ["user", "assistant", "user"]
    assert kinds(out.dropped) == {LossKind.ORDER}


def test_ids_that_repeat_between_turns_become_distinct_for_anthropic() -> None:
    out = to(Wire.ANTHROPIC, [USER, calls("call_0"), tool("call_0"), USER, calls("call_0"), tool("call_0")])
    assert check_pairs(out.bodies(), Wire.ANTHROPIC) == []
    assert out.dropped == (Loss(5, LossKind.CALL_ID, "the call and its answer got a new id"),)


def test_an_id_repeated_often_never_takes_a_name_that_is_used() -> None:
    ids = ["call_0", "call_0", "call_0_2", "call_0#2", "call_0", "call_0#2"]
    out = to(Wire.ANTHROPIC, [USER, *(body for one in ids for body in (calls(one), tool(one), USER))])
    named = [block["id"] for body in out.bodies() if body["role"] == "assistant" for block in body["content"]]
    assert len(set(named)) == len(ids)
    assert named[0] == "call_0"
    assert check_pairs(out.bodies(), Wire.ANTHROPIC) == []


def test_of_two_equal_system_messages_the_one_between_joined_words_is_lifted() -> None:
    rule: JsonObject = {"role": "system", "content": "Be brief."}
    said: JsonObject = {"role": "assistant", "content": "yes"}
    out = to(Wire.ANTHROPIC, [USER, rule, said, USER, rule, USER], Wire.ANTHROPIC)
    assert [body["role"] for body in out.bodies()] == ["user", "system", "assistant", "user"]
    assert out.system == "Be brief."


def test_of_two_equal_system_messages_only_the_misplaced_one_is_lifted() -> None:
    rule: JsonObject = {"role": "system", "content": "Be brief."}
    said: JsonObject = {"role": "assistant", "content": "yes"}
    out = to(Wire.ANTHROPIC, [USER, rule, said, rule, USER], Wire.ANTHROPIC)
    assert [body["role"] for body in out.bodies()] == ["user", "system", "assistant", "user"]
    assert out.system == "Be brief."


def test_results_come_first_however_many_messages_join() -> None:
    out = to(
        Wire.ANTHROPIC, [USER, calls("a", "b"), tool("a"), tool("b"), USER, {"role": "user", "content": "x"}]
    )
    kinds_sent = [block["type"] for block in out.bodies()[-1]["content"]]
    assert kinds_sent == ["tool_result", "tool_result", "text", "text"]


def test_ids_with_foreign_characters_are_shaped_alike_on_both_sides() -> None:
    out = to(Wire.ANTHROPIC, [USER, calls("a|b", "a:b"), tool("a:b"), tool("a|b")])
    ids = [block["id"] for block in out.bodies()[1]["content"]]
    assert len(set(ids)) == 2
    assert [block["tool_use_id"] for block in out.bodies()[2]["content"]] == ids[::-1]
    assert all(i.replace("_", "").isalnum() for i in ids)


def test_a_long_id_is_shortened_for_openai() -> None:
    messages = [
        {"role": "assistant", "content": [use("x" * 60)]},
        {"role": "user", "content": [result("x" * 60)]},
    ]
    out = to(Wire.OPENAI, messages, Wire.ANTHROPIC)
    assert len(out.bodies()[1]["tool_call_id"]) == 40
    assert check_pairs(out.bodies(), Wire.OPENAI) == []


@pytest.mark.parametrize("arguments", ["not json", "[1]", '{"x": NaN}', "[" * 100_000])
def test_arguments_that_are_no_object_are_kept_as_text_for_anthropic(arguments: str) -> None:
    out = to(Wire.ANTHROPIC, [USER, calls("a", arguments=arguments), tool("a")])
    assert out.bodies()[1]["content"][0]["input"] == {"input": arguments}
    assert kinds(out.dropped) == {LossKind.ARGUMENTS}


def test_a_speaker_is_named_before_the_words_where_the_format_has_no_name() -> None:
    chat = [
        {"role": "user", "content": "yes", "name": "ana"},
        {"role": "user", "content": "no", "name": "bo"},
    ]
    assert to(Wire.ANTHROPIC, chat).bodies()[0]["content"] == [
        {"type": "text", "text": "ana: yes"},
        {"type": "text", "text": "bo: no"},
    ]
    assert [body["content"] for body in to(Wire.RESPONSES, chat).bodies()] == ["ana: yes", "bo: no"]


def test_signed_thinking_stays_byte_for_byte_at_home() -> None:
    raw = f'{{"role": "assistant",  "content": [{SIGNED}, {json.dumps(use("a"))}]}}'
    home = Message(1, message(USER).role, 0, '{"role":"user","content":"hi"}', wire=Wire.ANTHROPIC)
    thinker = Message(
        2, message({"role": "assistant", "content": ""}).role, 0, raw, ("a",), (), Wire.ANTHROPIC
    )
    out = convert([home, thinker], Wire.ANTHROPIC)
    assert out.items[1] == raw
    assert out.dropped == ()


def test_signed_thinking_survives_a_merge_unchanged() -> None:
    blocks = [
        {"role": "assistant", "content": [json.loads(SIGNED)]},
        {"role": "assistant", "content": [use("a")]},
    ]
    out = to(Wire.ANTHROPIC, [USER, *blocks, {"role": "user", "content": [result("a")]}], Wire.ANTHROPIC)
    assert SIGNED in out.items[1]
    assert check_pairs(out.bodies(), Wire.ANTHROPIC) == []


def test_blank_texts_are_left_out_of_stored_blocks_and_the_rest_stays() -> None:
    thought = {"role": "assistant", "content": [json.loads(SIGNED), BLANK, use("a")]}
    told = {"role": "user", "content": [result("a", [BLANK]), BLANK]}
    out = to(Wire.ANTHROPIC, [USER, thought, told], Wire.ANTHROPIC)
    assert [body["content"] for body in out.bodies()] == [
        "hi",
        [json.loads(SIGNED), use("a")],
        [{"type": "tool_result", "tool_use_id": "a"}],
    ]
    assert SIGNED in out.items[1]
    assert [(loss.seq, loss.kind) for loss in out.dropped] == [(2, LossKind.EMPTY), (3, LossKind.EMPTY)]
    assert check_pairs(out.bodies(), Wire.ANTHROPIC) == []


@pytest.mark.parametrize("content", ["", " \n", [], [BLANK], [BLANK, BLANK]])
def test_a_stored_message_of_blank_texts_alone_is_left_out_and_listed(content: object) -> None:
    blank = {"role": "user", "content": content}
    answer = {"role": "assistant", "content": "What is it?"}
    out = to(Wire.ANTHROPIC, [USER, answer, blank, answer, USER], Wire.ANTHROPIC)
    assert [body["role"] for body in out.bodies()] == ["user", "assistant", "user"]
    assert [(loss.seq, loss.kind) for loss in out.dropped] == [(3, LossKind.EMPTY)]
    assert check_pairs(out.bodies(), Wire.ANTHROPIC) == []


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.RESPONSES])
def test_signed_thinking_is_left_out_whole_elsewhere(wire: Wire) -> None:
    answer = {"role": "assistant", "content": [json.loads(SIGNED), {"type": "text", "text": "Done."}]}
    out = to(wire, [USER, answer], Wire.ANTHROPIC)
    assert out.bodies()[1] == {"role": "assistant", "content": "Done."}
    assert out.dropped == (Loss(2, LossKind.REASONING, "signed thinking was left out whole"),)


def test_fields_of_a_stored_response_are_not_sent_back_to_anthropic() -> None:
    answer = {
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
        "usage": {"x": 1},
    }
    out = to(Wire.ANTHROPIC, [USER, answer], Wire.ANTHROPIC)
    assert out.bodies()[1] == {"role": "assistant", "content": answer["content"]}
    assert kinds(out.dropped) == {LossKind.FIELDS}


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        (Wire.OPENAI, {"role": "assistant", "content": None}),
        (Wire.OPENAI, {"role": "assistant"}),
        (Wire.ANTHROPIC, {"role": "assistant", "content": []}),
    ],
)
def test_an_aborted_answer_is_left_out_and_listed(wire: Wire, body: JsonObject) -> None:
    out = to(wire, [USER, body], wire)
    assert out.bodies() == [USER]
    assert kinds(out.dropped) == {LossKind.EMPTY}


@pytest.mark.parametrize("to_wire", Wire)
def test_an_answer_that_words_overtook_goes_behind_its_call(to_wire: Wire) -> None:
    items = [
        USER,
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"role": "assistant", "content": "Working on it."},
        {"role": "user", "content": "Still there?"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]
    out = to(to_wire, items, Wire.RESPONSES)
    assert check_pairs(out.bodies(), to_wire) == []
    assert (LossKind.ORDER in kinds(out.dropped)) is (to_wire is not Wire.RESPONSES)


def test_the_items_of_one_response_become_one_chat_message() -> None:
    items: list[JsonObject] = [
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
    ]
    out = to(Wire.OPENAI, items, Wire.RESPONSES)
    assert out.bodies() == [calls("a", "b") | {"content": "Looking."}, tool("a", "1"), tool("b", "2")]


def test_a_free_form_call_and_its_output_keep_their_kind() -> None:
    custom = {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    chat = [USER, {"role": "assistant", "content": None, "tool_calls": [custom]}, tool("a")]
    out = to(Wire.RESPONSES, chat)
    assert [body.get("type") for body in out.bodies()] == [
        None,
        "custom_tool_call",
        "custom_tool_call_output",
    ]
    assert to(Wire.ANTHROPIC, chat).bodies()[1]["content"][0]["input"] == {"input": "select 1"}


def test_the_older_function_call_pairs_in_every_format() -> None:
    legacy: list[JsonObject] = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "ok"},
    ]
    for wire in Wire:
        assert check_pairs(to(wire, [USER, *legacy, USER, *legacy]).bodies(), wire) == []


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}},
            {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:image/jpg;base64,AAAA"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                "title": "a.pdf",
            },
        ),
        (
            {
                "type": "file",
                "file": {"file_data": f"data:text/plain;base64,{base64.b64encode(b'abc').decode()}"},
            },
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "abc"}},
        ),
    ],
)
def test_media_take_the_shape_of_anthropic(part: JsonObject, block: JsonObject) -> None:
    out = to(Wire.ANTHROPIC, parts(part))
    assert out.bodies()[0]["content"] == [block]
    assert out.dropped == ()


@pytest.mark.parametrize(
    ("part", "note"),
    [
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            "[audio not shown: audio/wav]",
        ),
        ({"type": "image_url", "image_url": {"url": "http://e.org/a.png"}}, "[image not shown]"),
        (
            {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,AA"}},
            "[image not shown: image/tiff]",
        ),
        ({"type": "file", "file": {"file_id": "file-1", "filename": "a.pdf"}}, "[file not shown: a.pdf]"),
        (
            {"type": "file", "file": {"file_data": "data:text/plain;base64,!!"}},
            "[file not shown: text/plain]",
        ),
    ],
)
def test_media_without_a_shape_become_a_note_and_are_listed(part: JsonObject, note: str) -> None:
    out = to(Wire.ANTHROPIC, parts(part))
    assert out.bodies()[0]["content"] == note
    assert kinds(out.dropped) == {LossKind.MEDIA}


def test_media_that_a_tool_returned_follow_the_tool_messages_in_openai() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    chat: list[JsonObject] = [
        USER,
        {"role": "assistant", "content": [use("a"), use("b")]},
        {"role": "user", "content": [result("a", [image]), result("b")]},
        {"role": "assistant", "content": "Seen."},
    ]
    out = to(Wire.OPENAI, chat, Wire.ANTHROPIC)
    assert [body["role"] for body in out.bodies()] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert out.bodies()[4]["content"][1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert kinds(out.dropped) == {LossKind.ORDER}


def test_a_failed_result_is_an_error_block_only_where_there_is_one() -> None:
    failed = {**result("a", ""), "is_error": True}
    chat = [USER, {"role": "assistant", "content": [use("a")]}, {"role": "user", "content": [failed]}]
    assert kinds(to(Wire.OPENAI, chat, Wire.ANTHROPIC).dropped) == {LossKind.ERROR_FLAG}
    assert kinds(to(Wire.RESPONSES, chat, Wire.ANTHROPIC).dropped) == {LossKind.ERROR_FLAG}


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.RESPONSES])
def test_tools_that_the_provider_ran_are_left_out_with_their_results(wire: Wire) -> None:
    search: list[Any] = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "text", "text": "It rains."},
    ]
    out = to(wire, [USER, {"role": "assistant", "content": search}], Wire.ANTHROPIC)
    assert out.bodies()[1] == {"role": "assistant", "content": "It rains."}
    assert [loss.kind for loss in out.dropped] == [LossKind.CONTENT, LossKind.CONTENT]


def test_a_refusal_stays_marked_between_the_openai_formats() -> None:
    refusal = {"role": "assistant", "content": None, "refusal": "I will not."}
    out = to(Wire.RESPONSES, [USER, refusal])
    assert out.bodies()[1]["content"] == [{"type": "refusal", "refusal": "I will not."}]
    assert to(Wire.ANTHROPIC, [USER, refusal]).bodies()[1]["content"] == "I will not."


def test_a_loss_never_repeats_the_message() -> None:
    secret = {
        "role": "user",
        "content": [{"type": "hologram", "text": "SECRET"}, {"type": "text", "text": "SECRET"}],
    }
    for wire in (Wire.ANTHROPIC, Wire.RESPONSES):
        assert "SECRET" not in str(to(wire, [secret]).dropped)


def test_an_empty_window_converts_to_nothing() -> None:
    for wire in Wire:
        assert convert([], wire) == ConvertedWindow(())


def test_results_that_came_in_two_messages_stand_before_the_words_between_them() -> None:
    words = {"type": "text", "text": "and?"}
    chat: list[JsonObject] = [
        USER,
        {"role": "assistant", "content": [use("a"), use("b")]},
        {"role": "user", "content": [result("a"), words]},
        {"role": "user", "content": [result("b")]},
    ]
    out = to(Wire.ANTHROPIC, chat, Wire.ANTHROPIC)
    assert out.bodies()[2]["content"] == [result("a"), result("b"), words]


@pytest.mark.parametrize(
    ("items", "left"),
    [
        ([USER, REASONS], [USER]),
        ([USER, REASONS, REASONS, USER], [USER, USER]),
        ([REASONS, USER, REASONS, ANSWERS], [USER, REASONS, ANSWERS]),
        ([USER, REASONS, ANSWERS], [USER, REASONS, ANSWERS]),
    ],
)
def test_reasoning_that_led_to_nothing_is_left_out_and_named(
    items: list[JsonObject], left: list[JsonObject]
) -> None:
    messages = window(items, Wire.RESPONSES)
    found = convert(messages, Wire.RESPONSES)
    sent = Sender(Wire.RESPONSES, "gpt-4o").send(messages)
    assert found.bodies() == [json.loads(item) for item in sent.items] == left
    assert sent.pairs_intact
    assert len(found.dropped) == len(sent.dropped) == len(items) - len(left)
    assert kinds(found.dropped) | kinds(sent.dropped) <= {LossKind.REASONING}


def test_a_tools_results_stand_before_the_words_that_were_sent_before_them() -> None:
    words: JsonObject = {"type": "text", "text": "Here they are."}
    mixed: JsonObject = {"role": "user", "content": [result("a"), words, result("b")]}
    asked: JsonObject = {"role": "assistant", "content": [use("a"), use("b")]}
    found = to(Wire.ANTHROPIC, [USER, asked, mixed], Wire.ANTHROPIC)
    assert found.bodies()[2]["content"] == [result("a"), result("b"), words]
    assert check_pairs(found.bodies(), Wire.ANTHROPIC) == []
    assert kinds(found.dropped) == {LossKind.ORDER}

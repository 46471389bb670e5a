"""Pictures in tools' results, pictures of types that are not read, and fields that a host refuses."""

from typing import Any

import pytest

from context.certificate import Exclusion
from context.shape.check import check_shape
from context.shape.rule_names import ShapeRule
from context.shape.target import target_of
from context.types import JsonObject, Wire
from context.wire import check_pairs
from tests.unit.shape.windows import HELLO, call, calling, lay, result, said, sent

CHAT = Wire.OPENAI
SHOT: JsonObject = {"type": "image_url", "image_url": {"url": "https://a.invalid/1.png"}}
WORDS: JsonObject = {"type": "text", "text": "two shots"}


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("model", ["gpt-4o", "azure/gpt-4o", "o3", "openrouter/openai/gpt-5"])
def test_pictures_of_tools_follow_the_results_of_the_turn(model: str, stored: bool) -> None:
    turn = [HELLO, calling(call("a"), call("b")), result("a", [WORDS, SHOT]), result("b", [SHOT])]
    window = lay([*turn, said()], model) if stored else lay([], model, new=turn)
    items = sent(window)
    below = {"type": "text", "text": "[shown in the message after the tool results]"}
    assert [each["content"] for each in items[2:4]] == [[WORDS, below], [below]]
    assert items[4]["role"] == "user"
    assert items[4]["content"][1:] == [SHOT, SHOT]
    assert check_pairs(items, CHAT) == []
    assert ShapeRule.TOOL_PICTURE in window.certificate.accepted_shape.rules
    assert window.certificate.accepted_shape.accepted
    assert check_shape(turn, target_of(CHAT, model)) != []


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "anthropic/claude-sonnet-4-5", "mistral-large-latest"])
def test_others_take_pictures_in_results(model: str) -> None:
    turn = [HELLO, calling(call("a" * 9)), result("a" * 9, [WORDS, SHOT]), said()]
    assert sent(lay(turn, model))[2]["content"] == [WORDS, SHOT]


def picture(kind: str, wire: Wire = CHAT) -> JsonObject:
    data = "QUJD" * 40
    if wire is Wire.ANTHROPIC:
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


@pytest.mark.parametrize(
    ("model", "kind", "goes"),
    [
        ("gpt-4o", "image/heic", False),
        ("gpt-4o", "image/svg+xml", False),
        ("gpt-4o", "image/webp", True),
        ("gemini-2.5-pro", "image/heic", True),
        ("gemini-2.5-pro", "image/gif", False),
        ("claude-sonnet-4-5", "image/tiff", False),
        ("claude-sonnet-4-5", "image/gif", True),
        ("mistral-large-latest", "image/bmp", False),
        ("grok-4", "image/webp", False),
        ("groq/llama-4-scout", "image/tiff", False),
        ("my-own-model", "image/tiff", True),
    ],
)
@pytest.mark.parametrize("wire", [CHAT, Wire.ANTHROPIC])
def test_a_stored_picture_of_a_type_that_is_not_read_becomes_a_note(
    model: str, kind: str, goes: bool, wire: Wire
) -> None:
    if wire is Wire.ANTHROPIC:
        model = model if "claude" in model or model.startswith("my") else "claude-sonnet-4-5"
        goes = model.startswith("my") or kind in {"image/webp", "image/gif"}
    part = picture(kind, wire)
    told: list[dict[str, Any]] = [{"role": "user", "content": [part]}, {"role": "assistant", "content": "ok"}]
    window = lay(told, model, wire)
    shown = sent(window)[0]["content"]
    if goes:
        assert shown == [part]
        assert window.certificate.excluded == ()
    else:
        assert shown == [{"type": "text", "text": "[image not shown any more]"}]
        (gone,) = window.certificate.excluded
        assert isinstance(gone, Exclusion)
        assert (gone.what, gone.why) == ("image of message 1", ShapeRule.IMAGE_TYPE)
    assert window.certificate.accepted_shape.accepted
    assert (check_shape(told, target_of(wire, model)) == []) is goes


@pytest.mark.parametrize("model", ["groq/llama-3.3-70b", "cerebras/llama-3.3-70b"])
def test_fields_that_a_host_refuses_are_left_out(model: str) -> None:
    told = [HELLO, said(annotations=[{"a": 1}], reasoning_content="hm", usage={"a": 1})]
    window = lay(told, model)
    assert sent(window)[1] == said()
    assert ShapeRule.KNOWN_FIELDS in window.certificate.accepted_shape.rules
    assert check_shape(told, target_of(CHAT, model)) != []
    assert sent(lay(told, "llama-3.3-70b"))[1] == told[1]


@pytest.mark.parametrize("content", ["", " ", [], [{"type": "text", "text": ""}], None])
@pytest.mark.parametrize("is_error", [True, False])
def test_a_failed_call_without_words_says_so_for_anthropic(content: Any, is_error: bool) -> None:
    block: JsonObject = {"type": "tool_result", "tool_use_id": "t1", "is_error": is_error}
    block |= {} if content is None else {"content": content}
    call_block = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    told: list[JsonObject] = [
        HELLO,
        {"role": "assistant", "content": [call_block]},
        {"role": "user", "content": [block]},
        said("ok"),
    ]
    window = lay(told, "claude-sonnet-4-5", Wire.ANTHROPIC)
    (shown,) = sent(window)[2]["content"]
    assert (shown.get("content") == "[the call failed without a message]") is is_error
    assert (ShapeRule.EMPTY_CONTENT in window.certificate.accepted_shape.rules) is is_error
    assert window.certificate.accepted_shape.accepted
    if content in (None, "", []):
        assert bool(check_shape(told, target_of(Wire.ANTHROPIC, "claude-sonnet-4-5"))) is is_error


def test_responses_get_no_names_and_no_ids_of_others() -> None:
    parts = [{"type": "input_text", "text": "and that"}]
    told: list[JsonObject] = [
        {"role": "user", "content": "hello", "name": "ann\nlee"},
        {"role": "user", "content": parts, "name": "bob"},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "id": "mine", "call_id": "c1", "output": "seen"},
        {"role": "assistant", "content": "ok", "name": "helper"},
    ]
    window = lay(told, "gpt-5", Wire.RESPONSES)
    first, second, _, output, answer, _ = sent(window)
    assert first == {"role": "user", "content": "ann lee: hello"}
    assert second["content"] == [{"type": "input_text", "text": "bob:"}, *parts]
    assert output == {"type": "function_call_output", "call_id": "c1", "output": "seen"}
    assert answer == {"role": "assistant", "content": "ok"}
    assert {ShapeRule.MESSAGE_NAME, ShapeRule.ITEM_ID} <= set(window.certificate.accepted_shape.rules)
    assert len(check_shape(told, target_of(Wire.RESPONSES, "gpt-5"))) >= 3

"""Limits of images and bytes hold for a whole window: the oldest pictures become notes that are named."""

import base64
import json
from typing import Any

import pytest

from context.shape.check import check_shape
from context.shape.rule_names import ShapeRule
from context.shape.target import target_of
from context.types import JsonObject, Wire
from tests.unit.shape.windows import HELLO, NEXT, lay, said, sent

CLAUDE = "claude-sonnet-4-5"


def png(width: int, height: int, size: int = 300) -> str:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return base64.b64encode(head + bytes(size)).decode()


def picture(wire: Wire, data: str) -> JsonObject:
    if wire is Wire.ANTHROPIC:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    url = f"data:image/png;base64,{data}"
    if wire is Wire.RESPONSES:
        return {"type": "input_image", "image_url": url}
    return {"type": "image_url", "image_url": {"url": url}}


def words(wire: Wire, text: str) -> JsonObject:
    return {"type": "input_text" if wire is Wire.RESPONSES else "text", "text": text}


def shown(wire: Wire, *datas: str) -> JsonObject:
    return {"role": "user", "content": [words(wire, "see"), *(picture(wire, data) for data in datas)]}


def history(wire: Wire, *datas: str) -> list[JsonObject]:
    return [each for data in datas for each in (shown(wire, data), said())]


def pictures(bodies: list[JsonObject]) -> int:
    text = json.dumps(bodies)
    return text.count('"type": "image') + text.count('"input_image"')


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.ANTHROPIC])
def test_among_many_images_a_wide_one_becomes_a_note_that_is_named(wire: Wire) -> None:
    window = lay(history(wire, png(3_840, 2_160), *[png(600, 400)] * 23), CLAUDE, wire)
    assert pictures(sent(window)) == 23
    assert "[image not shown any more: 3840x2160 pixels]" in json.dumps(sent(window)[0])
    assert [(e.what, e.why) for e in window.certificate.excluded] == [
        ("image of message 1", ShapeRule.IMAGE_SIZE)
    ]
    assert window.certificate.excluded[0].tokens
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize("wire", [Wire.OPENAI, Wire.ANTHROPIC])
def test_of_many_wide_images_as_many_go_as_have_to(wire: Wire) -> None:
    window = lay(history(wire, *[png(3_840, 2_160)] * 23), CLAUDE, wire)
    assert pictures(sent(window)) == 20
    assert [pictures([body]) for body in sent(window) if body["role"] == "user"][:4] == [0, 0, 0, 1]
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(("number", "kept"), [(19, 20), (20, 20)])
def test_up_to_twenty_images_a_wide_one_stays(number: int, kept: int) -> None:
    window = lay(
        history(Wire.ANTHROPIC, png(3_840, 2_160), *[png(600, 400)] * number), CLAUDE, Wire.ANTHROPIC
    )
    assert pictures(sent(window)) == kept


def test_a_wide_image_of_the_new_message_stays_and_older_ones_go_until_it_may() -> None:
    new = shown(Wire.ANTHROPIC, png(3_840, 2_160))
    window = lay(history(Wire.ANTHROPIC, *[png(600, 400)] * 23), CLAUDE, Wire.ANTHROPIC, new=[new])
    assert sent(window)[-1] == new
    assert pictures(sent(window)) == 20
    assert window.certificate.accepted_shape.accepted
    assert len(window.certificate.excluded) == 4


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("mistralai/pixtral-large", 8),
        ("groq/llama-4-scout", 5),
        ("claude-sonnet-4-5", 100),
        ("bedrock/anthropic.claude-sonnet-4-5", 20),
        ("deepseek-chat", 0),
        ("azure/gpt-4o", 50),
    ],
)
def test_the_number_of_images_is_bounded_by_leaving_out_the_oldest(model: str, most: int) -> None:
    for number in (most, most + 3):
        window = lay(history(Wire.OPENAI, *[png(60, 40)] * number), model)
        assert pictures(sent(window)) == most
        assert len(window.certificate.excluded) == number - most
        assert window.certificate.accepted_shape.accepted
        assert check_shape(sent(window), target_of(Wire.OPENAI, model)) == []


def test_images_of_a_new_message_that_are_too_many_by_themselves_are_said() -> None:
    new = shown(Wire.OPENAI, *[png(60, 40)] * 9)
    window = lay(history(Wire.OPENAI, png(60, 40)), "mistralai/pixtral-large", new=[new])
    assert pictures(sent(window)) == 9
    assert window.certificate.accepted_shape.faults == ("messages: 9 images",)
    assert not window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(("model", "limit"), [(CLAUDE, 32_000_000), ("gemini-2.5-pro", 20_000_000)])
def test_a_request_stays_within_its_bytes(model: str, limit: int) -> None:
    datas = [png(600, 400, 2_600_000 + place) for place in range(14)]
    window = lay(history(Wire.OPENAI, *datas), model)
    assert limit - 4_100_000 < sum(map(len, window.items)) < limit
    assert {e.why for e in window.certificate.excluded} == {ShapeRule.REQUEST_BYTES}
    assert "not shown any more" in window.items[0]
    assert datas[-1] in window.items[-3]


def test_pictures_in_a_tools_result_and_documents_go_as_well() -> None:
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [words(Wire.ANTHROPIC, "shot"), picture(Wire.ANTHROPIC, png(9_000, 400))],
    }
    bodies: list[Any] = [
        HELLO,
        said([{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]),
        {"role": "user", "content": [result]},
        said(),
    ]
    window = lay(bodies, CLAUDE, Wire.ANTHROPIC)
    told = sent(window)[2]["content"][0]["content"]
    assert told[1] == {"type": "text", "text": "[image not shown any more: 9000x400 pixels]"}


def test_a_note_has_the_shape_of_its_format() -> None:
    window = lay(history(Wire.RESPONSES, png(60, 40)), "o3-mini", Wire.RESPONSES)
    assert sent(window)[0]["content"][1] == {
        "type": "input_text",
        "text": "[image not shown any more: 60x40 pixels]",
    }


EMPTY: list[tuple[Wire, JsonObject]] = [
    (Wire.OPENAI, {"type": "image_url"}),
    (Wire.OPENAI, {"type": "image_url", "image_url": {}}),
    (Wire.OPENAI, {"type": "image_url", "image_url": {"url": " ", "detail": "high"}}),
    (Wire.OPENAI, {"type": "image_url", "image_url": None}),
    (Wire.OPENAI, {"type": "file", "file": {"filename": "a.pdf"}}),
    (Wire.ANTHROPIC, {"type": "image"}),
    (Wire.ANTHROPIC, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}),
    (Wire.ANTHROPIC, {"type": "document", "source": {}, "title": "Report"}),
    (Wire.RESPONSES, {"type": "input_image", "detail": "auto"}),
    (Wire.RESPONSES, {"type": "input_file", "filename": "a.pdf"}),
]


@pytest.mark.parametrize(("wire", "part"), EMPTY)
@pytest.mark.parametrize("is_new", [False, True])
def test_a_file_without_content_becomes_a_note_that_is_named(
    wire: Wire, part: JsonObject, is_new: bool
) -> None:
    """Every provider refuses it, in each later request of the session."""
    body: JsonObject = {"role": "user", "content": [words(wire, "see"), part]}
    turn: list[JsonObject] = [HELLO, said("Ok.")] if is_new else [body, said("Ok.")]
    window = lay(turn, "some-model", wire, new=[body if is_new else NEXT])
    [message] = [one for one in sent(window) if "see" in json.dumps(one)]
    assert [one["type"] for one in message["content"]] == [words(wire, "")["type"]] * 2
    of = "the new message" if is_new else "message 1"
    assert [(one.what, one.why) for one in window.certificate.excluded] == [
        (f"image of {of}", "empty-content")
    ]
    assert window.certificate.accepted_shape.accepted
    assert check_shape([body], target_of(wire, "some-model")) == ["messages[0]: a file without content"]


@pytest.mark.parametrize(
    ("wire", "part"),
    [
        (Wire.OPENAI, {"type": "file", "file": {"file_id": "file-1"}}),
        (Wire.OPENAI, {"type": "image_url", "image_url": {"url": "https://pictures.test/a.png"}}),
        (Wire.ANTHROPIC, {"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        (
            Wire.ANTHROPIC,
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        ),
        (Wire.RESPONSES, {"type": "input_image", "file_id": "file-1"}),
        (Wire.RESPONSES, {"type": "input_file", "file_url": "https://files.test/a.pdf"}),
    ],
)
def test_a_file_by_its_address_or_id_stays(wire: Wire, part: JsonObject) -> None:
    body = {"role": "user", "content": [words(wire, "see"), part]}
    window = lay([body, said("Ok.")], "some-model", wire)
    assert part in sent(window)[0]["content"]
    assert not window.certificate.excluded


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize(
    ("model", "stays"), [("gpt-4o", False), ("deepseek-vl2", False), ("gemini-2.5-pro", True)]
)
def test_a_picture_inside_an_instruction_becomes_a_note_where_it_is_refused(
    role: str, model: str, stays: bool
) -> None:
    """OpenAI reads pictures of users alone; for Gemini the instruction is written as a user's."""
    body = {"role": role, "content": [words(Wire.OPENAI, "Look."), picture(Wire.OPENAI, png(8, 8))]}
    window = lay([HELLO, said("Ok."), body, HELLO, said("Ok.")], model)
    [told] = [one for one in sent(window) if "Look." in json.dumps(one)]
    assert ("image_url" in json.dumps(told)) is stays
    assert ("not shown" in json.dumps(told)) is not stays
    assert window.certificate.accepted_shape.accepted
    assert ("media" in {one.kind for one in window.certificate.losses}) is not stays
    fault = "messages[0]: a picture or a file of the assistant or the platform"
    assert (fault in check_shape([body], target_of(Wire.OPENAI, model))) is not stays

"""A part of another format or provider goes out in the target's kind, as a note, or not at all."""

import json

import pytest

from context.shape.check import check_shape
from context.shape.target import target_of
from context.types import JsonObject, Wire
from context.wire.neutral import LossKind
from tests.unit.shape.windows import NEXT, lay, said, sent

CHAT, BLOCKS, ITEMS = Wire.OPENAI, Wire.ANTHROPIC, Wire.RESPONSES
TARGETS = [
    (CHAT, "gpt-4o"),
    (CHAT, "mistral-large-latest"),
    (CHAT, "gemini-2.5-pro"),
    (CHAT, "deepseek-chat"),
    (CHAT, "llama-3.3-70b"),
    (CHAT, "grok-4"),
    (BLOCKS, "claude-sonnet-4-5"),
    (ITEMS, "gpt-4o"),
]
URL = "https://a.invalid/1.jpg"
NOTED: list[tuple[JsonObject, str]] = [
    ({"type": "image_file", "image_file": {"file_id": "f"}}, "[image_file not shown]"),
    ({"type": "media", "mime_type": "video/mp4", "file_uri": "gs://a"}, "[media not shown]"),
    ({"type": "file_url", "file_url": {"url": URL}}, "[file not shown]"),
    ({"type": "video", "video": [URL]}, "[video not shown]"),
    ({"type": "input_video", "input_video": {"url": URL}}, "[video not shown]"),
]
WORDS: list[JsonObject] = [
    {"type": "input_text", "text": "found words"},
    {"type": "output_text", "text": "found words"},
    {"type": "search_result", "source": "", "content": [{"type": "text", "text": "found words"}]},
    {"type": "guarded_text", "text": "found words"},
]


def user(part: JsonObject) -> JsonObject:
    return {"role": "user", "content": [{"type": "text", "text": "see"}, part]}


@pytest.mark.parametrize("stored_in", [CHAT, None])
@pytest.mark.parametrize(("wire", "model"), TARGETS)
@pytest.mark.parametrize(("part", "note"), NOTED)
def test_a_part_of_few_providers_becomes_a_note_for_all_others(
    part: JsonObject, note: str, wire: Wire, model: str, stored_in: Wire | None
) -> None:
    window = lay(
        [user(part), said() if stored_in else {"role": "assistant", "content": "ok"}],
        model,
        wire,
        stored_in=stored_in,
        made_by="a-model",
    )
    text = json.dumps(sent(window)[0])
    assert note in text
    assert f'"{part["type"]}"' not in text
    assert LossKind.MEDIA in {loss.kind for loss in window.certificate.losses}
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(("wire", "model"), TARGETS)
@pytest.mark.parametrize("part", WORDS)
def test_words_in_a_part_of_another_format_go_out_as_words(part: JsonObject, wire: Wire, model: str) -> None:
    for window in (
        lay([user(part), said()], model, wire, stored_in=CHAT),
        lay([], model, CHAT, new=[user(part)]),
    ):
        last = sent(window)[0]["content"][-1]
        assert last["text"] == "found words"
        assert last["type"] in {"text", "input_text"}
    assert check_shape([user({**part, "type": "guarded_text"})], target_of(CHAT, model))


@pytest.mark.parametrize("new", [False, True])
def test_a_picture_in_another_formats_kind_goes_out_in_the_targets(new: bool) -> None:
    kinds: list[JsonObject] = [
        {"type": "image", "source": {"type": "url", "url": URL}},
        {"type": "input_image", "image_url": URL},
        {"type": "image_url", "image_url": {"url": URL}},
    ]
    right: dict[Wire, JsonObject] = {
        CHAT: {"type": "image_url", "image_url": {"url": URL}},
        BLOCKS: {"type": "image", "source": {"type": "url", "url": URL}},
        ITEMS: {"type": "input_image", "detail": "auto", "image_url": URL},
    }
    for part in kinds:
        for wire, model in ((CHAT, "gpt-4o"), (BLOCKS, "claude-sonnet-4-5"), (ITEMS, "gpt-4o")):
            bodies = [] if new else [user(part), {"role": "assistant", "content": "ok"}]
            window = lay(bodies, model, wire, new=[user(part)] if new else [NEXT])
            assert right[wire].items() <= {"detail": "auto", **sent(window)[0]["content"][-1]}.items()
            assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("audio_url", "qwen3-omni-30b"),
        ("video_url", "gemini-2.5-pro"),
        ("document_url", "mistral-large-latest"),
        ("file_url", "glm-4.5v"),
        ("document", "anthropic/claude-sonnet-4-5"),
        ("hologram", "my-own-model"),
    ],
)
def test_a_provider_gets_the_parts_that_it_alone_knows(kind: str, model: str) -> None:
    part: JsonObject = {"type": kind, kind: {"url": URL}}
    window = lay([user(part), said()], model, made_by=model)
    assert sent(window)[0]["content"][-1] == part
    assert window.certificate.accepted_shape.accepted


@pytest.mark.parametrize(("wire", "model"), TARGETS)
def test_a_part_that_nobody_knows_becomes_a_note_where_the_family_is_known(wire: Wire, model: str) -> None:
    part: JsonObject = {"type": "hologram", "hologram": {"url": URL}}
    window = lay([user(part), said()], model, wire, stored_in=CHAT)
    assert sent(window)[0]["content"][-1]["text"] == "[hologram not shown]"


def test_a_part_that_nobody_knows_does_not_go_from_one_new_provider_to_another() -> None:
    part: JsonObject = {"type": "hologram", "hologram": {"url": URL}}
    window = lay([user(part), said()], "another-model", made_by="my-own-model")
    assert sent(window)[0]["content"][-1]["text"] == "[hologram not shown]"

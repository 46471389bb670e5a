"""Reader of OpenAI Responses items into the neutral form."""

from context.types import JsonObject, Message, Role
from context.wire.media import located, openai_file, read_unknown
from context.wire.neutral import (
    LOST_COMPACTION,
    Content,
    LossKind,
    Lost,
    NeutralCall,
    NeutralEntry,
    NeutralMedia,
    NeutralMediaKind,
    Part,
    Text,
    ToolAnswer,
    dump,
    lost_fields,
    object_at,
    text_at,
)
from context.wire.responses.facts import COMPACTIONS, is_answer_type, item_type

_TEXTS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "refusal": "refusal",
}
ITEM_PARTS = frozenset(
    {"input_text", "output_text", "refusal", "text", "input_image", "input_file", "input_audio"}
)
"""Types of parts of a message."""

_BOOKKEEPING = frozenset({"type", "id", "status", "call_id"})
_MESSAGE_FIELDS = frozenset({"role", "content"}) | _BOOKKEEPING


def read(message: Message) -> list[NeutralEntry]:
    """Read a checked item into an entry."""
    body = message.body
    kind = item_type(body, "item")
    parts: list[Part]
    if kind == "message":
        parts = [*_content(body["content"]), *lost_fields(body, _MESSAGE_FIELDS)]
    elif message.call_ids:
        parts = _call(body, kind, message.call_ids[0])
    elif message.answer_ids:
        parts = _answer(body, kind, message.answer_ids[0])
    elif kind == "reasoning":
        parts = [Lost(LossKind.REASONING, "a reasoning item was left out whole")]
    elif kind in COMPACTIONS:
        parts = [LOST_COMPACTION]
    else:
        parts = [Lost(LossKind.CONTENT, f"an item of type {kind[:40]} was left out")]
    role = Role.ASSISTANT if message.role is Role.TOOL and not is_answer_type(kind) else message.role
    return [NeutralEntry(message.seq, role, tuple(parts), role_name=text_at(body, "role"))]


def _content(content: object) -> list[Content]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    parts = content if isinstance(content, list) else []
    return [piece for part in parts for piece in read_item_part(part)]


def read_item_part(part: JsonObject) -> list[Content]:
    """Read a part of an item into the neutral form."""
    kind = str(part["type"])
    if kind in _TEXTS:
        text = Text(text_at(part, _TEXTS[kind]), refusal=kind == "refusal")
        return [text, *lost_fields(part, {"type", _TEXTS[kind]})]
    if kind in {"input_image", "computer_screenshot"}:
        return [_image(part), *lost_fields(part, {"type", "image_url", "file_id", "detail"})]
    if kind == "input_file":
        return [
            openai_file(part),
            *lost_fields(part, {"type", "file_data", "file_url", "file_id", "filename"}),
        ]
    if kind == "input_audio":
        audio = object_at(part, "input_audio")
        mime = f"audio/{text_at(audio, 'format') or 'wav'}"
        return [located(NeutralMediaKind.AUDIO, f"data:{mime};base64,{text_at(audio, 'data')}")]
    return read_unknown(part)


def _image(part: JsonObject) -> Content:
    if text_at(part, "file_id"):
        return NeutralMedia(
            NeutralMediaKind.IMAGE,
            file_id=text_at(part, "file_id"),
            vendor="openai",
            detail=text_at(part, "detail"),
        )
    return located(NeutralMediaKind.IMAGE, text_at(part, "image_url"), detail=text_at(part, "detail"))


def _call(body: JsonObject, kind: str, call_id: str) -> list[Part]:
    if kind == "function_call":
        lost = lost_fields(body, _BOOKKEEPING | {"name", "arguments"})
        return [NeutralCall(call_id, text_at(body, "name"), text_at(body, "arguments") or "{}"), *lost]
    if kind == "custom_tool_call":
        lost = lost_fields(body, _BOOKKEEPING | {"name", "input"})
        return [NeutralCall(call_id, text_at(body, "name"), text_at(body, "input"), free_form=True), *lost]
    rest = {key: value for key, value in body.items() if key not in _BOOKKEEPING}
    name = kind.removesuffix("_call")
    return [
        NeutralCall(call_id, name, dump(rest)),
        Lost(LossKind.CONTENT, f"a {kind[:40]} became a function call"),
    ]


def _answer(body: JsonObject, kind: str, call_id: str) -> list[Part]:
    if kind in {"function_call_output", "custom_tool_call_output"}:
        lost = lost_fields(body, _BOOKKEEPING | {"output"})
        return [ToolAnswer(call_id, tuple(_output(body.get("output")))), *lost]
    rest = {key: value for key, value in body.items() if key not in _BOOKKEEPING}
    output = _output(rest["output"] if set(rest) == {"output"} else rest)
    return [
        ToolAnswer(call_id, tuple(output)),
        Lost(LossKind.CONTENT, f"a {kind[:40]} became a function's output"),
    ]


def _output(output: object) -> list[Content]:
    """Read a tool's output: text, parts, a screenshot, or any other JSON as its text."""
    if isinstance(output, str):
        return [Text(output)] if output else []
    if isinstance(output, dict) and output.get("type") == "computer_screenshot":
        return read_item_part(output)
    if isinstance(output, list) and all(isinstance(part, dict) and _is_part(part) for part in output):
        return _content(output)
    return [Text(dump(output))]


def _is_part(part: JsonObject) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (kind in _TEXTS or kind.startswith("input_"))

"""Facts and reader of OpenAI Responses items. An item counts as a message."""

from collections.abc import Sequence

from context.errors import InvalidInputError
from context.types import JsonObject, Message, Role
from context.wire.format import Limits, MessageFacts, kind_of, need_content, need_parts, need_role, need_text
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
    located,
    lost_fields,
    object_at,
    openai_file,
    read_unknown,
    text_at,
)

LIMITS = Limits(id_chars=64, name_chars=64)

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
NAMED_CALLS = frozenset({"function_call", "custom_tool_call"})
MUST_PAIR = frozenset({"function_call", "custom_tool_call", "computer_call"})
"""Calls paired with outputs by `call_id` only; other calls may be internal to the provider."""

COMPACTIONS = frozenset({"compaction", "compaction_summary"})
"""Types of items that stand for everything before; an older client wrote the second."""

REASONING = '"reasoning"'
"""Text present in every reasoning item, and in few other items."""

_MODEL_MADE_SUFFIXES = (
    "_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "reasoning",
    "compaction",
    "compaction_summary",
    "item_reference",
)


def describe(body: JsonObject, path: str) -> MessageFacts:
    """Read the facts of a Responses item; see `context.wire.describe`."""
    kind = item_type(body, path)
    if kind == "message":
        role = ROLES[need_role(body, ROLES, path)]
        need_content(body, path)
        return MessageFacts(role)
    if is_answer_type(kind):
        return MessageFacts(Role.TOOL, answer_ids=_answer_ids(body, kind, path))
    if kind == "item_reference":
        need_text(body, "id", path)
    if kind in NAMED_CALLS:
        need_text(body, "name", path)
    role = ROLES.get(str(body.get("role")), Role.ASSISTANT)
    return MessageFacts(role, call_ids=_call_ids(body, kind, path), compacts=is_compaction(body))


def item_type(body: JsonObject, path: str) -> str:
    """Name an item's type; without a type, a message, or a reference if only an id is present.

    Raises:
        InvalidInputError: The type is not a string.
    """
    kind = body.get("type")
    if kind is None:
        return "item_reference" if set(body) - {"type"} == {"id"} else "message"
    if not isinstance(kind, str):
        raise InvalidInputError(f"{path}.type", f"must be a string, not {kind_of(kind)}")
    return need_text(body, "type", path)


def is_compaction(body: JsonObject) -> bool:
    """Tell whether an item stands for everything before."""
    sealed = body.get("encrypted_content")
    return body.get("type") in COMPACTIONS and isinstance(sealed, str) and bool(sealed)


def is_answer_type(kind: str) -> bool:
    """Tell whether items of the type answer a call."""
    return kind.endswith("_call_output") or kind in {"tool_search_output", "mcp_approval_response"}


def runs_at_provider(body: JsonObject) -> bool:
    """Tell whether the provider answers the call itself, so that no output is needed."""
    return body.get("execution") == "server" or body.get("call_id") is None


def loose_reasoning(items: Sequence[JsonObject]) -> set[int]:
    """Find reasoning without a following item, as in an aborted turn: a provider refuses such reasoning.

    Args:
        items: Decoded items, in sending order.

    Returns:
        Places of reasoning items without a following item of the model, once all such reasoning is removed.
    """
    loose: set[int] = set()
    led_on = False
    for place in reversed(range(len(items))):
        kind = item_type(items[place], f"input[{place}]")
        if kind == "reasoning" and not led_on:
            loose.add(place)
        else:
            by_model = kind.endswith(_MODEL_MADE_SUFFIXES)
            led_on = items[place].get("role") == "assistant" if kind == "message" else by_model
    return loose


def _call_ids(body: JsonObject, kind: str, path: str) -> tuple[str, ...]:
    if kind in MUST_PAIR:
        return (need_text(body, "call_id", path),)
    if kind == "mcp_approval_request":
        return (need_text(body, "id", path),)
    if not kind.endswith("_call") or runs_at_provider(body):
        return ()
    return (need_text(body, "call_id", path),)


def _answer_ids(body: JsonObject, kind: str, path: str) -> tuple[str, ...]:
    if kind == "mcp_approval_response":
        return (need_text(body, "approval_request_id", path),)
    if kind == "function_call_output":
        _check_output(body, path)
    if kind == "tool_search_output" and runs_at_provider(body):
        return ()
    key = "call_id" if "call_id" in body or kind != "local_shell_call_output" else "id"
    return (need_text(body, key, path),)


def _check_output(body: JsonObject, path: str) -> None:
    if "output" not in body:
        raise InvalidInputError(f"{path}.output", "is missing; it must be a string or a list of parts")
    if not isinstance(body["output"], str):
        need_parts(body["output"], f"{path}.output")


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
    if isinstance(output, dict) and (output.get("type") == "computer_screenshot" or _is_part(output)):
        return read_item_part(output)
    if isinstance(output, list) and all(isinstance(part, dict) and _is_part(part) for part in output):
        return _content(output)
    return [Text(dump(output))]


def _is_part(part: JsonObject) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (kind in _TEXTS or kind.startswith("input_"))

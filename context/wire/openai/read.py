"""Facts of an OpenAI chat message, and the reader of chat messages into the neutral form."""

from context.errors import InvalidInputError
from context.types import JsonObject, Message, Role
from context.wire.format import (
    Limits,
    MessageFacts,
    kind_of,
    need_content,
    need_distinct,
    need_object,
    need_role,
    need_text,
)
from context.wire.neutral import (
    Content,
    LossKind,
    Lost,
    NeutralCall,
    NeutralEntry,
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

LIMITS = Limits(id_chars=40, name_chars=64)

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def describe(body: JsonObject, path: str) -> MessageFacts:
    """Read the facts of a chat message; see `context.wire.describe`."""
    name = need_role(body, ROLES, path)
    role = ROLES[name]
    if role is not Role.ASSISTANT or body.get("content") is not None:
        need_content(body, path)
    if name == "tool":
        return MessageFacts(role, answer_ids=(need_text(body, "tool_call_id", path),))
    if name == "function":
        return MessageFacts(role, answer_ids=(legacy_id(need_text(body, "name", path)),))
    calls = call_ids(body, path) if role is Role.ASSISTANT else ()
    return MessageFacts(role, call_ids=calls, speaker=speaker(body, role, path))


def call_ids(body: JsonObject, path: str) -> tuple[str, ...]:
    """List the ids of a message's tool calls, the older single function call included.

    Raises:
        InvalidInputError: A call is malformed, or two share an id.
    """
    calls = body.get("tool_calls")
    if calls is None and body.get("function_call") is None:
        return ()
    if calls is not None and not isinstance(calls, list):
        raise InvalidInputError(f"{path}.tool_calls", f"must be a list, not {kind_of(calls)}")
    ids = [_call_id(call, f"{path}.tool_calls[{i}]") for i, call in enumerate(calls or [])]
    if body.get("function_call") is not None:
        where = f"{path}.function_call"
        ids.append(legacy_id(need_text(need_object(body["function_call"], where), "name", where)))
    return need_distinct(ids, f"{path}.tool_calls")


def says_nothing(body: JsonObject) -> bool:
    """Tell whether a message has no content for the provider, as after an aborted answer."""
    return _is_blank(body.get("content")) and not any(
        body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )


def _is_blank(content: object) -> bool:
    if isinstance(content, list):
        return all(part.get("type") == "text" and not str(part.get("text") or "").strip() for part in content)
    return content is None or (isinstance(content, str) and not content.strip())


def legacy_id(function: str) -> str:
    """Make an id for a call of the older shape, paired by function name."""
    return f"function_call:{function}"


def speaker(body: JsonObject, role: Role, path: str) -> str | None:
    """Read the speaker's name of a user or assistant message.

    Raises:
        InvalidInputError: The name is not a string.
    """
    name = body.get("name")
    if role is Role.SYSTEM or name is None:
        return None
    if not isinstance(name, str):
        raise InvalidInputError(f"{path}.name", f"must be a string, not {kind_of(name)}")
    return name or None


def _call_id(call: object, path: str) -> str:
    """Check a tool call; types other than function and custom need an id only."""
    body = need_object(call, path)
    call_id = need_text(body, "id", path)
    kind = body.get("type") or "function"
    for shape in ("function", "custom"):
        if kind == shape:
            need_text(need_object(body.get(shape), f"{path}.{shape}"), "name", f"{path}.{shape}")
    return call_id


_KNOWN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal"})
_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
_PART_FIELDS = {
    "text": {"type", "text"},
    "refusal": {"type", "refusal"},
    "image_url": {"type", "image_url"},
    "input_audio": {"type", "input_audio"},
    "file": {"type", "file"},
    "document_url": {"type", "document_url", "document_name"},
}
"""Known kinds of parts, each with its read fields."""

PARTS = frozenset(_PART_FIELDS)


def read(message: Message) -> list[NeutralEntry]:
    """Read a checked chat message into an entry."""
    body = message.body
    parts: list[Part]
    if message.role is Role.TOOL:
        answer_id = (
            legacy_id(text_at(body, "name")) if body["role"] == "function" else text_at(body, "tool_call_id")
        )
        parts = [ToolAnswer(answer_id, tuple(_content(body)))]
    else:
        parts = [*_reasoning(body), *_content(body)]
    if message.role is Role.ASSISTANT:
        parts += [*_refusal(body), *_calls(body)]
    told = {"audio"} if words_beside(body) else set()
    parts += lost_fields(body, _KNOWN.union(_REASONING, told))
    speaker = text_at(body, "name") if message.role is not Role.TOOL else ""
    return [
        NeutralEntry(
            message.seq, message.role, tuple(parts), role_name=text_at(body, "role"), speaker=speaker or None
        )
    ]


def _content(body: JsonObject) -> list[Content]:
    content = body.get("content")
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [piece for part in content or [] for piece in read_part(part)]


def read_part(part: JsonObject) -> list[Content]:
    """Read a part of a message into the neutral form."""
    kind = part["type"]
    known = _PART_FIELDS.get(kind)
    if known is None:
        return read_unknown(part)
    return [_known_part(part, kind), *lost_fields(part, known)]


def _known_part(part: JsonObject, kind: str) -> Content:
    if kind in {"text", "refusal"}:
        return Text(text_at(part, kind), refusal=kind == "refusal")
    if kind == "input_audio":
        audio = object_at(part, "input_audio")
        mime = f"audio/{text_at(audio, 'format') or 'wav'}"
        return located(NeutralMediaKind.AUDIO, f"data:{mime};base64,{text_at(audio, 'data')}")
    if kind == "file":
        return openai_file(object_at(part, "file"))
    # Some providers take the bare address where OpenAI has an object.
    address = text_at(part, kind) or text_at(object_at(part, kind), "url")
    media = NeutralMediaKind.IMAGE if kind == "image_url" else NeutralMediaKind.FILE
    return located(
        media, address, name=text_at(part, "document_name"), detail=text_at(object_at(part, kind), "detail")
    )


def _reasoning(body: JsonObject) -> list[Lost]:
    if any(body.get(key) for key in _REASONING):
        return [Lost(LossKind.REASONING, "reasoning was left out whole")]
    return []


def words_beside(body: JsonObject) -> str:
    """Read an assistant's words outside of the content (refusal, audio transcript); blank if missing."""
    refusal, said = text_at(body, "refusal"), text_at(object_at(body, "audio"), "transcript")
    return refusal if refusal.strip() else said.strip()


def _refusal(body: JsonObject) -> list[Text]:
    refusal, words = text_at(body, "refusal"), words_beside(body)
    if refusal:
        return [Text(refusal, refusal=True)]
    return [Text(words)] if words and not body.get("content") else []


def _calls(body: JsonObject) -> list[Part]:
    parts = [piece for call in body.get("tool_calls") or [] for piece in _call(call)]
    legacy = body.get("function_call")
    if legacy:
        name = text_at(legacy, "name")
        parts.append(NeutralCall(legacy_id(name), name, _arguments(legacy)))
    return parts


def _call(call: JsonObject) -> list[Part]:
    lost = lost_fields(call, {"id", "type", "function", "custom", "index"})
    custom = object_at(call, "custom")
    if custom:
        return [
            NeutralCall(call["id"], text_at(custom, "name"), text_at(custom, "input"), free_form=True),
            *lost,
        ]
    function = object_at(call, "function")
    name = text_at(function, "name") or text_at(call, "type")
    return [NeutralCall(call["id"], name, _arguments(function)), *lost]


def _arguments(function: JsonObject) -> str:
    """Return the arguments as JSON text; some servers send an object, and blank text means no arguments."""
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        return arguments if arguments.strip() else "{}"
    return dump(arguments) if arguments is not None else "{}"

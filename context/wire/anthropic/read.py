"""Facts of an Anthropic message, and the reader of Anthropic messages into the neutral form."""

from context.types import JsonObject, Message, Role
from context.wire.format import (
    Limits,
    MessageFacts,
    need_content,
    need_distinct,
    need_object,
    need_role,
    need_text,
)
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
    joined_text,
    lost_fields,
    object_at,
    read_unknown,
    text_at,
)

LIMITS = Limits(id_chars=64, name_chars=128, has_plain_ids=True)

ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
"""Roles; `system` is a message inside the conversation, since the system prompt stands apart."""

SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls run by the provider itself; the results come in an assistant message."""


def describe(body: JsonObject, path: str) -> MessageFacts:
    """Read the facts of an Anthropic message; see `context.wire.describe`."""
    role = ROLES[need_role(body, ROLES, path)]
    calls: list[str] = []
    answers: list[str] = []
    blocks = need_content(body, path)
    for i, block in enumerate(blocks):
        where = f"{path}.content[{i}]"
        if is_call(block):
            calls.append(need_text(block, "id", where))
            need_text(block, "name", where)
            need_object(block.get("input", {}), f"{where}.input")
        elif is_answer(block):
            answers.append(need_text(block, "tool_use_id", where))
            check_answer(block, where)
    made = need_distinct(calls, f"{path}.content")
    given = need_distinct(answers, f"{path}.content")
    return MessageFacts(
        role,
        call_ids=tuple(i for i in made if i not in given),
        answer_ids=tuple(i for i in given if i not in made),
        compacts=any(map(is_compaction, blocks)),
    )


def is_compaction(block: JsonObject) -> bool:
    """Tell whether a block stands for everything before; without content, the provider failed to make one."""
    texts = (block.get("content"), block.get("encrypted_content"))
    return block.get("type") == "compaction" and any(isinstance(text, str) and text for text in texts)


def is_call(block: JsonObject) -> bool:
    """Tell whether a block calls a tool, of the client or of the provider."""
    return block["type"] == "tool_use" or block["type"] in SERVER_CALLS


def is_answer(block: JsonObject) -> bool:
    """Tell whether a block answers a tool call; every provider tool has its own result type."""
    return str(block["type"]).endswith("tool_result")


def check_answer(block: JsonObject, path: str) -> None:
    """Check a result's content: absent, null, a string or parts; a provider tool's own shape passes.

    Raises:
        InvalidInputError: A client tool's result has content of another type.
    """
    if block["type"] == "tool_result" and block.get("content") is not None:
        need_content(block, path)


_KNOWN = frozenset({"role", "content", "type"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
BLOCKS = _THINKING | {"text", "image", "document", "search_result", "container_upload"}
"""Types of blocks of words or media."""


def read(message: Message) -> list[NeutralEntry]:
    """Read a checked message: an entry per tool result, and an entry for the rest."""
    body = message.body
    content = body["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    pieces = [piece for block in blocks for piece in _block(block)]
    answers = [piece for piece in pieces if isinstance(piece, ToolAnswer)]
    rest = [piece for piece in pieces if not isinstance(piece, ToolAnswer)] + lost_fields(body, _KNOWN)
    entries = [NeutralEntry(message.seq, Role.TOOL, (answer,)) for answer in answers]
    if rest or not entries:
        entries.append(NeutralEntry(message.seq, message.role, tuple(rest)))
    return entries


def _block(block: JsonObject) -> list[Part]:
    kind = str(block["type"])
    if kind in _THINKING:
        return [Lost(LossKind.REASONING, "signed thinking was left out whole")]
    if kind == "compaction":
        return [LOST_COMPACTION]
    if kind == "tool_use":
        lost = lost_fields(block, {"type", "id", "name", "input"})
        return [NeutralCall(block["id"], block["name"], dump(object_at(block, "input"))), *lost]
    if kind == "tool_result":
        return [_answer(block)]
    if kind in SERVER_CALLS or kind.endswith("_tool_result"):
        return [Lost(LossKind.CONTENT, f"a tool run by the provider was left out: {kind[:60]}")]
    return list(read_block(block))


def _answer(block: JsonObject) -> ToolAnswer:
    content = block.get("content")
    parts: list[Content] = []
    if isinstance(content, str):
        parts = [Text(content)] if content else []
    else:
        parts = [piece for inner in content or [] for piece in read_block(inner)]
    parts += lost_fields(block, {"type", "tool_use_id", "content", "is_error"})
    return ToolAnswer(block["tool_use_id"], tuple(parts), is_error=block.get("is_error") is True)


def read_block(block: JsonObject) -> list[Content]:
    """Read a block of words or media into the neutral form."""
    kind = str(block["type"])
    if kind == "text":
        text = text_at(block, "text")
        return [*([Text(text)] if text else []), *lost_fields(block, {"type", "text"})]
    if kind == "image":
        return [
            _source(NeutralMediaKind.IMAGE, object_at(block, "source"), ""),
            *lost_fields(block, {"type", "source"}),
        ]
    if kind == "document":
        return _document(block)
    if kind == "search_result":
        return _search_result(block)
    return read_unknown(block)


def _document(block: JsonObject) -> list[Content]:
    source = object_at(block, "source")
    title = text_at(block, "title")
    lost = lost_fields(block, {"type", "source", "title"})
    if source.get("type") not in {"text", "content"}:
        return [_source(NeutralMediaKind.FILE, source, title), *lost]
    words = text_at(source, "data") or joined_text(source.get("content"))
    text = f"{title}\n\n{words}" if title else words
    return [Text(text), Lost(LossKind.CONTENT, "a text document became plain text"), *lost]


def _search_result(block: JsonObject) -> list[Content]:
    lines = [text_at(block, "title"), text_at(block, "source"), joined_text(block.get("content"))]
    text = "\n".join(line for line in lines if line)
    return [Text(text), Lost(LossKind.CONTENT, "a search result became plain text")]


def _source(kind: NeutralMediaKind, source: JsonObject, name: str) -> Content:
    shape = source.get("type")
    media = NeutralMedia(kind, name=name)
    if shape == "base64":
        media = NeutralMedia(
            kind, mime=text_at(source, "media_type"), data=text_at(source, "data"), name=name
        )
    elif shape == "url":
        media = NeutralMedia(kind, url=text_at(source, "url"), name=name)
    elif shape == "file":
        media = NeutralMedia(kind, file_id=text_at(source, "file_id"), vendor="anthropic", name=name)
    if media.data or media.url or media.file_id:
        return media
    return Lost(LossKind.CONTENT, f"the {kind} block without its content was left out")

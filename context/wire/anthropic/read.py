"""Reader of Anthropic messages into the neutral form."""

from context.types import JsonObject, Message, Role
from context.wire.anthropic.facts import SERVER_CALLS
from context.wire.media import joined_text, read_unknown
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

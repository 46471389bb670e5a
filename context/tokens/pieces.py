"""Billable parts of a message of any wire format: texts, media and wrapping."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from context.tokens.media import Media, MediaKind, is_embedded_file, media_from_reference
from context.types import JsonObject

_JOINS = "an id joins a call to its result, or an item to the provider's store, and is not shown to the model"
_SHAPE = "says what kind of thing it stands in; the wrapping counts for it"
_FILE = "names or holds a file, which is billed by its pixels or its size"

UNBILLED = {
    "id": _JOINS,
    "call_id": _JOINS,
    "tool_call_id": _JOINS,
    "tool_use_id": _JOINS,
    "approval_request_id": _JOINS,
    "role": _SHAPE,
    "type": _SHAPE,
    "status": _SHAPE,
    "object": _SHAPE,
    "index": _SHAPE,
    "is_error": _SHAPE,
    "signature": "thinking is billed by its words, and its signature is free",
    "cache_control": "a mark for the provider's cache; it is taken out of stored messages",
}
"""Unbilled fields of a message, a part, a call or a result of known shape."""

UNBILLED_OF_TEXT = {"citations": "cited words that are sent back are free"}
"""Unbilled fields of a text part, beside its words."""

UNBILLED_OF_MEDIA = dict.fromkeys(
    (
        "audio_url",
        "data",
        "detail",
        "document_url",
        "file_data",
        "file_id",
        "file_url",
        "format",
        "image",
        "image_url",
        "input_audio",
        "media_type",
        "mime_type",
        "url",
        "video",
        "video_url",
    ),
    _FILE,
)
"""Unbilled fields of a file part and of its nested object."""

OPAQUE = frozenset({"encrypted_content", "encrypted_index", "thought_signature", "thought_signatures"})
"""Fields readable by the provider only: billed as the hidden tokens, in any place."""


DEPTH_LIMIT = 16
"""Deepest nesting of content; deeper content counts as its JSON text."""

ENCRYPTED_CHARS_PER_TOKEN = 4
"""Characters of encrypted reasoning per billed token."""

_MESSAGE_PARTS = (
    "content",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking_blocks",
    "refusal",
)
_IMAGE_TYPES = frozenset({"image", "image_url", "input_image", "computer_screenshot"})
_AUDIO_TYPES = frozenset({"audio", "input_audio", "audio_url"})
_VIDEO_TYPES = frozenset({"video", "video_url", "input_video"})
_FILE_TYPES = frozenset({"file", "input_file", "document", "document_url"})
_SEALED_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning", "compaction", "compaction_summary"})
_CALL_TYPES = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "function"}
)


@dataclass
class Pieces:
    """The billable parts of a message.

    Attributes:
        texts: Texts, billed by their tokens.
        media: Images, audio and documents, billed by rule.
        opaque_tokens: Estimated tokens of encrypted reasoning.
        calls: Number of tool calls.
        results: Number of tool results.
        named: True if the message names its speaker.
        widened: True if some parts were not counted in revision 1 of the counts.
    """

    texts: list[str] = field(default_factory=list)
    media: list[Media] = field(default_factory=list)
    opaque_tokens: int = 0
    calls: int = 0
    results: int = 0
    named: bool = False
    widened: bool = False

    def add_text(self, text: object) -> None:
        """Add a text; an empty text or another type is ignored."""
        if isinstance(text, str) and text:
            self.texts.append(text)

    def add_json(self, value: object) -> None:
        """Add a value as its JSON text; a text stays unchanged."""
        self.add_text(value if isinstance(value, str) else json_text(value))

    def add_unknown(self, value: object) -> None:
        """Add a value of unknown shape as JSON text, but files and sealed texts by their own rules."""
        text = json_text(value)
        for key, leaf in _leaves(value):
            if not isinstance(leaf, str):
                continue
            if key in OPAQUE:
                self.widened = True
                self.add_opaque(leaf)
            elif is_embedded_file(leaf):
                self.media.append(media_from_reference(leaf, MediaKind.DOCUMENT))
            else:
                continue
            text = text.replace(leaf, "")
        self.add_text(text)

    def add_rest(self, body: JsonObject, known: Collection[str]) -> None:
        """Add an object's unread fields, except the unbilled fields."""
        for key, value in body.items():
            if key in known or key in UNBILLED or not value:
                continue
            self.widened = True
            self.add_unknown({key: value})

    def add_opaque(self, text: object) -> None:
        """Add text readable by the provider only."""
        if isinstance(text, str):
            self.opaque_tokens += -(-len(text) // ENCRYPTED_CHARS_PER_TOKEN)


def json_text(value: object) -> str:
    """Write a value as compact JSON; a value without a JSON form is written as in Python."""
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    except (ValueError, TypeError, RecursionError):
        return " ".join(str(leaf) for _, leaf in _leaves(value))


def _leaves(value: object) -> Iterator[tuple[str, object]]:
    """List all keys and values of a JSON value, each value with its key."""
    waiting = [("", value)]
    while waiting:
        key, each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(("", name) for name in each)
            waiting.extend(each.items())
        elif isinstance(each, list):
            waiting.extend((key, inner) for inner in each)
        else:
            yield key, each


def pieces_of(body: JsonObject) -> Pieces:
    """Collect the billable pieces of a message or of a Responses item.

    Args:
        body: A decoded message in any of the three wire formats, of any shape.

    Returns:
        The pieces. Fields and parts of unknown shape count as their JSON text.
    """
    pieces = Pieces()
    if body.keys() == _PLAIN_FIELDS and isinstance(body["content"], str):
        pieces.add_text(body["content"])
        return pieces
    if "role" not in body and isinstance(body.get("type"), str):
        _add_part(pieces, body, 0)
        return pieces
    for key in _MESSAGE_PARTS:
        content = body.get(key)
        if content is None:  # as most are: texts of plain messages are counted at every intake
            continue
        pieces.widened |= key != "content" and isinstance(content, list | dict)
        _add_content(pieces, content, 0)
    if (name := body.get("name")) is not None:
        pieces.add_json(name)
        pieces.named = bool(name)
    if (calls := body.get("tool_calls")) is not None:
        for call in calls if isinstance(calls, list) else [calls]:
            _add_call(pieces, call)
    if body.get("function_call"):
        _add_call(pieces, {"function": body["function_call"]})
    if body.get("audio"):
        _add_spoken(pieces, body["audio"])
    pieces.results += "tool_call_id" in body
    pieces.add_rest(body, _MESSAGE_FIELDS)
    return pieces


_PLAIN_FIELDS = {"role", "content"}
"""Fields of most messages."""

_MESSAGE_FIELDS = frozenset({*_MESSAGE_PARTS, "name", "tool_calls", "function_call", "audio"})


def _add_spoken(pieces: Pieces, audio: object) -> None:
    """Add an assistant's spoken answer: the recording by size, the transcript as text."""
    pieces.widened = True
    if isinstance(audio, dict):
        pieces.media.append(media_from_reference(audio.get("data"), MediaKind.AUDIO))
        pieces.add_rest(audio, {"data", "expires_at"})
    else:
        pieces.add_json(audio)


def _add_content(pieces: Pieces, content: object, depth: int) -> None:
    if isinstance(content, list):
        for part in content:
            _add_part(pieces, part, depth + 1)
    elif isinstance(content, dict):
        _add_part(pieces, content, depth + 1)
    else:
        pieces.add_json(content)


def _add_part(pieces: Pieces, part: object, depth: int) -> None:
    if not isinstance(part, dict) or depth > DEPTH_LIMIT:
        pieces.add_unknown(part)
        return
    kind = part.get("type")
    kind = kind if isinstance(kind, str) else ""
    if kind in _CALL_TYPES:
        _add_call(pieces, part)
    elif kind.endswith(("tool_result", "_call_output")):
        _add_result(pieces, part, depth)
    elif kind in _SEALED_TYPES or kind.startswith("reasoning."):
        _add_reasoning(pieces, part, depth)
    elif (media := _media_of(part, kind)) is not None:
        _add_media(pieces, part, media)
    elif isinstance(part.get("text"), str):
        pieces.add_text(part["text"])
        pieces.add_rest(part, {"text", *UNBILLED_OF_TEXT})
    elif kind == "refusal" and isinstance(part.get("refusal"), str):
        pieces.add_text(part["refusal"])
        pieces.add_rest(part, {"refusal"})
    else:
        pieces.add_unknown(part)


def _add_result(pieces: Pieces, part: JsonObject, depth: int) -> None:
    pieces.results += 1
    place = "content" if "content" in part else "output"
    _add_content(pieces, part.get(place), depth)
    pieces.add_rest(part, {place})


def _add_call(pieces: Pieces, call: object) -> None:
    """Add a call of any shape: name and arguments in the call, or in a nested object."""
    if not isinstance(call, dict):
        pieces.add_json(call)
        return
    pieces.calls += 1
    shapes = {key: call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)}
    pieces.widened |= "custom" in shapes
    for inner in (call, *shapes.values()):
        for key in _CALL_FIELDS:
            pieces.add_json(inner.get(key))
        pieces.add_rest(inner, {*_CALL_FIELDS, *shapes})


_CALL_FIELDS = ("name", "arguments", "input")


def _add_reasoning(pieces: Pieces, part: JsonObject, depth: int) -> None:
    sealed = part.get("encrypted_content") and (part.get("summary") or part.get("content"))
    pieces.widened |= bool(sealed or part.get("text") or isinstance(part.get("thinking"), list | dict))
    for key in ("thinking", "text", "summary", "content"):
        _add_content(pieces, part.get(key), depth)
    for key in ("encrypted_content", "data"):
        pieces.add_opaque(part.get(key))
    pieces.add_rest(part, _REASONING_FIELDS)


_REASONING_FIELDS = frozenset({"thinking", "text", "summary", "content", "encrypted_content", "data"})


def _add_media(pieces: Pieces, part: JsonObject, media: Media) -> None:
    """Add a file by rule, and the part's other fields as text, such as name and title."""
    pieces.media.append(media)
    held = {key: part[key] for key in _HOLDERS if isinstance(part.get(key), dict)}
    for inner in (part, *held.values()):
        pieces.add_rest(inner, {*UNBILLED_OF_MEDIA, *held})


_HOLDERS = ("file", "source", "image_url", "input_audio", "audio_url", "video_url", "document_url")


def media_of(part: JsonObject) -> Media | None:
    """Describe the file in a part; None for a part without a file."""
    kind = part.get("type")
    return _media_of(part, kind) if isinstance(kind, str) else None


def _media_of(part: JsonObject, kind: str) -> Media | None:
    if kind in _IMAGE_TYPES:
        detail = part.get("detail")
        inner = part.get("image_url", part.get("source"))
        if isinstance(inner, dict):
            detail = inner.get("detail", detail)
        return media_from_reference(_reference(inner), MediaKind.IMAGE, detail=detail)
    if kind in _AUDIO_TYPES:
        return media_from_reference(
            _reference(part.get("input_audio", part.get("audio_url"))), MediaKind.AUDIO
        )
    if kind in _VIDEO_TYPES:
        return media_from_reference(_reference(part.get("video_url", part.get("video"))), MediaKind.VIDEO)
    if kind in _FILE_TYPES and not _is_text_source(part):
        inner = next((part[key] for key in ("file", "source", "document_url") if key in part), part)
        return media_from_reference(_reference(inner), MediaKind.DOCUMENT)
    return None


def _is_text_source(part: JsonObject) -> bool:
    source = part.get("source")
    return isinstance(source, dict) and source.get("type") in {"text", "content"}


def _reference(inner: object) -> object:
    if not isinstance(inner, dict):
        return inner
    return next((inner[key] for key in ("url", "data", "file_data", "file_url") if key in inner), None)

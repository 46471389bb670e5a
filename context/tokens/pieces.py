"""What is billable in a message of any wire format: its texts, its media and how much wrapping it has."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from context.tokens.media import Media, MediaKind, is_embedded_file, media_from_reference
from context.types import JsonObject

DEPTH_LIMIT = 16
"""Content nested deeper than this counts as its JSON text."""

ENCRYPTED_CHARS_PER_TOKEN = 4
"""Encrypted reasoning is billed as the tokens behind it: one for about so many characters of it."""

_MESSAGE_TEXTS = ("reasoning_content", "reasoning", "refusal", "name")
_IMAGE_TYPES = frozenset({"image", "image_url", "input_image", "computer_screenshot"})
_AUDIO_TYPES = frozenset({"audio", "input_audio", "audio_url"})
_VIDEO_TYPES = frozenset({"video", "video_url", "input_video"})
_FILE_TYPES = frozenset({"file", "input_file", "document", "document_url"})
_CALL_TYPES = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "custom_tool_call", "function"}
)


@dataclass
class Pieces:
    """The billable parts of one message.

    Attributes:
        texts: Texts that are billed by their tokens.
        media: Images, audio and documents, billed by rule.
        opaque_tokens: Tokens that can only be guessed: encrypted reasoning.
        calls: Tool calls made.
        results: Tool results given.
        named: Whether the message names its speaker.
    """

    texts: list[str] = field(default_factory=list)
    media: list[Media] = field(default_factory=list)
    opaque_tokens: int = 0
    calls: int = 0
    results: int = 0
    named: bool = False

    def add_text(self, text: object) -> None:
        """Take a text; anything that is no text, or an empty one, is nothing."""
        if isinstance(text, str) and text:
            self.texts.append(text)

    def add_json(self, value: object) -> None:
        """Take a value as its JSON text; text itself stays as it is."""
        self.add_text(value if isinstance(value, str) else json_text(value))

    def add_unknown(self, value: object) -> None:
        """Take a value of unknown shape as its JSON text, files inside it as files."""
        files = [leaf for leaf in _leaves(value) if isinstance(leaf, str) and is_embedded_file(leaf)]
        self.media.extend(media_from_reference(leaf, MediaKind.DOCUMENT) for leaf in files)
        text = json_text(value)
        for leaf in files:
            text = text.replace(leaf, "")
        self.add_text(text)

    def add_opaque(self, text: object) -> None:
        """Take text that only the provider can read."""
        if isinstance(text, str):
            self.opaque_tokens += -(-len(text) // ENCRYPTED_CHARS_PER_TOKEN)


def json_text(value: object) -> str:
    """Write a value as compact JSON; what JSON cannot say is written as Python says it."""
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    except (ValueError, TypeError, RecursionError):
        return " ".join(map(str, _leaves(value)))


def _leaves(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(each.keys())
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
        else:
            yield each


def pieces_of(body: JsonObject) -> Pieces:
    """Collect what is billable in a message or in a Responses item.

    Args:
        body: A decoded message in any of the three wire formats, of any shape.

    Returns:
        Its pieces. Parts of unknown shape count as their JSON text.
    """
    pieces = Pieces()
    if "role" not in body and isinstance(body.get("type"), str):
        _add_part(pieces, body, 0)
        return pieces
    _add_content(pieces, body.get("content"), 0)
    for key in _MESSAGE_TEXTS:
        pieces.add_text(body.get(key))
    pieces.named = bool(body.get("name"))
    calls = body.get("tool_calls")
    for call in calls if isinstance(calls, list) else [calls]:
        _add_call(pieces, call)
    if body.get("function_call"):
        _add_call(pieces, {"function": body["function_call"]})
    pieces.results += "tool_call_id" in body
    return pieces


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
        pieces.results += 1
        _add_content(pieces, part.get("content", part.get("output")), depth)
    elif kind in {"thinking", "redacted_thinking", "reasoning"}:
        _add_reasoning(pieces, part, depth)
    elif (media := _media_of(part, kind)) is not None:
        pieces.media.append(media)
    elif isinstance(part.get("text"), str):
        pieces.add_text(part["text"])
    elif kind == "refusal":
        pieces.add_text(part.get("refusal"))
    else:
        pieces.add_unknown(part)


def _add_call(pieces: Pieces, call: object) -> None:
    if not isinstance(call, dict):
        pieces.add_json(call)
        return
    pieces.calls += 1
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    pieces.add_text(function.get("name"))
    for key in ("arguments", "input"):
        pieces.add_json(function.get(key))


def _add_reasoning(pieces: Pieces, part: JsonObject, depth: int) -> None:
    if isinstance(part.get("encrypted_content"), str):
        pieces.add_opaque(part["encrypted_content"])
        return
    pieces.add_text(part.get("thinking"))
    pieces.add_opaque(part.get("data"))
    for key in ("summary", "content"):
        _add_content(pieces, part.get(key), depth)


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
        inner = part.get("file", part.get("source", part))
        return media_from_reference(_reference(inner), MediaKind.DOCUMENT)
    return None


def _is_text_source(part: JsonObject) -> bool:
    source = part.get("source")
    return isinstance(source, dict) and source.get("type") in {"text", "content"}


def _reference(inner: object) -> object:
    if not isinstance(inner, dict):
        return inner
    return next((inner[key] for key in ("url", "data", "file_data", "file_url") if key in inner), None)

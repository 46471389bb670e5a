"""Validator of an outgoing array's shape, independent of the normaliser."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from context.shape.fit import looked_at
from context.shape.known_fields import BLOCKS, CALLS, CHAT, ITEMS, OWN
from context.shape.pictures import pictures_of
from context.shape.rule_names import is_blank, parts_of
from context.shape.target import Target
from context.shape.translate import OF_OTHERS
from context.tokens.families import ModelFamily
from context.tokens.media import Media, MediaKind
from context.types import JsonObject, Message, Wire, once_a_message
from context.wire.openai.read import says_nothing, words_beside
from context.wire.responses.read import item_type

MAX_MARKS = 4
"""Most cache marks in a request, by Anthropic's limit."""

_OPENAI_PARTS = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text"}),
}


class ItemCheck(NamedTuple):
    """Facts of one item for the check of its array.

    Attributes:
        faults: The faults of the item alone.
        marks: Number of cache marks.
        images: Each image with its size in characters, and its type.
    """

    faults: tuple[str, ...] = ()
    marks: int = 0
    images: tuple[tuple[Media, int, str], ...] = ()


def check_item(body: JsonObject, target: Target) -> ItemCheck:
    """Check an item alone."""
    files = pictures_of(body)
    images = tuple((media, chars, kind) for media, chars, kind, _ in files if _is_image(media))
    empty = ("a file without content",) if any(is_missing for *_, is_missing in files) else ()
    return ItemCheck((*_CHECKS[target.wire](body, target), *empty), _marks(body), images)


@once_a_message
def check_message(message: Message, target: Target) -> ItemCheck:
    """Check a message alone; of a message without content to check, its role."""
    return check_item(looked_at(message, target), target)


def check_shape(
    items: Sequence[JsonObject],
    target: Target,
    *,
    has_system: bool = False,
    checked: Sequence[ItemCheck] | None = None,
) -> list[str]:
    """List faults in the shape of an outgoing array, as judged by its provider; order and pairs are apart.

    Args:
        items: Decoded messages or items, without the system prompt.
        target: The target model and format.
        has_system: True if a system prompt precedes the items.
        checked: The checks of the items alone, where known.

    Returns:
        A sentence per fault, each beginning with its place; empty if sendable.
    """
    checked = [check_item(body, target) for body in items] if checked is None else checked
    faults = [f"messages[{place}]: {fault}" for place, one in enumerate(checked) for fault in one.faults]
    faults += _order_faults(items, target, has_system=has_system)
    marks = sum(one.marks for one in checked)
    if marks > MAX_MARKS:
        faults.append(f"messages: {marks} cache marks")
    return faults + list(_media_faults([image for one in checked for image in one.images], target))


def _check_chat(body: JsonObject, target: Target) -> Iterator[str]:
    if not body.get("tool_calls", True):
        yield "empty array of tool_calls"
    is_silent = body.get("role") == "assistant" and says_nothing(body)
    if body.get("content") == [] or is_silent or any(is_blank(part) for part in parts_of(body)):
        yield "empty content"
    if target.family is not ModelFamily.OPENAI:
        yield from _openai_faults(body)
    if not target.takes_marks and _marks(body):
        yield "a cache mark"
    yield from _part_faults(body, target)
    if target.checks_signatures and any(map(_lacks_signature, body.get("thinking_blocks") or ())):
        yield "thinking without a signature"
    if target.known_fields is not None and _has_unknown(body, target.known_fields):
        yield "a field that is not known"
    for call in body.get("tool_calls") or ():
        yield from _call_faults(call, target)
    if isinstance(body.get("tool_call_id"), str) and not target.takes_id(body["tool_call_id"]):
        yield "an id that is refused"


def _has_unknown(body: JsonObject, known: frozenset[str]) -> bool:
    """Tell whether a chat message, a part or a call of it has a field that the provider does not know."""
    calls = [call for call in body.get("tool_calls") or () if isinstance(call, dict)]
    shapes = [(call[key], CALLS[key]) for call in calls for key in ("function", "custom") if key in call]
    parts = [(part, CHAT.get(str(part.get("type")), part.keys())) for part in parts_of(body)]
    pairs = [(body, known), *((call, CALLS[""]) for call in calls), *shapes, *parts]
    return any(
        value and key not in keys and not key.startswith(OWN)
        for each, keys in pairs
        for key, value in each.items()
    )


def _openai_faults(body: JsonObject) -> Iterator[str]:
    role = body.get("role")
    if role == "developer":
        yield "a role that only OpenAI knows"
    if role == "function" or body.get("function_call"):
        yield "a call of the older shape"
    if role == "assistant" and words_beside(body):
        yield "words beside the content"


def _part_faults(body: JsonObject, target: Target) -> Iterator[str]:
    role = str(body.get("role"))
    known = _OPENAI_PARTS.get(role) if target.family is ModelFamily.OPENAI else None
    taken = known & target.parts if known else target.parts
    for part in parts_of(body):
        kind = str(part.get("type"))
        if role == "tool" and not target.takes_tool_pictures and _is_file(kind):
            yield "a picture or a file in a tool's result"
        elif not target.shows_pictures_of(role) and _is_file(kind):
            yield "a picture or a file of the assistant or the platform"
        elif kind == "image_url" and isinstance(part.get(kind), str) and not target.takes_addresses:
            yield "an image without an object around its address"
        elif kind not in taken and (target.family is not ModelFamily.OTHER or kind in OF_OTHERS[target.wire]):
            yield f"a part of type {kind[:40]}"


def _is_file(kind: str) -> bool:
    return kind in {"image_url", "input_audio", "file", "image", "document", "input_image", "input_file"}


def _call_faults(call: JsonObject, target: Target) -> Iterator[str]:
    if isinstance(call.get("id"), str) and not target.takes_id(call["id"]):
        yield "an id that is refused"
    function = call.get("function") or call.get("custom") or {}
    if target.fit_name(str(function.get("name") or "x")) != str(function.get("name") or "x"):
        yield "a tool's name that is refused"
    if "custom" in call and target.family is not ModelFamily.OPENAI:
        yield "a free-form call"
    if "function" in call and not isinstance(function.get("arguments"), str):
        yield "arguments that are no text"


def _check_blocks(body: JsonObject, target: Target) -> Iterator[str]:
    blocks = parts_of(body)
    if body.get("content") == [] or any(map(is_blank, blocks)):
        yield "empty content"
    for block in blocks:
        yield from _block_faults(block, str(body.get("role")), target)
    last = blocks[-1].get("type") if blocks else None
    if target.checks_signatures and last in {"thinking", "redacted_thinking"}:
        yield "the last block is thinking"
    if body.get("role") == "system" and not target.takes_system_inside:
        yield "a system message inside the conversation"


def _block_faults(block: JsonObject, role: str, target: Target) -> Iterator[str]:
    if role == "assistant" and _is_file(str(block.get("type"))):
        yield "a picture or a file of the assistant"
    if block.get("type") == "tool_result" and block.get("is_error") is True and not block.get("content"):
        yield "a failed call without words"
    if not block.keys() <= BLOCKS.get(str(block.get("type")), block.keys()):
        yield "a field that is not known"
    if str(block.get("type")).endswith("tool_use") and not isinstance(block.get("input"), dict):
        yield "a call without input"
    texts = (block.get("content"), block.get("encrypted_content"))
    if block.get("type") == "compaction" and not any(isinstance(text, str) and text for text in texts):
        yield "a compaction without content"
    if block.get("type") in OF_OTHERS[target.wire]:
        yield f"a block of type {block['type']}"
    if target.checks_signatures and _lacks_signature(block):
        yield "thinking without a signature"
    for key in ("id", "tool_use_id"):
        if isinstance(block.get(key), str) and not target.takes_id(block[key]):
            yield "an id that is refused"


def _lacks_signature(block: JsonObject) -> bool:
    if block.get("type") == "thinking":
        return not block.get("signature")
    return block.get("type") == "redacted_thinking" and not block.get("data")


def _check_item(body: JsonObject, target: Target) -> Iterator[str]:
    kind = item_type(body, "item")
    if kind == "message" and (body.get("content") == [] or any(map(is_blank, parts_of(body)))):
        yield "empty content"
    if body.get("role") == "assistant" and any(_is_file(str(part.get("type"))) for part in parts_of(body)):
        yield "a picture or a file of the assistant"
    if any(part.get("type") in OF_OTHERS[target.wire] for part in parts_of(body)):
        yield "a part of another format"
    if kind == "compaction" and not isinstance(body.get("encrypted_content"), str):
        yield "a compaction without content"
    for each, name in ((body, kind), *((part, str(part.get("type"))) for part in parts_of(body))):
        known = ITEMS.get(name) if target.family is ModelFamily.OPENAI else None
        if known and any(each[key] is None or not (key in known or key.startswith(OWN)) for key in each):
            yield "a field that is not known"
    if isinstance(body.get("call_id"), str) and not target.takes_id(body["call_id"]):
        yield "an id that is refused"
    words = {"function_call": "arguments", "custom_tool_call": "input"}.get(kind)
    if words and not isinstance(body.get(words), str):
        yield "arguments that are no text"


_CHECKS: dict[Wire, Callable[[JsonObject, Target], Iterator[str]]] = {
    Wire.OPENAI: _check_chat,
    Wire.ANTHROPIC: _check_blocks,
    Wire.RESPONSES: _check_item,
}


def _order_faults(items: Sequence[JsonObject], target: Target, *, has_system: bool) -> Iterator[str]:
    if target.form.is_list_of_items:
        return
    last = "system" if has_system else ""
    for place, body in enumerate(items):
        role = str(body.get("role"))
        if role == "system" and target.leads_with_system and (place or has_system):
            yield f"messages[{place}]: a system message inside the conversation"
        starts = last in {"", "system"} and (target.is_strict or target.calls_after_users)
        if role == "assistant" and starts:
            yield f"messages[{place}]: the assistant speaks first"
        if target.is_strict and role == last and role in {"user", "assistant"}:
            yield f"messages[{place}]: roles must alternate"
        if target.is_strict and role == "user" and last in {"tool", "function"}:
            yield f"messages[{place}]: a user after a tool"
        if target.calls_after_users and body.get("tool_calls") and last not in {"user", "tool", "function"}:
            yield f"messages[{place}]: calls that follow neither a user nor a result"
        last = last if target.calls_after_users and role in {"system", "developer"} else role
    ends = items[-1] if items else {}
    if ends.get("role") == "assistant" and target.refuses_prefill and not ends.get("tool_calls"):
        yield f"messages[{len(items) - 1}]: the assistant speaks last"


def _marks(value: JsonObject) -> int:
    return ("cache_control" in value) + sum(map(_marks, parts_of(value)))


def _media_faults(found: Sequence[tuple[Media, int, str]], target: Target) -> Iterator[str]:
    limits = target.limits
    images = [(media, chars) for media, chars, _ in found]
    if limits.types is not None and any(kind and kind not in limits.types for _, _, kind in found):
        yield "messages: an image of a type that is not read"
    if limits.images is not None and len(images) > limits.images:
        yield f"messages: {len(images)} images"
    side = limits.side
    if limits.many is not None and len(images) > limits.many:
        side = limits.many_side
    if side is not None and any(max(media.width or 0, media.height or 0) > side for media, _ in images):
        yield f"messages: an image of more than {side} pixels among {len(images)}"
    if limits.image_chars is not None and any(chars > limits.image_chars + 200 for _, chars in images):
        yield f"messages: an image of more than {limits.image_chars} characters"


def _is_image(media: Media) -> bool:
    return media.kind is MediaKind.IMAGE

"""Shaping of OpenAI Responses items for a provider; None for an unsendable item."""

from collections.abc import Sequence

from context.shape.known_fields import ITEMS, keep_known
from context.shape.pictures import note_of
from context.shape.rule_names import Fitting, ShapeRule, is_blank, parts_of, put, without
from context.shape.translate import is_foreign, translate, unsigned
from context.text.cut import name_on_one_line
from context.tokens.families import ModelFamily
from context.types import JsonObject
from context.wire.neutral import LossKind, dump
from context.wire.responses.read import COMPACTIONS, ROLES, is_answer_type, is_compaction, item_type

_ID_STARTS = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "function_call_output": "fc",
    "custom_tool_call_output": "ctc",
}
"""Prefixes of item ids made by OpenAI; OpenAI refuses other ids."""

MAX_ID_CHARS = 64
"""The longest id of an item."""

_SEALED = COMPACTIONS | {"reasoning", "item_reference"}
_TEXTS = {"assistant": "output_text", "user": "input_text", "system": "input_text", "developer": "input_text"}


def fit_item(body: JsonObject, fit: Fitting) -> JsonObject | None:
    """Shape an item for its target.

    Args:
        body: The decoded item.
        fit: Facts about the item, and record of the changes.

    Returns:
        The sendable item; the same object if unchanged.
    """
    kind = item_type(body, "item")
    if fit.drops_reasoning and (kind in _SEALED or _is_own_affair(kind, body, fit)):
        fit.lose_reasoning()
        return None
    if kind in COMPACTIONS and not is_compaction(body):
        fit.apply(ShapeRule.EMPTY_CONTENT)
        return None
    body = _unsigned(_ids(body, kind, fit), fit)
    if kind == "message":
        body = _message(_named(body, fit), fit)
    else:
        body = _reasoning(body) if kind == "reasoning" else _call(body, kind, fit)
    return _known(body, kind, fit)


def _known(body: JsonObject, kind: str, fit: Fitting) -> JsonObject:
    """Leave out unknown fields, and those that are null: a provider wants each of its type or not at all."""
    known = ITEMS.get(kind) if fit.target.family is ModelFamily.OPENAI else None
    if known is None:
        return body
    return keep_known(body, known - {key for key, value in body.items() if value is None}, fit)


def _unsigned(body: JsonObject, fit: Fitting) -> JsonObject:
    is_models = body.get("role", "assistant") == "assistant" and not is_answer_type(item_type(body, "item"))
    bare = unsigned(body) if fit.drops_reasoning and is_models else body
    if bare is not body:
        fit.lose_reasoning()
    return bare


def _is_own_affair(kind: str, body: JsonObject, fit: Fitting) -> bool:
    """Tell whether another provider ran the call itself, without any reference from other items."""
    answers = is_answer_type(kind) or kind == "mcp_approval_request" or body.get("call_id") is not None
    return fit.is_foreign and kind != "message" and not answers


def _ids(body: JsonObject, kind: str, fit: Fitting) -> JsonObject:
    """Drop an item's id if not made by OpenAI, or if joined to removed reasoning."""
    start, item_id = _ID_STARTS.get(kind), body.get("id")
    if start is None or not isinstance(item_id, str):
        return body
    if not fit.drops_reasoning and item_id.startswith(start) and len(item_id) <= MAX_ID_CHARS:
        return body
    fit.apply(ShapeRule.ITEM_ID)
    return without(body, ("id",))


def _reasoning(body: JsonObject) -> JsonObject:
    return body if isinstance(body.get("summary"), list) else {**body, "summary": []}


def _named(body: JsonObject, fit: Fitting) -> JsonObject:
    """Write a user's name before the words; items have no place for names."""
    if "name" not in body:
        return body
    bare, name = without(body, ("name",)), name_on_one_line(str(body["name"] or ""))
    fit.apply(ShapeRule.MESSAGE_NAME, LossKind.SPEAKER, "the speaker's name was written before the words")
    if body.get("role") != "user" or not name:
        return bare
    content = bare.get("content")
    if isinstance(content, str):
        return {**bare, "content": f"{name}: {content}"}
    return {**bare, "content": [{"type": "input_text", "text": f"{name}:"}, *(content or ())]}


def _message(body: JsonObject, fit: Fitting) -> JsonObject:
    content = body.get("content")
    if not isinstance(content, list):
        return body
    role = str(body.get("role")) if body.get("role") in ROLES else "user"
    is_own = role == "assistant"
    shown = [note_of(part, fit) if is_own else part for part in parts_of(body)]
    told = [each for part in shown for each in _part(part, role, fit)]
    if _same(told, content):
        return body
    return {**body, "content": told}


def _part(part: JsonObject, role: str, fit: Fitting) -> list[JsonObject]:
    """Set the text kind required by the speaker's role; blank texts are left out."""
    if is_blank(part):
        fit.apply(ShapeRule.EMPTY_TEXT)
        return []
    if part.get("type") in {"text", "input_text", "output_text"}:
        if part["type"] != _TEXTS[role]:
            fit.apply(ShapeRule.PART_KIND)
            part = {**part, "type": _TEXTS[role]}
        return [_known(part, _TEXTS[role], fit)]
    kind = str(part.get("type"))
    return translate(part, role, fit) if is_foreign(kind, fit) else [_known(part, kind, fit)]


def _call(body: JsonObject, kind: str, fit: Fitting) -> JsonObject:
    name = body.get("name")
    if kind in {"function_call", "custom_tool_call"} and isinstance(name, str):
        fitted = fit.target.fit_name(name)
        if fitted != name:
            fit.apply(ShapeRule.TOOL_NAME, LossKind.TOOL_NAME, "the tool's name was shaped for this format")
            body = put(body, "name", fitted)
    arguments = body.get("arguments")
    if kind == "function_call" and not (isinstance(arguments, str) and arguments.strip()):
        fit.apply(ShapeRule.ARGUMENTS)
        is_mute = arguments is None or isinstance(arguments, str)
        body = {**body, "arguments": "{}" if is_mute else dump(arguments)}
    if kind == "custom_tool_call" and not isinstance(body.get("input"), str):
        fit.apply(ShapeRule.ARGUMENTS)
        body = {**body, "input": "" if body.get("input") is None else dump(body["input"])}
    if kind == "function_call_output" and body.get("output") == []:
        fit.apply(ShapeRule.EMPTY_CONTENT)
        body = {**body, "output": ""}
    return body


def _same(parts: Sequence[JsonObject], others: Sequence[JsonObject]) -> bool:
    return len(parts) == len(others) and all(a is b for a, b in zip(parts, others, strict=True))

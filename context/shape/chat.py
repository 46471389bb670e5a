"""Shaping of OpenAI chat messages for a provider, step by step."""

import json
import re
from collections.abc import Iterator

from context.shape.known_fields import CALLS, CHAT, keep_known
from context.shape.pictures import note_of
from context.shape.rule_names import Fitting, ShapeRule, is_blank, put, without, without_marks
from context.shape.translate import is_foreign, translate, unsigned
from context.text.cut import name_on_one_line
from context.text.sanitize import decode_inner
from context.tokens.families import ModelFamily
from context.types import JsonObject
from context.wire.neutral import LossKind, dump
from context.wire.openai.read import says_nothing, words_beside

_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
_NOT_IN_NAME = re.compile(r"[\s<|\\/>]+")


def fit_chat(body: JsonObject, fit: Fitting) -> JsonObject:
    """Shape a chat message for its target.

    Args:
        body: The decoded message.
        fit: Facts about the message, and record of the changes.

    Returns:
        The sendable message; the same object if unchanged.
    """
    for step in _STEPS:
        body = step(body, fit)
    return body


def _marks(body: JsonObject, fit: Fitting) -> JsonObject:
    bare = without_marks(body)
    if bare is body or not isinstance(bare, dict):
        return body
    kept = body if not fit.is_stored and fit.target.takes_marks else bare
    if kept is not body:
        fit.apply(ShapeRule.CACHE_MARKS)
    return kept


def _reasoning(body: JsonObject, fit: Fitting) -> JsonObject:
    if body.get("role") != "assistant":
        return body
    if fit.drops_reasoning:
        return _without_reasoning(body, fit)
    if fit.is_written_anew:
        return _with_leave(body, fit)
    if fit.target.checks_signatures:
        body = _signed_alone(body, fit)
    if re.search(r"deepseek-(?:r1|reasoner)", fit.target.model.lower()) and not body.get("tool_calls"):
        bare = without(body, ("reasoning_content",))
        if bare is not body:
            fit.apply(
                ShapeRule.SPENT_REASONING, LossKind.REASONING, "reasoning of earlier answers was left out"
            )
        body = bare
    return body


def _without_reasoning(body: JsonObject, fit: Fitting) -> JsonObject:
    bare = unsigned(body)
    content = bare.get("content")
    if isinstance(content, list):
        told = [part for part in content if part.get("type") not in {"thinking", "redacted_thinking"}]
        bare = bare if len(told) == len(content) else {**bare, "content": told}
    if bare is not body:
        fit.lose_reasoning()
    return _with_leave(bare, fit)


def _with_leave(body: JsonObject, fit: Fitting) -> JsonObject:
    """Tell Gemini 3 in its documented way that a message's first call has no thought signature."""
    calls = body.get("tool_calls")
    if not calls or re.search(r"gemini-(?:[3-9]|\d\d)", fit.target.model.lower()) is None:
        return body
    leave = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    fit.apply(
        ShapeRule.REFUSED_REASONING if fit.is_refused and not fit.is_foreign else ShapeRule.FOREIGN_REASONING
    )
    return {**body, "tool_calls": [{**calls[0], "extra_content": leave}, *calls[1:]]}


def _signed_alone(body: JsonObject, fit: Fitting) -> JsonObject:
    """Keep only signed thinking beside a message."""
    for key in ("thinking_blocks", "reasoning_details"):
        blocks = body.get(key)
        if not isinstance(blocks, list):
            continue
        kept = [block for block in blocks if not (isinstance(block, dict) and _lacks_signature(block))]
        if len(kept) < len(blocks):
            fit.apply(
                ShapeRule.UNSIGNED_THINKING, LossKind.REASONING, "thinking without its signature was left out"
            )
            body = {**body, key: kept} if kept else without(body, (key,))
    return body


def _lacks_signature(block: JsonObject) -> bool:
    if block.get("type") in {"thinking", "reasoning.text"}:
        return not block.get("signature")
    return block.get("type") in {"redacted_thinking", "reasoning.encrypted"} and not block.get("data")


def _spoken(body: JsonObject, fit: Fitting) -> JsonObject:
    """Move words kept beside the content by OpenAI only into the content, for other providers."""
    beside = ("refusal", "audio")
    is_beside = body.get("role") == "assistant" and any(body.get(key) for key in beside)
    if not is_beside or fit.target.family is ModelFamily.OPENAI:
        return body
    words = words_beside(body)
    bare = without(body, beside)
    is_blank_content = says_nothing(without(bare, ("tool_calls", "function_call")))
    fit.apply(ShapeRule.PART_KIND)
    if body.get("audio") and not words:
        fit.apply(ShapeRule.PART_KIND, LossKind.MEDIA, "the audio was left out")
    return {**bare, "content": words or None} if is_blank_content else bare


def _parts(body: JsonObject, fit: Fitting) -> JsonObject:
    content = body.get("content")
    if not isinstance(content, list):
        return body
    is_shown = fit.target.shows_pictures_of(body.get("role"))
    shown = [part if is_shown else note_of(part, fit) for part in content]
    parts = [each for part in shown for each in _fit_part(part, body.get("role"), fit)]
    if len(parts) == len(content) and all(a is b for a, b in zip(parts, content, strict=True)):
        return body
    return {**body, "content": parts}


def _fit_part(part: JsonObject, role: object, fit: Fitting) -> Iterator[JsonObject]:
    kind = part.get("type")
    if is_blank(part):
        fit.apply(ShapeRule.EMPTY_TEXT)
    elif kind == "refusal" and fit.target.family is not ModelFamily.OPENAI:
        fit.apply(ShapeRule.PART_KIND)
        yield {"type": "text", "text": str(part.get("refusal") or "")}
    elif kind == "image_url" and isinstance(part.get("image_url"), str) and not fit.target.takes_addresses:
        fit.apply(ShapeRule.PART_KIND)
        yield {**part, "image_url": {"url": part["image_url"]}}
    elif is_foreign(str(kind), fit):
        yield from translate(part, role, fit)
    else:
        yield part


def _calls(body: JsonObject, fit: Fitting) -> JsonObject:
    calls = body.get("tool_calls")
    if not calls and "tool_calls" in body:
        fit.apply(ShapeRule.EMPTY_CALLS)
        return without(body, ("tool_calls",))
    if not isinstance(calls, list):
        return body
    fitted = [_fit_call(call, fit) if isinstance(call, dict) else call for call in calls]
    if all(a is b for a, b in zip(fitted, calls, strict=True)):
        return body
    return {**body, "tool_calls": fitted}


def _fit_call(call: JsonObject, fit: Fitting) -> JsonObject:
    if isinstance(call.get("custom"), dict) and fit.target.family is not ModelFamily.OPENAI:
        call = _as_function(call, fit)
    if not call.get("type") and isinstance(call.get("function"), dict):
        fit.apply(ShapeRule.CALL_SHAPE)
        call = {**call, "type": "function"}
    if "index" in call:
        fit.apply(ShapeRule.CALL_SHAPE)
        call = without(call, ("index",))
    for shape in ("function", "custom"):
        inner = call.get(shape)
        if isinstance(inner, dict):
            call = put(call, shape, _fit_callee(inner, fit, is_json=shape == "function"))
    return call


def _as_function(call: JsonObject, fit: Fitting) -> JsonObject:
    """Write a free-form call, known to OpenAI only, as a function call with its text under `input`."""
    callee = call["custom"]
    arguments = dump({"input": callee.get("input") or ""})
    fit.apply(ShapeRule.CALL_SHAPE, LossKind.ARGUMENTS, "a free-form call's text went under 'input'")
    function = {"name": callee.get("name"), "arguments": arguments}
    return {**without(call, ("custom",)), "type": "function", "function": function}


def _fit_callee(callee: JsonObject, fit: Fitting, *, is_json: bool) -> JsonObject:
    name = callee.get("name")
    if isinstance(name, str) and name and (fitted := fit.target.fit_name(name)) != name:
        fit.apply(ShapeRule.TOOL_NAME, LossKind.TOOL_NAME, "the tool's name was shaped for this format")
        callee = {**callee, "name": fitted}
    if not is_json:
        return callee
    arguments = _fit_arguments(callee.get("arguments"), fit)
    return callee if arguments == callee.get("arguments") else {**callee, "arguments": arguments}


def _fit_arguments(arguments: object, fit: Fitting) -> str:
    """Write arguments as JSON object text for all servers; OpenAI accepts any text."""
    if not isinstance(arguments, str):
        fit.apply(ShapeRule.ARGUMENTS)
        return "{}" if arguments is None else dump(arguments)
    if not arguments.strip():
        fit.apply(ShapeRule.ARGUMENTS)
        return "{}"
    if fit.target.takes_unknown_arguments or _is_object(arguments):
        return arguments
    fit.apply(ShapeRule.ARGUMENTS, LossKind.ARGUMENTS, "arguments that are no JSON object went under 'input'")
    return json.dumps({"input": arguments}, ensure_ascii=False, separators=(",", ":"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(decode_inner(text), dict)
    except (ValueError, RecursionError):
        return False


def _empty(body: JsonObject, fit: Fitting) -> JsonObject:
    """Write empty content in the form of each role: a call without words gets None, a result ""."""
    content, role = body.get("content"), body.get("role")
    if role == "assistant" and body.get("tool_calls"):
        is_odd = content == [] or (content == "" and fit.target.family is not ModelFamily.OPENAI)
        if is_odd:
            fit.apply(ShapeRule.EMPTY_CONTENT)
            return {**body, "content": None}
    elif content == [] and role in {"tool", "function"}:
        fit.apply(ShapeRule.EMPTY_CONTENT)
        return {**body, "content": ""}
    return body


def _name(body: JsonObject, fit: Fitting) -> JsonObject:
    name, role = body.get("name"), body.get("role")
    if not isinstance(name, str):
        return body if name is not None else without(body, ("name",))
    if role in {"tool", "function"}:
        return put(body, "name", _tool_name(name, fit))
    if fit.target.family is ModelFamily.MISTRAL:
        fit.apply(ShapeRule.MESSAGE_NAME, LossKind.SPEAKER, "the speaker's name was written before the words")
        return _spoken_by(without(body, ("name",)), name)
    if not name or _NAME.fullmatch(name):
        return body if name else without(body, ("name",))
    fit.apply(ShapeRule.MESSAGE_NAME, LossKind.SPEAKER, "the speaker's name was shaped for this format")
    fitted = _NOT_IN_NAME.sub("_", name)[:64]
    return {**body, "name": fitted}


def _tool_name(name: str, fit: Fitting) -> str:
    fitted = fit.target.fit_name(name)
    if fitted != name:
        fit.apply(ShapeRule.TOOL_NAME)
    return fitted


def _spoken_by(body: JsonObject, name: str) -> JsonObject:
    content, name = body.get("content"), name_on_one_line(name)
    if body.get("role") != "user" or not name:
        return body
    if isinstance(content, str):
        return {**body, "content": f"{name}: {content}"}
    return {**body, "content": [{"type": "text", "text": f"{name}:"}, *(content or ())]}


def _role(body: JsonObject, fit: Fitting) -> JsonObject:
    if body.get("role") != "developer" or fit.target.family is ModelFamily.OPENAI:
        return body
    fit.apply(ShapeRule.DEVELOPER_ROLE)
    return {**body, "role": "system"}


def _fields(body: JsonObject, fit: Fitting) -> JsonObject:
    """Drop fields unknown to a provider that refuses them, in parts and calls too."""
    known = fit.target.known_fields
    if known is None:
        return body
    body = keep_known(body, known, fit)
    for place, fields_of in (("content", _part_fields), ("tool_calls", _call_fields)):
        inner = body.get(place)
        if isinstance(inner, list):
            kept = [fields_of(each, fit) if isinstance(each, dict) else each for each in inner]
            if any(a is not b for a, b in zip(kept, inner, strict=True)):
                body = {**body, place: kept}
    return body


def _part_fields(part: JsonObject, fit: Fitting) -> JsonObject:
    return keep_known(part, CHAT.get(str(part.get("type"))), fit)


def _call_fields(call: JsonObject, fit: Fitting) -> JsonObject:
    call = keep_known(call, CALLS[""], fit)
    for shape in ("function", "custom"):
        if isinstance(call.get(shape), dict):
            call = put(call, shape, keep_known(call[shape], CALLS[shape], fit))
    return call


_STEPS = (_marks, _reasoning, _spoken, _parts, _calls, _empty, _name, _role, _fields)

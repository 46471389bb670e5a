"""Shaping of Anthropic messages for a provider, step by step."""

from context.shape.pictures import note_of
from context.shape.rule_names import Fitting, ShapeRule, few_marks, put, without_marks
from context.types import JsonObject, Wire
from context.wire.anthropic.facts import is_answer, is_call
from context.wire.neutral import LossKind
from context.wire.pairing import fit_name

THINKING = frozenset({"thinking", "redacted_thinking"})


def fit_blocks(body: JsonObject, fit: Fitting) -> JsonObject:
    """Shape an Anthropic message for its target; blank texts are left out later, during writing.

    Args:
        body: The decoded message.
        fit: Facts about the message, and record of the changes.

    Returns:
        The sendable message, possibly without content; the same object if unchanged.
    """
    body = _marks(body, fit)
    content = body.get("content")
    if not isinstance(content, list):
        return body
    blocks = content
    if body.get("role") == "assistant":
        blocks = _trailing(_thinking(blocks, fit), fit)
        blocks = [_named(note_of(block, fit), fit) for block in blocks]
    if len(blocks) == len(content) and all(a is b for a, b in zip(blocks, content, strict=True)):
        return body
    return {**body, "content": blocks}


def _marks(body: JsonObject, fit: Fitting) -> JsonObject:
    """Remove cache marks from history, and surplus marks from a new message."""
    bare = without_marks(body)
    if bare is body or not isinstance(bare, dict):
        return body
    if fit.is_stored:
        fit.apply(ShapeRule.CACHE_MARKS)
        return bare
    few = few_marks(body)
    if few is not body:
        fit.apply(ShapeRule.CACHE_MARKS)
    return few


def _thinking(blocks: list[JsonObject], fit: Fitting) -> list[JsonObject]:
    if fit.drops_reasoning:
        kept = [block for block in blocks if block.get("type") not in THINKING]
        if len(kept) < len(blocks):
            fit.lose_reasoning()
        return _own_calls(kept, fit) if fit.is_foreign else kept
    if not fit.target.checks_signatures:
        return blocks
    kept = [block for block in blocks if not _lacks_signature(block)]
    if len(kept) < len(blocks):
        fit.apply(
            ShapeRule.UNSIGNED_THINKING, LossKind.REASONING, "thinking without its signature was left out"
        )
    return kept


def _lacks_signature(block: JsonObject) -> bool:
    if block.get("type") == "thinking":
        return not block.get("signature")
    return block.get("type") == "redacted_thinking" and not block.get("data")


def _own_calls(blocks: list[JsonObject], fit: Fitting) -> list[JsonObject]:
    """Leave out tools run by another provider, with their sealed results, if both are present."""
    made = {block["id"] for block in blocks if is_call(block) and block["type"] != "tool_use"}
    closed = made & {block["tool_use_id"] for block in blocks if is_answer(block)}
    kept = [
        block
        for block in blocks
        if (block["id"] if is_call(block) else block["tool_use_id"] if is_answer(block) else None)
        not in closed
    ]
    if len(kept) < len(blocks):
        why = "a tool run by another provider was left out"
        fit.apply(ShapeRule.FOREIGN_REASONING, LossKind.CONTENT, why)
    return kept


def _trailing(blocks: list[JsonObject], fit: Fitting) -> list[JsonObject]:
    """Leave out thinking at the end of a message, as after a broken-off answer."""
    if not fit.target.checks_signatures or not blocks or blocks[-1].get("type") not in THINKING:
        return blocks
    kept = list(blocks)
    while kept and kept[-1].get("type") in THINKING:
        kept.pop()
    fit.apply(ShapeRule.TRAILING_THINKING, LossKind.REASONING, "thinking that led to nothing was left out")
    return kept


def _named(block: JsonObject, fit: Fitting) -> JsonObject:
    name = block.get("name")
    if block.get("type") != "tool_use" or not isinstance(name, str):
        return block
    fitted = fit_name(name, Wire.ANTHROPIC)
    if fitted == name:
        return block
    fit.apply(ShapeRule.TOOL_NAME, LossKind.TOOL_NAME, "the tool's name was shaped for this format")
    return put(block, "name", fitted)

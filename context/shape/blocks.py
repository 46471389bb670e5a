"""Shaping of Anthropic messages for a provider, step by step."""

from context.shape.known_fields import BLOCKS, keep_known
from context.shape.pictures import note_of
from context.shape.rule_names import Fitting, ShapeRule, is_blank, put, without_marks
from context.shape.translate import is_foreign, translate, unsigned
from context.types import JsonObject
from context.wire.anthropic.read import is_answer, is_call, is_compaction
from context.wire.neutral import LossKind

MUTE_ERROR = "[the call failed without a message]"
THINKING = frozenset({"thinking", "redacted_thinking"})
_OF_MESSAGE = frozenset({"role", "content"})
_SEALED = THINKING | {"compaction"}


def fit_blocks(body: JsonObject, fit: Fitting) -> JsonObject:
    """Shape an Anthropic message for its target; blank texts are left out later, during writing.

    Args:
        body: The decoded message.
        fit: Facts about the message, and record of the changes.

    Returns:
        The sendable message, possibly without content; the same object if unchanged.
    """
    body = keep_known(_marks(body, fit), _OF_MESSAGE, fit)
    content = body.get("content")
    if not isinstance(content, list):
        return body
    blocks = content
    if body.get("role") == "assistant":
        body = _unsigned(body, fit)
        blocks = _trailing(_thinking(_standing(body["content"], fit), fit), fit)
        blocks = [_named(note_of(block, fit), fit) for block in blocks]
    blocks = [_known(each, fit) for block in blocks for each in _fit_block(block, body.get("role"), fit)]
    if len(blocks) == len(content) and all(a is b for a, b in zip(blocks, content, strict=True)):
        return body
    return {**body, "content": blocks}


def _unsigned(body: JsonObject, fit: Fitting) -> JsonObject:
    """Remove other signed fields than those of thinking, which goes by the block."""
    bare = unsigned(body) if fit.drops_reasoning else body
    if bare is not body:
        fit.lose_reasoning()
    return bare


def _marks(body: JsonObject, fit: Fitting) -> JsonObject:
    """Remove cache marks from history."""
    bare = without_marks(body)
    if bare is body or not isinstance(bare, dict):
        return body
    if fit.is_stored:
        fit.apply(ShapeRule.CACHE_MARKS)
        return bare
    return body


def _standing(blocks: list[JsonObject], fit: Fitting) -> list[JsonObject]:
    """Leave out compactions without content: they stand for nothing, and most are refused."""
    kept = [block for block in blocks if block.get("type") != "compaction" or is_compaction(block)]
    if len(kept) < len(blocks):
        fit.apply(ShapeRule.EMPTY_CONTENT)
    return kept


def _thinking(blocks: list[JsonObject], fit: Fitting) -> list[JsonObject]:
    if fit.drops_reasoning:
        kept = [block for block in blocks if block.get("type") not in _SEALED]
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
    """Leave out tools run by another provider, with their sealed results."""
    kept = [
        block
        for block in blocks
        if not (is_call(block) and block["type"] != "tool_use")
        and not (is_answer(block) and block["type"] != "tool_result")
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


def _fit_block(block: JsonObject, role: object, fit: Fitting) -> list[JsonObject]:
    """Translate a block of another format, inside a tool's result too."""
    inner = block.get("content")
    if block.get("type") == "tool_result" and block.get("is_error") is True and _is_mute(inner):
        fit.apply(ShapeRule.EMPTY_CONTENT)
        return [{**block, "content": MUTE_ERROR}]
    if str(block.get("type")).endswith("tool_result") and isinstance(inner, list):
        kept = [_known(each, fit) for part in inner for each in _fit_block(part, "user", fit)]
        is_same = len(kept) == len(inner) and all(a is b for a, b in zip(kept, inner, strict=True))
        return [block if is_same else {**block, "content": kept}]
    return translate(block, role, fit) if is_foreign(str(block.get("type")), fit) else [block]


def _known(block: JsonObject, fit: Fitting) -> JsonObject:
    """Leave out fields that the provider does not know: what a client's stream kept; a call has an input."""
    if is_call(block) and block.get("input") is None:
        fit.apply(ShapeRule.ARGUMENTS)
        block = {**block, "input": {}}
    return keep_known(block, BLOCKS.get(str(block.get("type"))), fit)


def _is_mute(content: object) -> bool:
    if isinstance(content, list):
        return all(isinstance(part, dict) and is_blank(part) for part in content)
    return not (isinstance(content, str) and content.strip())


def _named(block: JsonObject, fit: Fitting) -> JsonObject:
    name = block.get("name")
    if block.get("type") != "tool_use" or not isinstance(name, str):
        return block
    fitted = fit.target.fit_name(name)
    if fitted == name:
        return block
    fit.apply(ShapeRule.TOOL_NAME, LossKind.TOOL_NAME, "the tool's name was shaped for this format")
    return put(block, "name", fitted)

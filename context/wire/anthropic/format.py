"""The format of Anthropic messages."""

import re

from context.tokens.families import ModelFamily
from context.types import JsonObject, Wire
from context.wire.anthropic.blocks import told_blocks
from context.wire.anthropic.check import check
from context.wire.anthropic.facts import LIMITS, describe, is_compaction
from context.wire.anthropic.read import BLOCKS, read, read_block
from context.wire.anthropic.write import write
from context.wire.format import CompactionParts, Format, Keep, ToolFormat
from context.wire.neutral import LossKind, member, says_something

_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})


def edit(body: JsonObject, keep_call: Keep, keep_answer: Keep) -> JsonObject | None:
    """Keep the chosen calls and results; None if nothing sendable is left."""
    content = body.get("content")
    if not isinstance(content, list):
        return body if says_something(content) else None
    blocks = [block for block in content if _keeps_block(block, keep_call, keep_answer)]
    spoken = [block for block in blocks if member(block, "type") not in _THINKING_TYPES]
    return {**body, "content": blocks} if says_something(spoken) else None


def _keeps_block(block: object, keep_call: Keep, keep_answer: Keep) -> bool:
    kind = str(member(block, "type"))
    if kind.endswith("tool_use"):
        return keep_call(member(block, "id"))
    if kind.endswith("tool_result"):
        return keep_answer(member(block, "tool_use_id"))
    return True


def cut_compaction(body: JsonObject) -> CompactionParts | None:
    """Cut a message at its last compaction block; None for a message without any."""
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    places = [place for place, block in enumerate(blocks) if is_compaction(block)]
    if not places:
        return None
    before = [block for block in blocks[: places[-1]] if not is_compaction(block)]
    parts = before, [blocks[places[-1]]], blocks[places[-1] + 1 :]
    first, item, last = ({**body, "content": part} for part in parts)
    return CompactionParts(item, first if before else None, last if parts[2] else None)


_DATED = re.compile(r"_\d{8}$")
_OWN_TOOLS = frozenset({"mcp_toolset"})


def _write_tool(named: JsonObject, schema: JsonObject, _strict: bool | None) -> JsonObject:
    return {**named, "input_schema": schema}


FORMAT = Format(
    wire=Wire.ANTHROPIC,
    describe=describe,
    read=read,
    read_part=read_block,
    parts=BLOCKS,
    write=write,
    check=check,
    edit=edit,
    is_told=lambda body: bool(told_blocks(body["content"])),
    limits=LIMITS,
    tools=ToolFormat(
        write=_write_tool,
        write_free=None,
        is_native=lambda tool: tool.get("type") in {None, "custom"} and "input_schema" in tool,
        is_own=lambda kind: _DATED.search(kind) is not None or kind in _OWN_TOOLS,
        own_families=frozenset({ModelFamily.ANTHROPIC, ModelFamily.OTHER}),
        has_strict=False,
    ),
    id_keys=("id", "tool_use_id"),
    user_text="text",
    model_text="text",
    result_key=None,
    pairs_by_facts=lambda _: False,
    find_silent=lambda _: set(),
    silent_loss=(LossKind.EMPTY, "a message that says nothing was left out"),
    cut_compaction=cut_compaction,
    compaction_maker=ModelFamily.ANTHROPIC,
    merges_roles=True,
    has_unique_ids=True,
    has_system_apart=True,
    has_cache_marks=True,
)

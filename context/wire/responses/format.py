"""The format of OpenAI Responses: input items, and the check of an outgoing array."""

import re
from collections.abc import Sequence

from context.tokens.families import ModelFamily
from context.types import JsonObject, Message, Role, Wire
from context.wire.format import CompactionParts, Format, Keep, ToolFormat
from context.wire.neutral import has_words
from context.wire.responses.read import (
    ITEM_PARTS,
    LIMITS,
    REASONING,
    describe,
    is_compaction,
    loose_reasoning,
    read,
    read_item_part,
)
from context.wire.responses.write import LOOSE_REASONING, write


def check(items: Sequence[JsonObject]) -> list[str]:
    """Check that outputs follow their calls, once each, and that reasoning has a following item."""
    faults: list[str] = []
    waiting: dict[str, int] = {}
    loose = loose_reasoning(items)
    for i, body in enumerate(items):
        facts = describe(body, f"input[{i}]")
        orphans = [a for a in facts.answer_ids if waiting.pop(a, None) is None]
        faults += [f"input[{i}]: answers no open call: {answer_id!r}" for answer_id in orphans]
        for call_id in facts.call_ids:
            if call_id in waiting:
                faults.append(f"input[{i}]: the call {call_id!r} is open already")
            waiting[call_id] = i
        if i in loose:
            faults.append(f"input[{i}]: reasoning without the item that it led to")
    return faults + [f"input[{at}]: the call {call_id!r} is not answered" for call_id, at in waiting.items()]


def edit(body: JsonObject, keep_call: Keep, keep_answer: Keep) -> JsonObject | None:
    """Keep or drop the whole item: an item is one call, or one result."""
    ids = [body.get(key) for key in ("call_id", "id", "approval_request_id")]
    return body if all(map(keep_call, ids)) and all(map(keep_answer, ids)) else None


_DATED = re.compile(r"_\d{4}_\d\d_\d\d$")
_OWN_TOOLS = frozenset(
    (
        *("web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp"),
        *("computer_use_preview", "computer", "local_shell", "shell", "apply_patch", "namespace"),
    )
)


def _pairs_by_facts(messages: Sequence[Message]) -> bool:
    """Say by the facts alone whether each output follows its call; reasoning needs a closer look."""
    waiting: set[str] = set()
    for message in messages:
        if not waiting.issuperset(message.answer_ids) or not waiting.isdisjoint(message.call_ids):
            return False
        waiting.difference_update(message.answer_ids)
        waiting.update(message.call_ids)
        if message.role is Role.ASSISTANT and REASONING in message.raw:
            return False
    return not waiting


def _find_silent(messages: Sequence[Message]) -> set[int]:
    """Find empty messages and reasoning that led to nothing, decoding only turns with such content."""
    empty = {
        place
        for place, message in enumerate(messages)
        if "[]" in message.raw and message.body.get("content") == [] and "role" in message.body
    }
    reasons = any(REASONING in message.raw for message in messages if message.role is Role.ASSISTANT)
    return empty | (loose_reasoning([message.body for message in messages]) if reasons else set())


def _write_tool(named: JsonObject, schema: JsonObject, strict: bool | None) -> JsonObject:
    function = {"type": "function", **named, "parameters": schema}
    return function if strict is None else {**function, "strict": strict}


def _is_native(tool: JsonObject) -> bool:
    is_flat = tool.get("type") in {"function", "custom"} and "name" in tool
    return is_flat and "input_schema" not in tool and "inputSchema" not in tool


FORMAT = Format(
    wire=Wire.RESPONSES,
    describe=describe,
    read=read,
    read_part=read_item_part,
    parts=ITEM_PARTS,
    write=write,
    check=check,
    edit=edit,
    is_told=has_words,
    limits=LIMITS,
    tools=ToolFormat(
        write=_write_tool,
        write_free=lambda tool: {"type": "custom", **tool},
        is_native=_is_native,
        is_own=lambda kind: _DATED.sub("", kind) in _OWN_TOOLS,
        own_families=frozenset({ModelFamily.QWEN, ModelFamily.XAI, ModelFamily.OTHER}),
        has_strict=True,
    ),
    id_keys=("call_id",),
    user_text="input_text",
    model_text="output_text",
    result_key="output",
    pairs_by_facts=_pairs_by_facts,
    find_silent=_find_silent,
    silent_loss=LOOSE_REASONING,
    cut_compaction=lambda body: CompactionParts(body) if is_compaction(body) else None,
    compaction_maker=ModelFamily.OPENAI,
    is_list_of_items=True,
)

"""The format of Anthropic messages, with the check of an outgoing array."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from context.tokens.families import ModelFamily
from context.types import JsonObject, Wire
from context.wire.anthropic.read import BLOCKS, LIMITS, describe, is_compaction, read, read_block
from context.wire.anthropic.write import opens_with_compaction, told_blocks, write
from context.wire.format import CompactionParts, Format, Keep, MessageFacts, ToolFormat
from context.wire.neutral import LossKind, member, says_something


def check(items: Sequence[JsonObject]) -> list[str]:
    """Roles alternate from a user on; each client call is answered first thing in the next message."""
    walk = _PairWalk()
    last = "assistant"
    for i, body in enumerate(items):
        where = f"messages[{i}]"
        facts = describe(body, where)
        role = body["role"]
        if role == "system":
            continue
        told = told_blocks(body["content"])
        if not told:
            walk.faults.append(f"{where}: is empty")
        elif isinstance(body["content"], list) and told != body["content"]:
            walk.faults.append(f"{where}: holds a blank text")
        if role == last and not (i == 0 and opens_with_compaction(body["content"])):
            walk.faults.append(f"{where}: role {role} where the other one must speak")
        last = role
        step = walk.assistant if role == "assistant" else walk.user
        step(body, facts, where)
    missing = [f"messages[{len(items)}]: the answer to {c!r} is missing" for c in sorted(walk.pending)]
    return walk.faults + missing


@dataclass
class _PairWalk:
    """State of a walk through the messages.

    Attributes:
        pending: Client calls to be answered by the next message.
        server: The provider's own unanswered calls; an answer may come after the client's answers.
        seen: Every call id so far.
        faults: Faults found.
    """

    pending: set[str] = field(default_factory=set)
    server: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def assistant(self, body: JsonObject, facts: MessageFacts, where: str) -> None:
        """Open the message's calls, and close the provider's calls answered in the message."""
        self._say(f"{where}: comes before the answer to", self.pending)
        self._say(f"{where}: answers no open call of the provider:", set(facts.answer_ids) - self.server)
        self._say(f"{where}: uses an id again:", self.seen & set(facts.call_ids))
        blocks = body["content"] if isinstance(body["content"], list) else []
        client = {block["id"] for block in blocks if block["type"] == "tool_use"}
        self.pending = client
        self.server = (self.server - set(facts.answer_ids)) | (set(facts.call_ids) - client)
        self.seen.update(facts.call_ids)

    def user(self, body: JsonObject, facts: MessageFacts, where: str) -> None:
        """Close the client's calls: all at once, by results before any other content."""
        answers = set(facts.answer_ids)
        self._say(f"{where}: lacks the answer to", self.pending - answers)
        self._say(f"{where}: answers no call of the message before it:", answers - self.pending)
        self.pending = set()
        if not answers:
            self._say(f"{where}: begins a new turn before the answer to", self.server)
            self.server = set()
            return
        results = [block["type"] == "tool_result" for block in body["content"]]
        if results != sorted(results, reverse=True):
            self.faults.append(f"{where}: a tool result stands behind other content")

    def _say(self, what: str, ids: set[str]) -> None:
        self.faults += [f"{what} {call_id!r}" for call_id in sorted(ids)]


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

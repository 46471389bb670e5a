"""Check of an outgoing array of Anthropic messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from context.types import JsonObject
from context.wire.anthropic.blocks import opens_with_compaction, told_blocks
from context.wire.anthropic.facts import describe
from context.wire.facts import MessageFacts


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

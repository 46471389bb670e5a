"""Validators of outgoing arrays, a validator per format, as strict as the provider about order and pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from context.errors import InvalidInputError
from context.types import JsonObject, Wire
from context.wire.anthropic import facts as anthropic
from context.wire.anthropic.blocks import told_blocks
from context.wire.facts import MessageFacts
from context.wire.openai import facts as openai
from context.wire.responses import facts as responses


def check_pairs(items: Sequence[JsonObject], wire: Wire) -> list[str]:
    """List faults in the order and pairs of an outgoing array, as judged by the provider.

    Args:
        items: Decoded messages or items.
        wire: The format of the items.

    Returns:
        A sentence per fault, each beginning with its place, as in `messages[3]: …`; empty if sendable.
    """
    try:
        return _CHECKS[wire](items)
    except InvalidInputError as error:
        return [error.message]


def check_openai(items: Sequence[JsonObject]) -> list[str]:
    """Check that every call is answered once, by the tool messages directly after the call."""
    faults: list[str] = []
    pending: list[str] = []
    for i, body in enumerate(items):
        facts = openai.describe(body, f"messages[{i}]")
        if facts.answer_ids:
            if facts.answer_ids[0] in pending:
                pending.remove(facts.answer_ids[0])
            else:
                faults.append(f"messages[{i}]: answers no open call of the assistant message before it")
            continue
        faults += [f"messages[{i}]: comes before the answer to {call_id!r}" for call_id in pending]
        pending = list(facts.call_ids)
        if body["role"] == "assistant" and openai.says_nothing(body):
            faults.append(f"messages[{i}]: has neither content nor calls")
    return faults + [f"messages[{len(items)}]: the answer to {call_id!r} is missing" for call_id in pending]


def check_anthropic(items: Sequence[JsonObject]) -> list[str]:
    """Roles alternate from a user on; each client call is answered first thing in the next message."""
    walk = _AnthropicWalk()
    last = "assistant"
    for i, body in enumerate(items):
        where = f"messages[{i}]"
        facts = anthropic.describe(body, where)
        role = body["role"]
        if role == "system":
            continue
        told = told_blocks(body["content"])
        if not told:
            walk.faults.append(f"{where}: is empty")
        elif isinstance(body["content"], list) and told != body["content"]:
            walk.faults.append(f"{where}: holds a blank text")
        if role == last:
            walk.faults.append(f"{where}: role {role} where the other one must speak")
        last = role
        step = walk.assistant if role == "assistant" else walk.user
        step(body, facts, where)
    missing = [f"messages[{len(items)}]: the answer to {c!r} is missing" for c in sorted(walk.pending)]
    return walk.faults + missing


@dataclass
class _AnthropicWalk:
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


def check_responses(items: Sequence[JsonObject]) -> list[str]:
    """Check that outputs follow their calls, once each, and that reasoning has a following item."""
    faults: list[str] = []
    waiting: dict[str, int] = {}
    loose = responses.loose_reasoning(items)
    for i, body in enumerate(items):
        facts = responses.describe(body, f"input[{i}]")
        orphans = [a for a in facts.answer_ids if waiting.pop(a, None) is None]
        faults += [f"input[{i}]: answers no open call: {answer_id!r}" for answer_id in orphans]
        for call_id in facts.call_ids:
            if call_id in waiting:
                faults.append(f"input[{i}]: the call {call_id!r} is open already")
            waiting[call_id] = i
        if i in loose:
            faults.append(f"input[{i}]: reasoning without the item that it led to")
    return faults + [f"input[{at}]: the call {call_id!r} is not answered" for call_id, at in waiting.items()]


_CHECKS: dict[Wire, Callable[[Sequence[JsonObject]], list[str]]] = {
    Wire.OPENAI: check_openai,
    Wire.ANTHROPIC: check_anthropic,
    Wire.RESPONSES: check_responses,
}

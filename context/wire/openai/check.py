"""Check of an outgoing array of chat messages."""

from collections.abc import Sequence

from context.types import JsonObject
from context.wire.openai.facts import describe, says_nothing


def check(items: Sequence[JsonObject]) -> list[str]:
    """Check that every call is answered once, by the tool messages directly after the call."""
    faults: list[str] = []
    pending: list[str] = []
    for i, body in enumerate(items):
        facts = describe(body, f"messages[{i}]")
        if facts.answer_ids:
            if facts.answer_ids[0] in pending:
                pending.remove(facts.answer_ids[0])
            else:
                faults.append(f"messages[{i}]: answers no open call of the assistant message before it")
            continue
        faults += [f"messages[{i}]: comes before the answer to {call_id!r}" for call_id in pending]
        pending = list(facts.call_ids)
        if body["role"] == "assistant" and says_nothing(body):
            faults.append(f"messages[{i}]: has neither content nor calls")
    return faults + [f"messages[{len(items)}]: the answer to {call_id!r} is missing" for call_id in pending]

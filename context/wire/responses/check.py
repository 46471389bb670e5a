"""Check of an outgoing array of Responses items."""

from collections.abc import Sequence

from context.types import JsonObject
from context.wire.responses.facts import describe, loose_reasoning


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

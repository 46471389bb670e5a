"""Whether the messages that a model would be sent hold each call together with its results."""

from collections.abc import Mapping, Sequence
from typing import Any


def broken_pairs(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Find calls without a result and results without a call, as a provider would.

    Args:
        messages: Of a window, in OpenAI's form.

    Returns:
        A sentence for each place that a provider would refuse.
    """
    faults, wanted = list[str](), list[str]()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            answered = message["tool_call_id"]
            if answered in wanted:
                wanted.remove(answered)
            else:
                faults.append(f"message {place} answers {answered}, which nobody asks just before it")
            continue
        faults += [f"{call} has no result before message {place}" for call in wanted]
        wanted = [call["id"] for call in message.get("tool_calls") or ()]
    return faults + [f"{call} has no result" for call in wanted]

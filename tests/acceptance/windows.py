"""Whether a window is what its certificate says, and what a provider would take."""

from collections.abc import Mapping, Sequence
from typing import Any


def broken_window(answer: Mapping[str, Any], *, known_seq: int = 0) -> list[str]:
    """Hold a context's answer against its own certificate.

    Args:
        answer: Of `POST /context`, in OpenAI's form.
        known_seq: The newest message that was acknowledged; a window of any history reaches as far, >= 0.

    Returns:
        A sentence for each claim that does not hold.
    """
    proof = answer["certificate"]
    claims = [name for name in ("fits", "tail_contiguous", "tool_pairs_intact") if not proof[name]]
    faults = [f"the certificate denies {name}" for name in claims]
    counted = sum(block["tokens"] for block in proof["blocks"])
    if counted != proof["input_tokens"]:
        faults.append(f"the parts hold {counted} tokens, the whole {proof['input_tokens']}")
    if proof["input_tokens"] + proof["max_tokens"] > proof["context_window"]:
        faults.append(f"{proof['input_tokens']} in and {proof['max_tokens']} out do not fit")
    return [*faults, *_torn_history(proof, known_seq), *broken_pairs(answer["messages"])]


def _torn_history(proof: Mapping[str, Any], known_seq: int) -> list[str]:
    """Places where the window misses what lies between its summary and its newest message."""
    summary, tail = proof["summary_covers"], proof["tail"]
    faults = list[str]()
    is_told = any(left["what"].startswith("message") for left in proof["excluded"])
    if summary and tail and tail[0] > summary[1] + 1 and not is_told:
        faults.append(f"nothing stands for what lies between {summary} and {tail}")
    newest = (tail or summary or [0, known_seq])[1]
    if newest < known_seq:
        faults.append(f"it ends at message {newest}, and {known_seq} was acknowledged")
    return faults


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

"""What every window must be: it fits, its pairs are whole, and nothing is hidden."""

import re
from typing import Any

from context.types import Wire
from context.wire import check_pairs
from tests.integration.fuzz.door import Answer, Door
from tests.integration.fuzz.ledger import Promised

_MESSAGES = re.compile(r"messages (\d+)-(\d+)")
_LEFT_OUT = re.compile(r"message (\d+): .*, message left out$")


def check_window(
    door: Door, answer: Answer, sent: dict[str, Any], promised: Promised, live: list[int]
) -> None:
    """Hold a window against its own certificate, its request and the log.

    Args:
        door: Where faults go.
        answer: What came back for a request that is right.
        sent: That request.
        promised: What the session was promised.
        live: The messages that were acknowledged, and not erased, before the request was sent.
    """
    if not answer.ok:
        return
    for what in _faults(answer.body, sent, is_cut=promised.is_cut):
        door.blame(f"window: {what}", answer)
    for what in _hidden(answer.body, promised, live):
        door.blame(f"window: {what}", answer)


def _faults(found: dict[str, Any], sent: dict[str, Any], *, is_cut: bool) -> list[str]:
    certificate = found["certificate"]
    wire = Wire(sent.get("wire", "openai"))
    used = certificate["input_tokens"]
    asked_window = sent.get("context_window") or certificate["context_window"]
    rules = {
        "does not fit": certificate["fits"] and used <= certificate["budget"],
        "no room for the answer": used + certificate["max_tokens"] <= certificate["context_window"],
        "larger than was asked for": certificate["context_window"] <= asked_window,
        "over the caller's budget": used <= (sent.get("budget") or used),
        "tail is torn": certificate["tail_contiguous"] or is_cut or _names_steps(certificate),
        "pairs are torn": certificate["tool_pairs_intact"],
        "parts do not add up": sum(block["tokens"] for block in certificate["blocks"]) == used,
        "tools out of nothing": bool(sent.get("tools") or sent.get("catalog")) or not found["tools"],
        # A new message that is blank, in a format that takes none, is left out and named.
        "nothing to say": bool(found["messages"] or certificate["losses"]),
    }
    broken = [what for what, holds in rules.items() if not holds]
    if certificate["tool_pairs_intact"]:
        broken += [f"a provider would refuse it: {fault}" for fault in check_pairs(found["messages"], wire)]
    return broken


def _hidden(found: dict[str, Any], promised: Promised, live: list[int]) -> list[str]:
    """Every stored message is in the window, in the summary, or named among what was left out."""
    certificate = found["certificate"]
    tail, covers = certificate["tail"], certificate["summary_covers"]
    told = [tuple(map(int, match.groups())) for match in _told(certificate)]
    spans = [*told, *([tuple(tail)] if tail else []), *([tuple(covers)] if covers else [])]
    repaired = {int(match[1]) for match in map(_LEFT_OUT.match, certificate["repairs"]) if match}
    shown = [seq for seq in live if seq in repaired or any(a <= seq <= b for a, b in spans)]
    missing = sorted(set(live) - set(shown))
    if missing and not promised.is_cut:
        return [f"hides messages {missing[:20]} of {promised.session_id!r}"]
    return []


def _names_steps(certificate: dict[str, Any]) -> bool:
    """Whether steps of a turn are named as left out, behind the first message that the window shows."""
    tail = certificate["tail"]
    return bool(tail) and any(int(match[1]) > tail[0] for match in _told(certificate))


def _told(certificate: dict[str, Any]) -> list[re.Match[str]]:
    return [match for left in certificate["excluded"] if (match := _MESSAGES.search(left["what"]))]

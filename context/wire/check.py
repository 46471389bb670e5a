"""One validator per format for the array that goes out, as strict as the provider about order and pairs."""

from collections.abc import Callable, Sequence

from context.errors import InvalidInputError
from context.types import JsonObject, Wire
from context.wire import anthropic, openai, responses
from context.wire.facts import MessageFacts

_MODEL_MADE_SUFFIXES = (
    "_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "reasoning",
    "compaction",
    "item_reference",
)


def check_pairs(items: Sequence[JsonObject], wire: Wire) -> list[str]:
    """List what a provider would refuse in the order and the pairs of an outgoing array.

    Args:
        items: Decoded messages or items.
        wire: Their format.

    Returns:
        One sentence a fault, each beginning with its place, as in `messages[3]: …`; empty if it can be sent.
    """
    try:
        return _CHECKS[wire](items)
    except InvalidInputError as error:
        return [error.message]


def check_openai(items: Sequence[JsonObject]) -> list[str]:
    """Every call is answered, once, by the tool messages directly behind it."""
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
    faults: list[str] = []
    pending: set[str] = set()
    server_calls: set[str] = set()
    seen: set[str] = set()
    last = "assistant"
    for i, body in enumerate(items):
        facts = anthropic.describe(body, f"messages[{i}]")
        role = body["role"]
        if role == "system":
            continue
        where = f"messages[{i}]"
        if not body["content"]:
            faults.append(f"{where}: is empty")
        if role == last:
            faults.append(f"{where}: role {role} where the other one must speak")
        last = role
        if role == "assistant":
            faults += [f"{where}: comes before the answer to {call_id!r}" for call_id in sorted(pending)]
            faults += [f"{where}: answers no call: {a!r}" for a in facts.answer_ids if a not in server_calls]
            faults += [
                f"{where}: the id {call_id!r} was used before"
                for call_id in facts.call_ids
                if call_id in seen
            ]
            seen.update(facts.call_ids)
            pending, opened = _split(body, facts)
            server_calls = (server_calls - set(facts.answer_ids)) | opened
        else:
            faults += _check_answers(body, facts, pending, where)
            pending = set()
    open_calls = sorted(pending | server_calls)
    return faults + [
        f"messages[{len(items)}]: the answer to {call_id!r} is missing" for call_id in open_calls
    ]


def _split(body: JsonObject, facts: MessageFacts) -> tuple[set[str], set[str]]:
    """Part a message's open calls: those that the client answers, those that the provider does."""
    blocks = body["content"] if isinstance(body["content"], list) else []
    client = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return client, set(facts.call_ids) - client


def _check_answers(body: JsonObject, facts: MessageFacts, pending: set[str], where: str) -> list[str]:
    faults = [
        f"{where}: the answer to {call_id!r} is missing"
        for call_id in sorted(pending - set(facts.answer_ids))
    ]
    faults += [
        f"{where}: answers no call of the message before it: {a!r}"
        for a in facts.answer_ids
        if a not in pending
    ]
    if facts.answer_ids:
        results = [block["type"] == "tool_result" for block in body["content"]]
        if results != sorted(results, reverse=True):
            faults.append(f"{where}: a tool result stands behind other content")
    return faults


def check_responses(items: Sequence[JsonObject]) -> list[str]:
    """Outputs follow their calls, one each; reasoning stays with the item that it led to."""
    faults: list[str] = []
    waiting: dict[str, int] = {}
    for i, body in enumerate(items):
        facts = responses.describe(body, f"input[{i}]")
        orphans = [a for a in facts.answer_ids if waiting.pop(a, None) is None]
        faults += [f"input[{i}]: answers no open call: {answer_id!r}" for answer_id in orphans]
        for call_id in facts.call_ids:
            if call_id in waiting:
                faults.append(f"input[{i}]: the call {call_id!r} is open already")
            waiting[call_id] = i
        if body.get("type") == "reasoning" and not _made_by_model(items[i + 1 :]):
            faults.append(f"input[{i}]: reasoning without the item that it led to")
    return faults + [f"input[{at}]: the call {call_id!r} is not answered" for call_id, at in waiting.items()]


def _made_by_model(rest: Sequence[JsonObject]) -> bool:
    """Whether the next item is one that the model made, as what follows its reasoning must be."""
    if not rest:
        return False
    kind = responses.item_type(rest[0], "item")
    return rest[0].get("role") == "assistant" if kind == "message" else kind.endswith(_MODEL_MADE_SUFFIXES)


_CHECKS: dict[Wire, Callable[[Sequence[JsonObject]], list[str]]] = {
    Wire.OPENAI: check_openai,
    Wire.ANTHROPIC: check_anthropic,
    Wire.RESPONSES: check_responses,
}

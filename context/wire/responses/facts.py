"""Facts of an OpenAI Responses input item. An item counts as a message."""

from collections.abc import Sequence

from context.errors import InvalidInputError
from context.types import JsonObject, Role
from context.wire.facts import Limits, MessageFacts, kind_of, need_content, need_parts, need_role, need_text

LIMITS = Limits(id_chars=64, name_chars=64)

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
NAMED_CALLS = frozenset({"function_call", "custom_tool_call"})
MUST_PAIR = frozenset({"function_call", "custom_tool_call", "computer_call"})
"""Calls paired with outputs by `call_id` only; other calls may be internal to the provider."""

COMPACTIONS = frozenset({"compaction", "compaction_summary"})
"""Types of items that stand for everything before; an older client wrote the second."""

REASONING = '"reasoning"'
"""Text present in every reasoning item, and in few other items."""

_MODEL_MADE_SUFFIXES = (
    "_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "reasoning",
    "compaction",
    "compaction_summary",
    "item_reference",
)


def describe(body: JsonObject, path: str) -> MessageFacts:
    """Read the facts of a Responses item; see `context.wire.describe`."""
    kind = item_type(body, path)
    if kind == "message":
        role = ROLES[need_role(body, ROLES, path)]
        need_content(body, path)
        return MessageFacts(role)
    if is_answer_type(kind):
        return MessageFacts(Role.TOOL, answer_ids=_answer_ids(body, kind, path))
    if kind == "item_reference":
        need_text(body, "id", path)
    if kind in NAMED_CALLS:
        need_text(body, "name", path)
    role = ROLES.get(str(body.get("role")), Role.ASSISTANT)
    return MessageFacts(role, call_ids=_call_ids(body, kind, path), compacts=is_compaction(body))


def item_type(body: JsonObject, path: str) -> str:
    """Name an item's type; without a type, a message, or a reference if only an id is present.

    Raises:
        InvalidInputError: The type is not a string.
    """
    kind = body.get("type")
    if kind is None:
        return "item_reference" if set(body) - {"type"} == {"id"} else "message"
    if not isinstance(kind, str):
        raise InvalidInputError(f"{path}.type", f"must be a string, not {kind_of(kind)}")
    return need_text(body, "type", path)


def is_compaction(body: JsonObject) -> bool:
    """Tell whether an item stands for everything before."""
    sealed = body.get("encrypted_content")
    return body.get("type") in COMPACTIONS and isinstance(sealed, str) and bool(sealed)


def is_answer_type(kind: str) -> bool:
    """Tell whether items of the type answer a call."""
    return kind.endswith("_call_output") or kind in {"tool_search_output", "mcp_approval_response"}


def runs_at_provider(body: JsonObject) -> bool:
    """Tell whether the provider answers the call itself, so that no output is needed."""
    return body.get("execution") == "server" or body.get("call_id") is None


def loose_reasoning(items: Sequence[JsonObject]) -> set[int]:
    """Find reasoning without a following item, as in an aborted turn: a provider refuses such reasoning.

    Args:
        items: Decoded items, in sending order.

    Returns:
        Places of reasoning items without a following item of the model, once all such reasoning is removed.
    """
    loose: set[int] = set()
    led_on = False
    for place in reversed(range(len(items))):
        kind = item_type(items[place], f"input[{place}]")
        if kind == "reasoning" and not led_on:
            loose.add(place)
        else:
            by_model = kind.endswith(_MODEL_MADE_SUFFIXES)
            led_on = items[place].get("role") == "assistant" if kind == "message" else by_model
    return loose


def _call_ids(body: JsonObject, kind: str, path: str) -> tuple[str, ...]:
    if kind in MUST_PAIR:
        return (need_text(body, "call_id", path),)
    if kind == "mcp_approval_request":
        return (need_text(body, "id", path),)
    if not kind.endswith("_call") or runs_at_provider(body):
        return ()
    return (need_text(body, "call_id", path),)


def _answer_ids(body: JsonObject, kind: str, path: str) -> tuple[str, ...]:
    if kind == "mcp_approval_response":
        return (need_text(body, "approval_request_id", path),)
    if kind == "function_call_output":
        _check_output(body, path)
    if kind == "tool_search_output" and runs_at_provider(body):
        return ()
    key = "call_id" if "call_id" in body or kind != "local_shell_call_output" else "id"
    return (need_text(body, key, path),)


def _check_output(body: JsonObject, path: str) -> None:
    if "output" not in body:
        raise InvalidInputError(f"{path}.output", "is missing; it must be a string or a list of parts")
    if not isinstance(body["output"], str):
        need_parts(body["output"], f"{path}.output")

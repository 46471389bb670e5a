"""Facts of an OpenAI chat message."""

from context.errors import InvalidInputError
from context.types import JsonObject, Role
from context.wire.facts import (
    Limits,
    MessageFacts,
    kind_of,
    need_content,
    need_distinct,
    need_object,
    need_role,
    need_text,
)

LIMITS = Limits(id_chars=40, name_chars=64)

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def describe(body: JsonObject, path: str) -> MessageFacts:
    """Read the facts of a chat message; see `context.wire.describe`."""
    name = need_role(body, ROLES, path)
    role = ROLES[name]
    if role is not Role.ASSISTANT or body.get("content") is not None:
        need_content(body, path)
    if name == "tool":
        return MessageFacts(role, answer_ids=(need_text(body, "tool_call_id", path),))
    if name == "function":
        return MessageFacts(role, answer_ids=(legacy_id(need_text(body, "name", path)),))
    calls = call_ids(body, path) if role is Role.ASSISTANT else ()
    return MessageFacts(role, call_ids=calls, speaker=speaker(body, role, path))


def call_ids(body: JsonObject, path: str) -> tuple[str, ...]:
    """List the ids of a message's tool calls, the older single function call included.

    Raises:
        InvalidInputError: A call is malformed, or two share an id.
    """
    calls = body.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise InvalidInputError(f"{path}.tool_calls", f"must be a list, not {kind_of(calls)}")
    ids = [_call_id(call, f"{path}.tool_calls[{i}]") for i, call in enumerate(calls or [])]
    if body.get("function_call") is not None:
        where = f"{path}.function_call"
        ids.append(legacy_id(need_text(need_object(body["function_call"], where), "name", where)))
    return need_distinct(ids, f"{path}.tool_calls")


def says_nothing(body: JsonObject) -> bool:
    """Tell whether a message has no content for the provider, as after an aborted answer."""
    return _is_blank(body.get("content")) and not any(
        body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio")
    )


def _is_blank(content: object) -> bool:
    if isinstance(content, list):
        return all(part.get("type") == "text" and not str(part.get("text") or "").strip() for part in content)
    return content is None or (isinstance(content, str) and not content.strip())


def legacy_id(function: str) -> str:
    """Make an id for a call of the older shape, paired by function name."""
    return f"function_call:{function}"


def speaker(body: JsonObject, role: Role, path: str) -> str | None:
    """Read the speaker's name of a user or assistant message.

    Raises:
        InvalidInputError: The name is not a string.
    """
    name = body.get("name")
    if role is Role.SYSTEM or name is None:
        return None
    if not isinstance(name, str):
        raise InvalidInputError(f"{path}.name", f"must be a string, not {kind_of(name)}")
    return name or None


def _call_id(call: object, path: str) -> str:
    """Check a tool call; types other than function and custom need an id only."""
    body = need_object(call, path)
    call_id = need_text(body, "id", path)
    kind = body.get("type") or "function"
    for shape in ("function", "custom"):
        if kind == shape:
            need_text(need_object(body.get(shape), f"{path}.{shape}"), "name", f"{path}.{shape}")
    return call_id

"""Facts of a message for the core, and checks shared by all wire formats."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from context.errors import InvalidInputError
from context.types import JsonObject, Role


@dataclass(frozen=True)
class Limits:
    """Limits of a format.

    Attributes:
        id_chars: Longest id of a call.
        name_chars: Longest name of a tool.
        has_plain_ids: True if ids consist of letters, digits, `_` and `-`.
    """

    id_chars: int
    name_chars: int
    has_plain_ids: bool = False


@dataclass(frozen=True)
class MessageFacts:
    """Facts of a message, independent of its wire format.

    Attributes:
        role: The author's role.
        call_ids: Ids of tool calls made and not answered in the message, in order.
        answer_ids: Ids of tool calls answered and not made in the message, in order.
        speaker: The speaker's name from the platform, else None.
        compacts: True if the message holds a provider's compaction, which stands for everything before.
    """

    role: Role
    call_ids: tuple[str, ...] = ()
    answer_ids: tuple[str, ...] = ()
    speaker: str | None = None
    compacts: bool = False


def need_object(value: object, path: str) -> JsonObject:
    """Return the value if it is a JSON object.

    Raises:
        InvalidInputError: The value has another type.
    """
    if not isinstance(value, dict):
        raise InvalidInputError(path, f"must be an object, not {kind_of(value)}")
    return value


def need_text(body: JsonObject, key: str, path: str) -> str:
    """Return a required non-empty string field.

    Raises:
        InvalidInputError: The field is missing, empty or of another type.
    """
    value = body.get(key)
    if key not in body:
        raise InvalidInputError(f"{path}.{key}", "is missing; it must be a string")
    if not isinstance(value, str):
        raise InvalidInputError(f"{path}.{key}", f"must be a string, not {kind_of(value)}")
    if not value:
        raise InvalidInputError(f"{path}.{key}", "must not be empty")
    return value


def need_role(body: JsonObject, allowed: Iterable[str], path: str) -> str:
    """Return the role if known in the wire format.

    Raises:
        InvalidInputError: The role is missing, of another type, or unknown; the message lists the allowed
            roles.
    """
    names = ", ".join(allowed)
    role = body.get("role")
    if "role" not in body:
        raise InvalidInputError(f"{path}.role", f"is missing; allowed: {names}")
    if not isinstance(role, str):
        raise InvalidInputError(f"{path}.role", f"must be a string, not {kind_of(role)}; allowed: {names}")
    if role not in allowed:
        raise InvalidInputError(f"{path}.role", f"{role[:40]!r} is unknown; allowed: {names}")
    return role


def need_parts(value: object, path: str) -> list[JsonObject]:
    """Return a list of content parts, each an object with a type; unknown types pass.

    Raises:
        InvalidInputError: The value is not a list, a part is not an object, or a part has no type.
    """
    if not isinstance(value, list):
        raise InvalidInputError(path, f"must be a string or a list of parts, not {kind_of(value)}")
    for i, part in enumerate(value):
        need_text(need_object(part, f"{path}[{i}]"), "type", f"{path}[{i}]")
    return value


def need_content(body: JsonObject, path: str) -> list[JsonObject]:
    """Return the content's parts; a string has none.

    Raises:
        InvalidInputError: The content is missing, or neither a string nor a list of parts.
    """
    if "content" not in body:
        raise InvalidInputError(f"{path}.content", "is missing; it must be a string or a list of parts")
    content = body["content"]
    return [] if isinstance(content, str) else need_parts(content, f"{path}.content")


def need_distinct(ids: Sequence[str], path: str) -> tuple[str, ...]:
    """Return the ids if no id occurs twice: an answer must have a unique call.

    Raises:
        InvalidInputError: An id is used again in the same message.
    """
    for name, times in Counter(ids).items():
        if times > 1:
            raise InvalidInputError(path, f"the id {name[:80]!r} is used {times} times in one message")
    return tuple(ids)


def kind_of(value: object) -> str:
    """Name a JSON value's type in JSON terms."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")

"""A wire format as a value: facts of a message, functions of a provider's shape, letters of names."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from context.errors import InvalidInputError
from context.tokens.families import ModelFamily
from context.types import JsonObject, Message, Role, Wire
from context.wire.neutral import Content, ConvertedWindow, LossKind, NeutralEntry


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


def need_role(body: JsonObject, allowed: Collection[str], path: str) -> str:
    """Return the role if known in the wire format.

    Raises:
        InvalidInputError: The role is missing, of another type, or unknown; the message lists the allowed
            roles.
    """
    role = body.get("role")
    if isinstance(role, str) and role in allowed:
        return role
    names = ", ".join(allowed)
    if "role" not in body:
        raise InvalidInputError(f"{path}.role", f"is missing; allowed: {names}")
    if not isinstance(role, str):
        raise InvalidInputError(f"{path}.role", f"must be a string, not {kind_of(role)}; allowed: {names}")
    raise InvalidInputError(f"{path}.role", f"{role[:40]!r} is unknown; allowed: {names}")


def need_parts(value: object, path: str) -> list[JsonObject]:
    """Return a list of content parts, each an object with a type; unknown types pass.

    Raises:
        InvalidInputError: The value is not a list, a part is not an object or has no type, or a text is none.
    """
    if not isinstance(value, list):
        raise InvalidInputError(path, f"must be a string or a list of parts, not {kind_of(value)}")
    for i, part in enumerate(value):
        kind = need_text(need_object(part, f"{path}[{i}]"), "type", f"{path}[{i}]")
        text = part.get("text")
        if kind in _TEXTS and not (text is None or isinstance(text, str)):
            raise InvalidInputError(f"{path}[{i}].text", f"must be a string, not {kind_of(text)}")
    return value


_TEXTS = frozenset({"text", "input_text", "output_text"})


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


_FOREIGN_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_LENGTH = 8


def shape_name(name: str, length: int) -> str:
    """Adapt a name or an id: letters, digits, `_` and `-`, limited in length; a valid name stays."""
    clean = _FOREIGN_CHARACTER.sub("_", name)
    if clean == name and 0 < len(name) <= length:
        return name
    # The digest keeps two names apart that differ in the replaced characters only.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{clean[: length - _DIGEST_LENGTH - 1]}_{digest}"


Keep = Callable[[object], bool]
"""A filter of ids, called for each id of a message in order."""


@dataclass(frozen=True)
class CompactionParts:
    """A message cut at its last compaction.

    Attributes:
        item: The compaction alone, as a message.
        before: The content before; None for none.
        after: The content after, still needed; None for none.
    """

    item: JsonObject
    before: JsonObject | None = None
    after: JsonObject | None = None


@dataclass(frozen=True)
class ToolFormat:
    """Definitions of tools in a format.

    Attributes:
        write: Write a function from its name and description, its schema, and `strict` if known.
        write_free: Write a tool that takes free text; None if the format has no such tools.
        is_native: Say whether a definition of a function or a free tool has the format's shape.
        is_own: Say whether the format's provider runs tools of a type.
        own_families: Other families whose servers in the chat format take tools of such types.
        has_strict: True if a definition may be strict.
    """

    write: Callable[[JsonObject, JsonObject, bool | None], JsonObject]
    write_free: Callable[[JsonObject], JsonObject] | None
    is_native: Callable[[JsonObject], bool]
    is_own: Callable[[str], bool]
    own_families: frozenset[ModelFamily]
    has_strict: bool


@dataclass(frozen=True)
class Format:
    """A wire format. `context.wire.formats` lists all of them.

    Attributes:
        wire: Name of the format.
        describe: Read the facts of an incoming message.
        read: Read a checked message into the neutral form.
        read_part: Read a part of a message's content into the neutral form.
        parts: Types of parts of a message's content.
        write: Write paired and ordered entries of the neutral form.
        check: List faults in the order and pairs of an outgoing array.
        edit: Keep the chosen calls and results of a message; None if nothing sendable is left.
        is_told: Say whether a message has content that the provider accepts.
        limits: Limits of ids and names.
        tools: Definitions of tools.
        id_keys: Fields with the id of a call; the last one names the answered call.
        user_text: Type of a part with a user's words.
        model_text: Type of a part with a model's words.
        result_key: Field of a result's output; None if results are blocks of the content.
        pairs_by_facts: Say by the facts alone whether calls and results pair; after a "no", `check` decides.
        find_silent: Find the places of stored messages that the provider would not take back.
        silent_loss: Record of a message left out as silent.
        cut_compaction: Cut a message at its last compaction; None for a message without any.
        compaction_maker: Family of the compactions of models that nobody named.
        is_chat: True for chat completions, the format in which models of every family are served.
        is_list_of_items: True if a message is one of words, a call or a result, and results may stand apart.
        merges_roles: True if neighbours of one role become a single message, so that windows are rewritten.
        has_unique_ids: True if the id of a call may occur once only in a window.
        has_system_apart: True if the system prompt stands beside the messages.
        has_cache_marks: True if marks in messages say where a cached prefix ends.
    """

    wire: Wire
    describe: Callable[[JsonObject, str], MessageFacts]
    read: Callable[[Message], list[NeutralEntry]]
    read_part: Callable[[JsonObject], list[Content]]
    parts: frozenset[str]
    write: Callable[[Sequence[NeutralEntry]], ConvertedWindow]
    check: Callable[[Sequence[JsonObject]], list[str]]
    edit: Callable[[JsonObject, Keep, Keep], JsonObject | None]
    is_told: Callable[[JsonObject], bool]
    limits: Limits
    tools: ToolFormat
    id_keys: tuple[str, ...]
    user_text: str
    model_text: str
    result_key: str | None
    pairs_by_facts: Callable[[Sequence[Message]], bool]
    find_silent: Callable[[Sequence[Message]], set[int]]
    silent_loss: tuple[LossKind, str]
    cut_compaction: Callable[[JsonObject], CompactionParts | None] = lambda _: None
    compaction_maker: ModelFamily | None = None
    is_chat: bool = False
    is_list_of_items: bool = False
    merges_roles: bool = False
    has_unique_ids: bool = False
    has_system_apart: bool = False
    has_cache_marks: bool = False

    def fit_name(self, name: str, *, letter_first: bool = False) -> str:
        """Adapt a tool's name to the format, beginning with a letter or `_` if asked; a valid name stays."""
        fitted = shape_name(name, self.limits.name_chars)
        is_begun = not letter_first or fitted[:1].isalpha() or fitted.startswith("_")
        return fitted if is_begun else shape_name(f"_{name}", self.limits.name_chars)

    def fit_id(self, call_id: str) -> str:
        """Adapt a call's id to the format; a valid id stays."""
        return shape_name(call_id, self.limits.id_chars)

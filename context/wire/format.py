"""A wire format as a value: the facts and functions of one provider's shape of messages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context.tokens.families import ModelFamily
from context.types import JsonObject, Message, Wire
from context.wire.facts import Limits, MessageFacts
from context.wire.names import shape_name
from context.wire.neutral import Content, ConvertedWindow, LossKind, NeutralEntry

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

    def fit_name(self, name: str) -> str:
        """Adapt a tool's name to the format; a valid name stays."""
        return shape_name(name, self.limits.name_chars)

    def fit_id(self, call_id: str) -> str:
        """Adapt a call's id to the format; a valid id stays."""
        return shape_name(call_id, self.limits.id_chars)

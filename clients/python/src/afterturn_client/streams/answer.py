"""The common form of an answer, and the reading of objects as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = dict[str, Any]
Wire = Literal["openai", "anthropic", "responses"]


@dataclass(frozen=True)
class ToolCall:
    """A tool call of a model.

    Attributes:
        id: The id that the result must name.
        name: The tool's name.
        arguments: The arguments as JSON text; the text itself for a free-form tool.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Answer:
    """A model's answer.

    Attributes:
        wire: The format of `messages`.
        messages: Messages for the log.
        text: The words of the answer.
        calls: Tool calls that wait for results.
        usage: The provider's usage report, as it came; None if the answer has none.
        model: The model that answered.
        finish: The provider's reason for the end; None if the answer broke off.
        complete: False if the stream broke off.
    """

    wire: Wire
    messages: list[Json] = field(default_factory=list)
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    usage: Json | None = None
    model: str | None = None
    finish: str | None = None
    complete: bool = True


class Accumulator(Protocol):
    """Puts the events of a stream together."""

    def feed(self, event: Json) -> None:
        """Take the next event."""

    def answer(self) -> Answer:
        """Build the answer of all events so far; without the last event, `complete` is False."""


def plain(value: Any) -> Any:
    """Read an object of a provider's library as JSON: a dict, a model of pydantic, or an object's members."""
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    if isinstance(value, (str, int, float, bool, list)) or value is None:
        return value
    members = getattr(value, "__dict__", None)
    if not isinstance(members, dict):
        raise TypeError(f"a {type(value).__name__} is no answer of a known provider")
    return {key: plain(member) for key, member in members.items() if not key.startswith("_")}


def without_empty(message: Mapping[str, Any]) -> Json:
    """Leave out members without a value: a provider refuses some of them when the message is sent back."""
    return {key: value for key, value in message.items() if value is not None and value != []}

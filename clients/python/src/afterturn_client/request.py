"""The next request to a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from afterturn_client.models import Context
from afterturn_client.streams.answer import Json, Wire

_STREAM_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass(frozen=True)
class Request:
    """The messages and tools of the next request to a model.

    Attributes:
        wire: The format.
        messages: Messages to send.
        tools: Tools to send; None to leave the field out.
        system: The system prompt in the format of Anthropic; None elsewhere.
        max_tokens: The output limit, in tokens; None if unknown.
        context: The whole answer of the service; None if degraded.
        reason: Why the service did not serve; None if it did.
    """

    wire: Wire
    messages: list[Json]
    tools: list[Json] | None = None
    system: Any = None
    max_tokens: int | None = None
    context: Context | None = None
    reason: str | None = None

    @property
    def degraded(self) -> bool:
        """True if the messages are those held by the client, because the service is away."""
        return self.context is None

    def kwargs(self, *, stream: bool = False) -> dict[str, Any]:
        """Return arguments for the provider's library, beside the model's name.

        Args:
            stream: Whether to ask for a stream, with usage at its end.

        Returns:
            `messages` and `tools` for chat completions; `input` and `tools` for Responses; `messages`,
            `tools`, `system` and the required `max_tokens` for Anthropic.
        """
        given: dict[str, Any] = {"input" if self.wire == "responses" else "messages": self.messages}
        if self.tools:
            given["tools"] = self.tools
        if self.wire == "anthropic":
            given["max_tokens"] = self.max_tokens or 1_024
            if self.system:
                given["system"] = self.system
        if stream:
            given.update(_STREAM_USAGE if self.wire == "openai" else {"stream": True})
        return given

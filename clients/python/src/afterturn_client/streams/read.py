"""Reads any answer: finds the provider's format by the shape."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any

from afterturn_client.streams.answer import Accumulator, Answer, Json, Wire, plain
from afterturn_client.streams.anthropic import MessageStream
from afterturn_client.streams.anthropic import read_message as read_anthropic
from afterturn_client.streams.openai_chat import ChatStream, read_completion
from afterturn_client.streams.openai_chat import read_message as read_openai
from afterturn_client.streams.openai_responses import ResponsesStream, read_response

_ACCUMULATORS: dict[Wire, type[Accumulator]] = {
    "openai": ChatStream,
    "anthropic": MessageStream,
    "responses": ResponsesStream,
}


def is_stream(value: Any) -> bool:
    """Tell whether a value yields events one by one."""
    if isinstance(value, (Mapping, str, bytes, list, tuple)) or hasattr(value, "model_dump"):
        return False
    return isinstance(value, (Iterable, AsyncIterable))


def read_answer(value: Any, wire: Wire) -> Answer:
    """Read a whole answer, or a message of the log's own format.

    Args:
        value: An answer of a provider's library, its JSON, a message, or a list of messages.
        wire: The format of the conversation.

    Raises:
        TypeError: The value is of no known shape.
        ValueError: The value is of another format than the conversation.
    """
    if isinstance(value, (list, tuple)):
        return _read_messages([plain(item) for item in value], wire)
    body = plain(value)
    if not isinstance(body, dict):
        raise TypeError(f"a {type(value).__name__} is no answer of a known provider")
    found = _read_body(body, wire)
    if found.wire != wire:
        raise ValueError(
            f"the answer is of the format {found.wire!r} and the chat of {wire!r}: make the chat with "
            f"wire={found.wire!r}"
        )
    return found


def _read_body(body: Json, wire: Wire) -> Answer:
    if "choices" in body:
        return read_completion(body)
    if body.get("object") == "response":
        return read_response(body)
    if body.get("type") == "message" and "stop_reason" in body:
        return read_anthropic(body)
    return _read_messages([body], wire)


def _read_messages(messages: list[Json], wire: Wire) -> Answer:
    """Read messages in the log's format: kept as they are, calls found."""
    if wire == "responses":
        return read_response({"output": messages})
    read = [
        read_anthropic(message) if wire == "anthropic" else read_openai(message)
        for message in messages
        if message.get("role") == "assistant"
    ]
    return Answer(
        wire, messages, "".join(one.text for one in read), [call for one in read for call in one.calls]
    )


class StreamReader:
    """Reads a stream of events, whichever library yields them."""

    def __init__(self, wire: Wire) -> None:
        """Begin without any event."""
        self._wire = wire
        self._accumulator = _ACCUMULATORS[wire]()
        self._count = 0

    def feed(self, event: Any) -> None:
        """Take the next event.

        Raises:
            ValueError: The first event is of another format than the conversation.
        """
        body = plain(event)
        if not isinstance(body, dict):
            raise TypeError(f"a {type(event).__name__} is no event of a known provider")
        self._count += 1
        if self._count == 1 and _wire_of(body) not in (self._wire, None):
            raise ValueError(
                f"the stream is of the format {_wire_of(body)!r} and the chat of {self._wire!r}: make the "
                f"chat with wire={_wire_of(body)!r}"
            )
        self._accumulator.feed(body)

    def answer(self) -> Answer:
        """Build the answer of all events so far."""
        return self._accumulator.answer()


def _wire_of(event: Mapping[str, Any]) -> Wire | None:
    if "choices" in event:
        return "openai"
    kind = str(event.get("type") or "")
    if kind.startswith("response."):
        return "responses"
    return "anthropic" if kind in ("message_start", "ping") else None

"""A turn in two colours: a context manager that records the turn at the end of its block."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from afterturn_client._chat import TurnCore
from afterturn_client._flow import AsyncShell, Background, BlockingShell, awaited, blocking
from afterturn_client.models import Recorded
from afterturn_client.streams.answer import Answer, Json, ToolCall
from afterturn_client.streams.read import is_stream, read_answer

if TYPE_CHECKING:
    from typing_extensions import Self

Event = TypeVar("Event")


class _TurnView:
    """Members of a turn that need no connection."""

    _core: TurnCore

    @property
    def turn_id(self) -> str:
        """The turn's id, stable over all attempts."""
        return self._core.turn_id

    @property
    def messages(self) -> list[Json]:
        """The messages of the turn so far."""
        return self._core.messages

    @property
    def answer(self) -> Answer | None:
        """The last answer of the model."""
        return self._core.answer

    @property
    def text(self) -> str:
        """The words of the last answer."""
        return self._core.answer.text if self._core.answer else ""

    @property
    def calls(self) -> list[ToolCall]:
        """Tool calls of the last answer that still lack a result."""
        return self._core.calls

    @property
    def is_open(self) -> bool:
        """True if a model must answer, or answer on: `while turn.is_open`."""
        return self._core.is_open

    @property
    def usage(self) -> Json | None:
        """The usage report of the last answer."""
        return self._core.usage

    @property
    def recorded(self) -> Recorded | None:
        """The receipt; None before the block ends."""
        return self._core.recorded

    @property
    def abandoned(self) -> bool:
        """True if the turn ended before its answer was whole."""
        return self._core.abandoned

    def discard(self) -> None:
        """Record nothing of this turn."""
        self._core.discard()

    def add_tool_result(self, call_id: str, content: Any, *, is_error: bool = False) -> Json:
        """Add the result of a tool call: text, or parts of the format."""
        return self._core.add_tool_result(call_id, content, is_error=is_error)


class Turn(_TurnView, BlockingShell[TurnCore]):
    """A turn; as a context manager the turn is recorded at the end of the block."""

    request = blocking(TurnCore.request)
    compress = blocking(TurnCore.compress)

    def add(self, answer: Any) -> Answer:
        """Add an answer: whole, as JSON, as messages, or as a stream, read to the end."""
        if not is_stream(answer):
            return self._core.add(read_answer(answer, self._core.chat.wire))
        reader = self._core.begin_stream()
        for event in answer:
            reader.feed(event)
        return self._core.end_stream(reader)

    def stream(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass the events of a stream on, and add the answer at the end of the stream."""
        reader = self._core.begin_stream()
        try:
            for event in events:
                reader.feed(event)
                yield event
        finally:
            self._core.end_stream(reader)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._runner.run(self._core.finish(abandoned=kind is not None))
        except Exception:
            if error is None:
                raise


class AsyncTurn(_TurnView, AsyncShell[TurnCore]):
    """A turn; as an asynchronous context manager the turn is recorded at the end of the block."""

    request = awaited(TurnCore.request)
    compress = awaited(TurnCore.compress)

    async def add(self, answer: Any) -> Answer:
        """Add an answer: whole, as JSON, as messages, or as a stream, read to the end."""
        if not is_stream(answer):
            return self._core.add(read_answer(answer, self._core.chat.wire))
        reader = self._core.begin_stream()
        async for event in _events(answer):
            reader.feed(event)
        return self._core.end_stream(reader)

    async def stream(self, events: AsyncIterable[Event] | Iterable[Event]) -> AsyncIterator[Event]:
        """Pass the events of a stream on, and add the answer at the end of the stream."""
        reader = self._core.begin_stream()
        try:
            async for event in _events(events):
                reader.feed(event)
                yield event
        finally:
            self._core.end_stream(reader)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client = self._core.chat.client
        try:
            if error is None or isinstance(error, Exception):
                await self._runner.run(self._core.finish(abandoned=kind is not None))
            else:  # cancelled: nothing may be awaited now
                self._core.post()
        except Exception:
            if error is None:
                raise
        finally:
            if client.outbox.has():
                self._runner.start(Background(client.empty_outbox))


async def _events(events: AsyncIterable[Event] | Iterable[Event]) -> AsyncIterator[Event]:
    if isinstance(events, AsyncIterable):
        async for event in events:
            yield event
    else:
        for event in events:
            yield event

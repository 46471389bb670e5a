"""Cores of a chat and of a turn: contexts, answers and records, without any input or output."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from afterturn_client._caller import Call, Repeat
from afterturn_client._changes import HistoryCalls
from afterturn_client._client import ClientCore
from afterturn_client._flow import Flow
from afterturn_client._paths import path_of, without_none
from afterturn_client._wires import (
    cut_turns,
    estimate_tokens,
    open_calls,
    tool_result,
    user_messages,
)
from afterturn_client.errors import UnavailableError
from afterturn_client.models import (
    Attachment,
    Context,
    Receipt,
    Recorded,
    SessionState,
    SummaryList,
    TurnPage,
)
from afterturn_client.request import Request
from afterturn_client.streams.answer import Answer, Json, ToolCall, Wire
from afterturn_client.streams.read import StreamReader

log = logging.getLogger("afterturn_client")

_WINDOW, _MOST_OUTPUT, _OVERHEAD = 16_384, 4_096, 64
"""Assumed by a degraded request, in tokens, where neither the caller nor the service told more."""

_ERROR_CHARS = 20_000


class ChatCore(HistoryCalls):
    """A session of a client."""

    def __init__(
        self, client: ClientCore, session_id: str, *, model: str, wire: Wire, defaults: Mapping[str, Any]
    ) -> None:
        """Send nothing yet."""
        self.client, self.session_id = client, session_id
        self.model, self.wire = model, wire
        self.defaults = without_none(defaults)

    def hold(self, history: Sequence[Mapping[str, Any]]) -> None:
        """Hold a history that the platform has, for the time that the service is away."""
        turns = cut_turns([dict(message) for message in history], self.wire)
        self.client.held.fill(self.session_id, turns, self.wire)

    def context(self, /, messages: Sequence[Mapping[str, Any]], **fields: Any) -> Flow[Context]:
        """Read the window of the next request.

        Args:
            messages: The new messages.
            fields: Other members of the request, as the API names them.

        Raises:
            OverBudgetError: The parts that must be sent are larger than the budget.
            UnavailableError: The service does not serve.
        """
        call = Call("POST", self._path("context"), self._body(messages, fields))
        wait_s = float(fields.get("wait_ms") or 0) / 1_000
        timeout_s = self.client.options.context_timeout_s + wait_s
        reply = yield from self.client.caller.call(call, timeout_s=timeout_s, in_chat=True)
        found = Context.model_validate_json(reply.content)
        self.client.windows[self.model] = found.certificate.context_window
        self.client.held.fill(self.session_id, cut_turns(found.messages, self.wire)[:-1], self.wire)
        return found

    def compress(self, /, error: Any, messages: Sequence[Mapping[str, Any]], **fields: Any) -> Flow[Context]:
        """Read a smaller window after the provider refused the last.

        Args:
            error: The provider's error: an exception, a text, or JSON.
            messages: The new messages, as in the refused request.
            fields: Other members of the request, as the API names them.

        Raises:
            RefusedError: The error tells of no overflow, or nothing is left to leave out.
            UnavailableError: The service does not serve.
        """
        told = error if isinstance(error, (str, dict)) else str(error)
        body = self._body(
            messages, {**fields, "error": told[:_ERROR_CHARS] if isinstance(told, str) else told}
        )
        call = Call("POST", self._path("compress"), body, repeat=Repeat.IF_UNSENT)
        return (yield from self.client.caller.read(Context, call))

    def record(
        self, /, messages: Sequence[Mapping[str, Any]], *, turn_id: str | None = None, **fields: Any
    ) -> Flow[Recorded]:
        """Store a finished turn.

        Args:
            messages: The messages of the turn.
            turn_id: The turn's id, which makes a second delivery harmless; None for a new id.
            fields: Other members of the event, as the API names them.

        Returns:
            The receipt; `queued` if the service is away, and the turn is sent later.

        Raises:
            RefusedError: The service refused the turn.
        """
        return (yield from self.client.record(self.session_id, self.event(messages, turn_id, fields)))

    def event(
        self, messages: Sequence[Mapping[str, Any]], turn_id: str | None, fields: Mapping[str, Any]
    ) -> Json:
        """Write the event of a finished turn, and hold its messages."""
        body = without_none(
            {
                "turn_id": turn_id or uuid4().hex,
                "messages": [dict(message) for message in messages],
                "model": self.model,
                "wire": self.wire,
                "user_id": self.defaults.get("user_id"),
                "context_window": self.defaults.get("context_window"),
                "completed_at": datetime.now(timezone.utc).isoformat(),
                **without_none(fields),
            }
        )
        self.client.held.add(self.session_id, body["messages"], self.wire)
        return body

    def state(self) -> Flow[SessionState]:
        """Read the session's state and freshness."""
        return (yield from self.client.caller.read(SessionState, Call("GET", self._path())))

    def turns(self, from_: int | None = None, to: int | None = None) -> Flow[TurnPage]:
        """Read stored turns, by the places of their messages."""
        call = Call("GET", path_of("sessions", self.session_id, "turns", from_=from_, to=to))
        return (yield from self.client.caller.read(TurnPage, call))

    def summaries(self) -> Flow[SummaryList]:
        """Read every version of the summary."""
        return (yield from self.client.caller.read(SummaryList, Call("GET", self._path("summaries"))))

    def activate_summary(self, version: int) -> Flow[None]:
        """Put another version of the summary in force."""
        path = self._path("summaries", str(version), "activate")
        yield from self.client.caller.call(Call("POST", path))

    def reset(self) -> Flow[None]:
        """Start the session empty; the log stays."""
        headers = {"idempotency-key": uuid4().hex}
        yield from self.client.caller.call(Call("POST", self._path("reset"), headers=headers))
        self.client.held.forget(self.session_id)

    def erase(self) -> Flow[Receipt]:
        """Erase the session and everything made of it, and return the receipt."""
        receipt = yield from self.client.caller.read(Receipt, Call("DELETE", self._path()))
        self.client.held.forget(self.session_id)
        return receipt

    def erase_message(self, seq: int) -> Flow[Receipt]:
        """Erase a message by its place in the log, and everything made of it."""
        receipt = yield from self.client.caller.read(
            Receipt, Call("DELETE", self._path("messages", str(seq)))
        )
        self.client.held.forget(self.session_id)
        return receipt

    def _body(self, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> Json:
        given = {**self.defaults, **without_none(fields)}
        if "attachments" in given:
            given["attachments"] = [_attachment(one) for one in given["attachments"]]
        return {**given, "model": self.model, "wire": self.wire, "messages": list(messages)}


def _attachment(given: Any) -> Json:
    """Read an attachment: an upload, its id, or the API's own form."""
    if isinstance(given, Attachment):
        return {"attachment_id": given.attachment_id}
    return {"attachment_id": given} if isinstance(given, str) else dict(given)


class TurnCore:
    """A turn: from the user's words to the record.

    Attributes:
        chat: The session.
        turn_id: The turn; stable over all attempts.
        messages: The messages so far.
        usage: The usage report of the last answer.
        answer: The last answer.
        recorded: The receipt, once recorded.
        abandoned: True if the turn ended before its answer was whole.
    """

    def __init__(
        self,
        chat: ChatCore,
        said: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        turn_id: str | None,
        event: Mapping[str, Any],
        fields: Mapping[str, Any],
    ) -> None:
        """Begin with the user's words.

        Args:
            chat: The session.
            said: The user's words: text, a message, or several.
            turn_id: The turn's id; None for a new id.
            event: Members of the record, as the API names them.
            fields: Members of context requests, as the API names them.
        """
        self.chat = chat
        self.turn_id = turn_id or uuid4().hex
        self.messages = user_messages(said)
        self.usage: Json | None = None
        self.answer: Answer | None = None
        self.recorded: Recorded | None = None
        self.abandoned = False
        self._event, self._fields = dict(event), dict(fields)
        self._readers: list[StreamReader] = []
        self._discarded = self._is_settled = False
        self._shrinks = 0

    @property
    def calls(self) -> list[ToolCall]:
        """Tool calls of the last answer that still lack a result."""
        waiting = set(open_calls(self.messages, self.chat.wire))
        return [call for call in (self.answer.calls if self.answer else []) if call.id in waiting]

    @property
    def is_open(self) -> bool:
        """True if a model must answer, or answer on."""
        return self.answer is None or bool(self.answer.calls)

    def discard(self) -> None:
        """Record nothing of this turn."""
        self._discarded = True

    def request(self) -> Flow[Request]:
        """Read the next request to the model: the window of the service, or the messages held here.

        Raises:
            OverBudgetError: The parts that must be sent are larger than the budget.
            UnavailableError: The service does not serve, and the client must not go on without.
        """
        client, chat = self.chat.client, self.chat
        try:
            if client.outbox.has():
                yield from client.deliver(chat.session_id)
                if client.outbox.has(chat.session_id):
                    return self._degraded(UnavailableError("earlier turns are not stored yet", attempts=0))
            return self._request(context=(yield from chat.context(self.messages, **self._fields)))
        except UnavailableError as error:
            return self._degraded(error)

    def compress(self, error: Any) -> Flow[Request]:
        """Read a smaller request, after the provider refused the last as too large.

        Args:
            error: The provider's error: an exception, a text, or JSON.

        Raises:
            RefusedError: The error tells of no overflow, or nothing is left to leave out.
            UnavailableError: The service does not serve, and the client must not go on without.
        """
        self._shrinks += 1
        try:
            context = yield from self.chat.compress(error, self.messages, **self._fields)
        except UnavailableError as away:
            return self._degraded(away)
        return self._request(context=context)

    def finish(self, *, abandoned: bool) -> Flow[Recorded | None]:
        """Record the turn, once; None if discarded."""
        if self._settle(abandoned=abandoned):
            self.recorded = yield from self.chat.client.record(self.chat.session_id, self._event_body())
        return self.recorded

    def post(self) -> None:
        """Leave an abandoned turn in the outbox, where nobody may wait for an answer."""
        if self._settle(abandoned=True):
            self.chat.client.post(self.chat.session_id, self._event_body())

    def _settle(self, *, abandoned: bool) -> bool:
        """Take open streams along; tell whether the turn is to be recorded, which is true once."""
        for reader in list(self._readers):
            self.end_stream(reader)
        cut_off = self.answer is None or not self.answer.complete or bool(self.calls)
        self.abandoned = abandoned or cut_off
        is_first, self._is_settled = not self._is_settled, True
        return is_first and not self._discarded

    def _event_body(self) -> Json:
        model = self.answer.model if self.answer else None
        return self.chat.event(
            self.messages, self.turn_id, {"usage": self.usage, "model": model, **self._event}
        )

    def add(self, answer: Answer) -> Answer:
        """Take an answer into the turn."""
        self.messages.extend(answer.messages)
        self.usage = answer.usage or self.usage
        if any(message.get("role") != "user" for message in answer.messages) or answer.finish:
            self.answer = answer
        return answer

    def add_tool_result(self, call_id: str, content: Any, *, is_error: bool = False) -> Json:
        """Add the result of a tool call: text, or parts of the format."""
        result = tool_result(self.chat.wire, call_id, content, is_error=is_error, turn=self.messages)
        self.messages.append(result)
        return result

    def begin_stream(self) -> StreamReader:
        """Begin to read a stream; the turn's end takes along what arrived of it."""
        reader = StreamReader(self.chat.wire)
        self._readers.append(reader)
        return reader

    def end_stream(self, reader: StreamReader) -> Answer:
        """Take a stream's answer into the turn, once."""
        answer = reader.answer()
        if reader in self._readers:
            self._readers.remove(reader)
            self.add(answer)
        return answer

    def _request(self, *, context: Context) -> Request:
        return Request(
            self.chat.wire,
            context.messages,
            context.tools,
            context.system,
            context.certificate.max_tokens,
            context,
        )

    def _degraded(self, error: UnavailableError) -> Request:
        """Build a request of the messages held here, within an estimate of the window."""
        chat = self.chat
        if not chat.client.options.fail_open:
            raise error
        given = {**chat.defaults, **self._fields}
        system, tools = given.get("system_prompt"), given.get("tools")
        window = given.get("context_window") or chat.client.windows.get(chat.model) or _WINDOW
        most_output = given.get("max_tokens") or min(_MOST_OUTPUT, window // 4)
        budget = min(window - most_output, given.get("budget") or window) // 2**self._shrinks
        room = (
            budget
            - _OVERHEAD
            - estimate_tokens([*self.messages, *(tools or []), *([system] if system else [])])
        )
        messages = [*chat.client.held.newest(chat.session_id, room_tokens=room), *self.messages]
        if system and chat.wire != "anthropic":
            messages.insert(0, {"role": "system", "content": system})
        own_system = system if chat.wire == "anthropic" else None
        return Request(chat.wire, messages, tools, own_system, most_output, None, error.reason)

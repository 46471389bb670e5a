"""Calls that change a stored conversation: sync, replace, delete, truncate, fork, append."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afterturn_client._caller import Call, Model
from afterturn_client._flow import Flow
from afterturn_client._paths import path_of, without_none
from afterturn_client._wires import cut_turns
from afterturn_client.changes import Changed, Forked, Synced, TurnPart
from afterturn_client.errors import UnavailableError
from afterturn_client.streams.answer import Json, Wire

if TYPE_CHECKING:
    from afterturn_client._client import ClientCore


class HistoryCalls:
    """Changes of a session; a turn that waits in the outbox is sent before each change.

    Attributes:
        client: The client.
        session_id: The conversation.
        model: The model that answers.
        wire: The format of messages.
        defaults: Members of every context request, as the API names them.
    """

    client: ClientCore
    session_id: str
    model: str
    wire: Wire
    defaults: Json

    def sync(self, /, messages: Sequence[Mapping[str, Any]], **fields: Any) -> Flow[Synced]:
        """Make the stored history equal to a whole history; the same list again changes nothing.

        Args:
            messages: Every message, oldest first.
            fields: Other members of the request, as the API names them: `revision`, `append_only`, …

        Raises:
            ConflictError: The session has changed since the `revision`, or `append_only` forbids the change.
        """
        body = {**self._about_turns(), **without_none(fields), "messages": list(messages)}
        synced = yield from self._change(Synced, Call("PUT", self._path("messages"), body))
        self.client.held.fill(self.session_id, cut_turns(list(map(dict, messages)), self.wire), self.wire)
        return synced

    def replace(self, /, turn_id: str, messages: Sequence[Mapping[str, Any]], **fields: Any) -> Flow[Changed]:
        """Replace a turn; of the newest turn, this regenerates the answer.

        Args:
            turn_id: The turn.
            messages: The messages in place of those of the turn.
            fields: Other members of the request, as the API names them.
        """
        body = {**self._about_turns(), **without_none(fields), "messages": list(messages)}
        return (yield from self._change(Changed, Call("PUT", self._path("turns", turn_id), body)))

    def delete_turn(self, turn_id: str) -> Flow[Changed]:
        """Take a turn out of the conversation; its id is free again."""
        return (yield from self._change(Changed, Call("DELETE", self._path("turns", turn_id))))

    def truncate(self, after_turn: str | None, *, revision: str | None = None) -> Flow[Changed]:
        """Remove every turn after a turn; None removes all."""
        body: Json = {"after_turn": after_turn}
        if revision is not None:
            body["revision"] = revision
        return (yield from self._change(Changed, Call("POST", self._path("truncate"), body)))

    def fork(self, session_id: str, *, after_turn: str | None = None) -> Flow[Forked]:
        """Begin a new session with the history up to a turn; None takes all of it."""
        body = without_none({"session_id": session_id, "after_turn": after_turn})
        yield from self._deliver()
        return (yield from self.client.caller.read(Forked, Call("POST", self._path("fork"), body)))

    def append(
        self,
        /,
        turn_id: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        index: int,
        done: bool = False,
        **fields: Any,
    ) -> Flow[TurnPart]:
        """Append messages to an open turn, or begin the turn.

        Args:
            turn_id: The turn.
            messages: The next messages.
            index: The number of messages that the turn has before these.
            done: Whether these are the last.
            fields: Other members of the request, as the API names them.
        """
        own = {"messages": list(messages), "index": index, "done": done}
        body = {**self._about_turns(), **without_none(fields), **own}
        return (
            yield from self._change(TurnPart, Call("POST", self._path("turns", turn_id, "messages"), body))
        )

    def _change(self, model: type[Model], call: Call) -> Flow[Model]:
        yield from self._deliver()
        answer = yield from self.client.caller.read(model, call)
        self.client.held.forget(self.session_id)
        return answer

    def _deliver(self) -> Flow[None]:
        """Send waiting turns of the session: behind the change they would be in the wrong place."""
        yield from self.client.deliver(self.session_id)
        if self.client.outbox.has(self.session_id):
            raise UnavailableError("earlier turns are not stored yet", attempts=0, outcome="none")

    def _about_turns(self) -> Json:
        told = {name: self.defaults.get(name) for name in ("user_id", "context_window")}
        return without_none({"model": self.model, "wire": self.wire, **told})

    def _path(self, *parts: str) -> str:
        return path_of("sessions", self.session_id, *parts)

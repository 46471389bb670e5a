"""Open WebUI: a filter function, by the documented shapes of `inlet` and `outlet`.

In the admin's editor of functions:

    from afterturn_client.integrations.open_webui import Filter
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any

from pydantic import BaseModel, Field

from afterturn_client import AsyncAfterturn, TurnConflictError
from afterturn_client.client import AsyncChat
from afterturn_client.integrations._history import split_history


class Valves(BaseModel):
    """Settings of the filter, in the admin's panel.

    Attributes:
        url: The base address of the service.
        api_key: The key.
        context_window: The window of all models, in tokens; 0 for the window that the service knows.
        priority: The filter's place among others; a high number, so that this one runs last.
    """

    url: str = Field(default="", description="Base address of the service, without /v1.")
    api_key: str = Field(default="", description="A key of the service.")
    context_window: int = Field(default=0, description="Window in tokens; 0 for the service's own number.")
    priority: int = Field(default=100, description="Filters run in ascending order.")


class Filter:
    """Bounds the context of each chat, and records its turns."""

    Valves = Valves

    def __init__(self) -> None:
        """Wait for the valves."""
        self.valves = Valves()
        self._clients: dict[tuple[str, str], AsyncAfterturn] = {}

    async def inlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Put the window in place of the whole history; a body without a chat passes unchanged."""
        chat = self._chat(body, __user__, __metadata__)
        if chat is None:
            return body
        history = split_history(body["messages"])
        turn = chat.turn(
            history.turn,
            system_prompt=history.system,
            tools=body.get("tools"),
            max_tokens=body.get("max_tokens"),
        )
        body["messages"] = (await turn.request()).messages
        return body

    async def outlet(
        self,
        body: dict[str, Any],
        __user__: dict[str, Any] | None = None,
        __metadata__: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Record the finished turn; an answer that is generated anew is a turn of its own."""
        chat = self._chat(body, __user__, __metadata__)
        history = split_history(body.get("messages") or [])
        if chat is None or not history.turn:
            return body
        said = [{"role": one.get("role"), "content": one.get("content")} for one in history.turn]
        with contextlib.suppress(TurnConflictError):  # an answer edited since keeps its first form
            await chat.record(said, turn_id=_turn_id(history.turn))
        return body

    async def close(self) -> None:
        """Send waiting turns, then close every connection."""
        for client in self._clients.values():
            await client.close()

    def _chat(
        self, body: dict[str, Any], user: dict[str, Any] | None, metadata: dict[str, Any] | None
    ) -> AsyncChat | None:
        chat_id = body.get("chat_id") or (metadata or {}).get("chat_id")
        if not chat_id or not body.get("messages"):
            return None
        where = (self.valves.url, self.valves.api_key)
        if where not in self._clients:
            self._clients[where] = AsyncAfterturn(*(part or None for part in where))
        user_id = (user or {}).get("id")
        return self._clients[where].chat(
            str(chat_id),
            model=str(body["model"]),
            user_id=user_id,
            context_window=self.valves.context_window or None,
        )


def _turn_id(turn: list[dict[str, Any]]) -> str:
    """Name a turn by the ids of its messages, which the chat keeps; else by the words."""
    names = [str(one.get("id") or one.get("content")) for one in turn]
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]

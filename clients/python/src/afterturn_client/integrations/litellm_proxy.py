"""LiteLLM proxy: a callback that bounds the context of every client of the proxy.

In a module beside the proxy's configuration:

    from afterturn_client.integrations.litellm_proxy import AfterturnCallback

    afterturn = AfterturnCallback()
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from litellm.exceptions import ContextWindowExceededError
from litellm.integrations.custom_logger import CustomLogger

from afterturn_client import AfterturnError, AsyncAfterturn, AsyncTurn
from afterturn_client.integrations._history import split_history

log = logging.getLogger("afterturn_client")

SESSION_HEADER = "x-afterturn-session"
_COMPLETIONS = ("completion", "acompletion")
_MOST_OPEN = 10_000


class AfterturnCallback(CustomLogger):
    """Serves the window of a call, and records the turn before the client sees the end of the answer."""

    def __init__(self, client: AsyncAfterturn | None = None, **defaults: Any) -> None:
        """Serve the proxy.

        Args:
            client: The client; None for one of the environment, made at the first call.
            defaults: Members of every context request, as the API names them.
        """
        super().__init__()
        self._defaults = defaults
        self._client = client
        self._turns: dict[str, AsyncTurn] = {}

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any]:
        """Put the window in place of the whole history; a call without a session passes unchanged."""
        session_id = find_session(data)
        if session_id is None or call_type not in _COMPLETIONS or not data.get("messages"):
            return data
        if self._client is None:
            self._client = AsyncAfterturn()
        history = split_history(data["messages"])
        own = {
            "system_prompt": history.system,
            "tools": data.get("tools"),
            "max_tokens": data.get("max_completion_tokens") or data.get("max_tokens"),
            "user_id": data.get("user"),
        }
        fields = {**self._defaults, **{name: value for name, value in own.items() if value}}
        chat = self._client.chat(session_id, model=str(data["model"]), history=history.older, **fields)
        turn = chat.turn(history.turn)
        request = await turn.request()
        if len(self._turns) >= _MOST_OPEN:
            del self._turns[next(iter(self._turns))]
        self._turns[str(data.get("litellm_call_id"))] = turn
        data["messages"] = request.messages
        if data.get("tools"):
            data["tools"] = request.tools
            if request.tools is None:
                del data["tools"]
        return data

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        """Record the turn of a whole answer."""
        turn = self._turns.pop(str(data.get("litellm_call_id")), None)
        if turn is not None:
            await turn.add(response)
            await _finish(turn)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Pass a stream on, and record its turn before the end."""
        turn = self._turns.pop(str(request_data.get("litellm_call_id")), None)
        if turn is None:
            async for chunk in response:
                yield chunk
            return
        try:
            async for chunk in turn.stream(response):
                yield chunk
        finally:
            await _finish(turn)

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: str | None = None,
    ) -> None:
        """After an overflow, let the service cut the window, so that the client's next attempt fits."""
        turn = self._turns.pop(str(request_data.get("litellm_call_id")), None)
        if turn is None or not isinstance(original_exception, ContextWindowExceededError):
            return
        try:
            await turn.compress(original_exception)
        except AfterturnError as error:
            log.warning("a refused window could not be cut: %s", error)


async def _finish(turn: AsyncTurn) -> None:
    """Record a turn at its end; where tools are called, the client's next request carries all of it."""
    if turn.calls:
        turn.discard()
    async with turn:
        pass


def find_session(data: Mapping[str, Any]) -> str | None:
    """Find the session of a call: our header, LiteLLM's session, or metadata of the body."""
    headers = (data.get("proxy_server_request") or {}).get("headers") or {}
    metadata = {**(data.get("litellm_metadata") or {}), **(data.get("metadata") or {})}
    found = headers.get(SESSION_HEADER) or data.get("litellm_session_id") or metadata.get("session_id")
    return str(found) if found else None

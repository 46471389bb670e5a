"""LangChain and LangGraph: middleware of an agent that serves windows and records turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config

from afterturn_client import Afterturn, AsyncAfterturn, Chat, Request
from afterturn_client.client import AsyncChat
from afterturn_client.integrations._history import split_history
from afterturn_client.streams.answer import Json


class AfterturnMiddleware(AgentMiddleware):
    """Serves the window of each model call, and records the turn at the end of the run."""

    def __init__(
        self,
        client: Afterturn | None = None,
        *,
        model: str,
        async_client: AsyncAfterturn | None = None,
        session_id: str | None = None,
        **defaults: Any,
    ) -> None:
        """Serve an agent.

        Args:
            client: The client of `invoke` and `stream`.
            model: The model that answers.
            async_client: The client of `ainvoke` and `astream`.
            session_id: The conversation; None for the run's `thread_id`.
            defaults: Members of every context request, as the API names them.
        """
        super().__init__()
        self._client, self._async_client = client, async_client
        self._session_id = session_id
        self._defaults = {"model": model, **defaults}

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the model with the window."""
        turn, fields = _read(request)
        with self._chat().turn(turn, **fields) as open_turn:
            open_turn.discard()  # the end of the run records the turn
            return handler(_write(request, open_turn.request()))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Call the model with the window."""
        turn, fields = _read(request)
        async with self._async_chat().turn(turn, **fields) as open_turn:
            open_turn.discard()  # the end of the run records the turn
            return await handler(_write(request, await open_turn.request()))

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Record the turn."""
        turn, turn_id, usage = _finished(state["messages"])
        self._chat().record(turn, turn_id=turn_id, usage=usage)

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Record the turn."""
        turn, turn_id, usage = _finished(state["messages"])
        await self._async_chat().record(turn, turn_id=turn_id, usage=usage)

    def _chat(self) -> Chat:
        if self._client is None:
            raise ValueError("give the middleware a client, for invoke and stream")
        return self._client.chat(self._session(), **self._defaults)

    def _async_chat(self) -> AsyncChat:
        if self._async_client is None:
            raise ValueError("give the middleware an async_client, for ainvoke and astream")
        return self._async_client.chat(self._session(), **self._defaults)

    def _session(self) -> str:
        found = self._session_id or get_config().get("configurable", {}).get("thread_id")
        if not found:
            raise ValueError("name the conversation: session_id, or thread_id in the run's configuration")
        return str(found)


def _plain(messages: Sequence[BaseMessage]) -> list[Json]:
    return [dict(one) for one in convert_to_openai_messages(list(messages))]


def _read(request: Any) -> tuple[list[Json], dict[str, Any]]:
    """Read the turn under way, with the parts of the request that need room."""
    turn = split_history(_plain(request.messages)).turn
    tools = [convert_to_openai_tool(tool) for tool in request.tools] or None
    return turn, {"system_prompt": request.system_prompt, "tools": tools}


def _write(request: Any, window: Request) -> Any:
    """Put the window, and the tools that are left, in place of the request's own."""
    said = [message for message in window.messages if message.get("role") != "system"]
    sent = {tool["function"]["name"] for tool in window.tools or []}
    tools = [tool for tool in request.tools if convert_to_openai_tool(tool)["function"]["name"] in sent]
    return request.override(messages=convert_to_messages(said), tools=tools)


def _finished(messages: Sequence[BaseMessage]) -> tuple[list[Json], str | None, Json | None]:
    turn = split_history(_plain(messages)).turn
    first = messages[len(messages) - len(turn)]
    told = getattr(messages[-1], "usage_metadata", None)
    return turn, first.id, dict(told) if told else None

"""OpenAI Agents SDK: a session, and the filter that serves the window of each model call."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agents import RunConfig
from agents.run import CallModelData, ModelInputData

from afterturn_client import AsyncAfterturn
from afterturn_client._wires import call_ids, open_calls, starts_turn
from afterturn_client.streams.answer import Json, plain


class AfterturnSession:
    """A session of the Agents SDK.

    The filter of `run_config` serves earlier turns with each model call; `get_items` returns none.

    Attributes:
        session_id: The conversation.
        session_settings: Part of the SDK's protocol; not used.
    """

    session_settings: Any = None

    def __init__(self, client: AsyncAfterturn, session_id: str, *, model: str, **defaults: Any) -> None:
        """Open a session.

        Args:
            client: The client.
            session_id: The conversation.
            model: The model that answers.
            defaults: Members of every context request, as the API names them.
        """
        self.session_id = session_id
        self._chat = client.chat(session_id, model=model, wire="responses", **defaults)
        self._open: list[Json] = []

    def run_config(self, **members: Any) -> RunConfig:
        """Make the configuration of a run; members as of the SDK's `RunConfig`."""
        return RunConfig(call_model_input_filter=self.filter, **members)

    async def filter(self, data: CallModelData[Any]) -> ModelInputData:
        """Put the window in place of the turn under way."""
        items = [plain(item) for item in data.model_data.input]
        instructions = data.model_data.instructions
        turn = self._chat.turn(items, system_prompt=instructions)
        request = await turn.request()
        window = request.messages
        if instructions and window and window[0].get("role") == "system":
            window = window[1:]
        items = _distinct([_readable(item) for item in window])
        return ModelInputData(input=items, instructions=instructions)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return nothing: the filter serves earlier turns."""
        return []

    async def add_items(self, items: list[Any]) -> None:
        """Take items of the turn under way; an answer without open calls records the turn."""
        for item in (plain(one) for one in items):
            if starts_turn(item, "responses") and any(
                not starts_turn(one, "responses") for one in self._open
            ):
                await self.flush()
            self._open.append(item)
        last = self._open[-1] if self._open else {}
        if last.get("role") == "assistant" and not open_calls(self._open, "responses"):
            await self.flush()

    async def pop_item(self) -> Any:
        """Take the last item of the turn under way back; None once the turn is recorded."""
        return self._open.pop() if self._open else None

    async def flush(self) -> None:
        """Record the turn under way, as far as it has come."""
        turn, self._open = self._open, []
        if turn:
            await self._chat.record(turn)

    async def clear_session(self) -> None:
        """Erase the session."""
        self._open = []
        await self._chat.erase()


def _readable(item: Json) -> Json:
    """Write an answer without an id as plain words: the SDK reads its own form only with an id."""
    content = item.get("content")
    if item.get("role") != "assistant" or item.get("id") or not isinstance(content, list):
        return item
    return {"role": "assistant", "content": "".join(str(part.get("text") or "") for part in content)}


def _distinct(items: list[Json]) -> list[Json]:
    """Give calls of earlier turns ids of their own: of two equal ids, the SDK keeps the latest alone."""
    calls = Counter(call for item in items for call in call_ids(item, "responses"))
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    renamed: list[Json] = []
    for item in items:
        for call in call_ids(item, "responses"):
            seen[call] += 1
            names[call] = call if seen[call] == calls[call] else f"{call}-{seen[call]}"
        own = str(item.get("call_id"))
        renamed.append({**item, "call_id": names[own]} if own in names else item)
    return renamed

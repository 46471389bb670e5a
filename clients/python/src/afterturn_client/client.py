"""Clients and chats in two colours: blocking and asynchronous. All logic stands in the cores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from afterturn_client._chat import ChatCore, TurnCore
from afterturn_client._client import AttachmentCalls, CatalogCalls, ClientCore, PlanCalls
from afterturn_client._flow import AsyncRunner, AsyncShell, BlockingShell, Runner, awaited, blocking
from afterturn_client._keys import KeyCalls
from afterturn_client._priors import PriorCalls
from afterturn_client._version import VERSION
from afterturn_client.options import Options
from afterturn_client.streams.answer import Wire
from afterturn_client.turn import AsyncTurn, Turn

if TYPE_CHECKING:
    from typing_extensions import Self

_CLOSE_WAIT_S = 5.0


def _connection(url: str | None, api_key: str | None, http: Mapping[str, Any] | None) -> dict[str, Any]:
    """Read the address and the key, from the environment where not given."""
    given_url = url or os.environ.get("AFTERTURN_URL") or "http://127.0.0.1:8700"
    base_url = given_url.rstrip("/").removesuffix("/v1")
    key = api_key or os.environ.get("AFTERTURN_API_KEY")
    if not key:
        raise ValueError("give api_key, or set AFTERTURN_API_KEY: `afterturn keys create NAME` makes a key")
    headers = {"authorization": f"Bearer {key}", "user-agent": f"afterturn-client-python/{VERSION}"}
    given = dict(http or {})
    return {**given, "base_url": base_url, "headers": {**dict(given.get("headers") or {}), **headers}}


def _chat_core(
    client: ClientCore,
    session_id: str,
    *,
    model: str,
    wire: Wire,
    history: Sequence[Mapping[str, Any]] | None,
    defaults: Mapping[str, Any],
) -> ChatCore:
    core = ChatCore(client, session_id, model=model, wire=wire, defaults=defaults)
    if history:
        core.hold(history)
    return core


class Chat(BlockingShell[ChatCore]):
    """A session."""

    context = blocking(ChatCore.context)
    compress = blocking(ChatCore.compress)
    record = blocking(ChatCore.record)
    sync = blocking(ChatCore.sync)
    replace = blocking(ChatCore.replace)
    delete_turn = blocking(ChatCore.delete_turn)
    truncate = blocking(ChatCore.truncate)
    fork = blocking(ChatCore.fork)
    append = blocking(ChatCore.append)
    state = blocking(ChatCore.state)
    turns = blocking(ChatCore.turns)
    summaries = blocking(ChatCore.summaries)
    activate_summary = blocking(ChatCore.activate_summary)
    reset = blocking(ChatCore.reset)
    erase = blocking(ChatCore.erase)
    erase_message = blocking(ChatCore.erase_message)

    @property
    def session_id(self) -> str:
        """The conversation."""
        return self._core.session_id

    def turn(
        self,
        said: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        turn_id: str | None = None,
        speaker: str | None = None,
        plan: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Turn:
        """Begin a turn with the user's words.

        Args:
            said: Text, a message of the chat's format, or several.
            turn_id: The turn's id, for example that of the platform; None for a new id.
            speaker: Who speaks, in a group.
            plan: The plan that the turn follows.
            fields: Members of context requests of this turn, as the API names them: `tools`, `attachments`, …
        """
        event = {"speaker": speaker, "plan": plan}
        return Turn(TurnCore(self._core, said, turn_id=turn_id, event=event, fields=fields), self._runner)


class AsyncChat(AsyncShell[ChatCore]):
    """A session."""

    context = awaited(ChatCore.context)
    compress = awaited(ChatCore.compress)
    record = awaited(ChatCore.record)
    sync = awaited(ChatCore.sync)
    replace = awaited(ChatCore.replace)
    delete_turn = awaited(ChatCore.delete_turn)
    truncate = awaited(ChatCore.truncate)
    fork = awaited(ChatCore.fork)
    append = awaited(ChatCore.append)
    state = awaited(ChatCore.state)
    turns = awaited(ChatCore.turns)
    summaries = awaited(ChatCore.summaries)
    activate_summary = awaited(ChatCore.activate_summary)
    reset = awaited(ChatCore.reset)
    erase = awaited(ChatCore.erase)
    erase_message = awaited(ChatCore.erase_message)

    @property
    def session_id(self) -> str:
        """The conversation."""
        return self._core.session_id

    def turn(
        self,
        said: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        turn_id: str | None = None,
        speaker: str | None = None,
        plan: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> AsyncTurn:
        """Begin a turn with the user's words; arguments as in `Chat.turn`."""
        event = {"speaker": speaker, "plan": plan}
        core = TurnCore(self._core, said, turn_id=turn_id, event=event, fields=fields)
        return AsyncTurn(core, self._runner)


class Attachments(BlockingShell[AttachmentCalls]):
    """Documents."""

    upload = blocking(AttachmentCalls.upload)
    get = blocking(AttachmentCalls.get)


class AsyncAttachments(AsyncShell[AttachmentCalls]):
    """Documents."""

    upload = awaited(AttachmentCalls.upload)
    get = awaited(AttachmentCalls.get)


class Catalogs(BlockingShell[CatalogCalls]):
    """Catalogs of tools."""

    put = blocking(CatalogCalls.put)
    get = blocking(CatalogCalls.get)
    list = blocking(CatalogCalls.list)
    rank = blocking(CatalogCalls.rank)
    delete = blocking(CatalogCalls.delete)


class AsyncCatalogs(AsyncShell[CatalogCalls]):
    """Catalogs of tools."""

    put = awaited(CatalogCalls.put)
    get = awaited(CatalogCalls.get)
    list = awaited(CatalogCalls.list)
    rank = awaited(CatalogCalls.rank)
    delete = awaited(CatalogCalls.delete)


class Priors(BlockingShell[PriorCalls]):
    """Sets of priors, and sets served to a share of sessions."""

    list = blocking(PriorCalls.list)
    roll_back = blocking(PriorCalls.roll_back)
    start_canary = blocking(PriorCalls.start_canary)
    stop_canary = blocking(PriorCalls.stop_canary)
    share = blocking(PriorCalls.share)
    set_share = blocking(PriorCalls.set_share)


class AsyncPriors(AsyncShell[PriorCalls]):
    """Sets of priors, and sets served to a share of sessions."""

    list = awaited(PriorCalls.list)
    roll_back = awaited(PriorCalls.roll_back)
    start_canary = awaited(PriorCalls.start_canary)
    stop_canary = awaited(PriorCalls.stop_canary)
    share = awaited(PriorCalls.share)
    set_share = awaited(PriorCalls.set_share)


class Plans(BlockingShell[PlanCalls]):
    """Plans of tool calls."""

    create = blocking(PlanCalls.create)
    get = blocking(PlanCalls.get)
    outcome = blocking(PlanCalls.outcome)


class AsyncPlans(AsyncShell[PlanCalls]):
    """Plans of tool calls."""

    create = awaited(PlanCalls.create)
    get = awaited(PlanCalls.get)
    outcome = awaited(PlanCalls.outcome)


class Keys(BlockingShell[KeyCalls]):
    """API keys."""

    create = blocking(KeyCalls.create)
    list = blocking(KeyCalls.list)
    revoke = blocking(KeyCalls.revoke)


class AsyncKeys(AsyncShell[KeyCalls]):
    """API keys."""

    create = awaited(KeyCalls.create)
    list = awaited(KeyCalls.list)
    revoke = awaited(KeyCalls.revoke)


class Afterturn(BlockingShell[ClientCore]):
    """A client of the service for any number of threads; close it, or use it as a context manager."""

    preflight = blocking(ClientCore.preflight)
    usage = blocking(ClientCore.usage)
    sessions = blocking(ClientCore.sessions)
    users = blocking(ClientCore.users)
    contexts = blocking(ClientCore.contexts)
    erase_user = blocking(ClientCore.erase_user)
    user_recall = blocking(ClientCore.user_recall)

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        options: Options | None = None,
        http: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare connections; nothing is sent yet.

        Args:
            url: The base address, without `/v1`; else `AFTERTURN_URL`, else the port of `make up`.
            api_key: The key; else `AFTERTURN_API_KEY`.
            options: Times and limits.
            http: Arguments for `httpx.Client`, such as `verify`, `proxy` or `transport`.
        """
        runner = Runner(httpx.Client(**_connection(url, api_key, http)))
        super().__init__(ClientCore(options or Options()), runner)
        self.attachments = Attachments(AttachmentCalls(self._core.caller), runner)
        self.catalogs = Catalogs(CatalogCalls(self._core.caller), runner)
        self.priors = Priors(PriorCalls(self._core.caller), runner)
        self.plans = Plans(PlanCalls(self._core.caller), runner)
        self.keys = Keys(KeyCalls(self._core.caller), runner)

    def chat(
        self,
        session_id: str,
        *,
        model: str,
        wire: Wire = "openai",
        history: Sequence[Mapping[str, Any]] | None = None,
        **defaults: Any,
    ) -> Chat:
        """Open a session; nothing is sent yet.

        Args:
            session_id: The conversation, as the platform names it.
            model: The model that answers.
            wire: The format of messages: `openai`, `anthropic` or `responses`.
            history: Messages that the platform holds, for the time that the service is away.
            defaults: Members of every context request, as the API names them: `system_prompt`, `tools`,
                `context_window`, `max_tokens`, `user_id`, `catalog`, …
        """
        core = _chat_core(self._core, session_id, model=model, wire=wire, history=history, defaults=defaults)
        return Chat(core, self._runner)

    @property
    def waiting_turns(self) -> list[str]:
        """Ids of the turns that the service has not stored yet."""
        return self._core.outbox.turn_ids

    def close(self, wait_s: float = _CLOSE_WAIT_S) -> None:
        """Send waiting turns for a while, then close every connection."""
        self._runner.run(self._core.finish(wait_s))
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncAfterturn(AsyncShell[ClientCore]):
    """A client of the service for one event loop; close it, or use it as a context manager."""

    preflight = awaited(ClientCore.preflight)
    usage = awaited(ClientCore.usage)
    sessions = awaited(ClientCore.sessions)
    users = awaited(ClientCore.users)
    contexts = awaited(ClientCore.contexts)
    erase_user = awaited(ClientCore.erase_user)
    user_recall = awaited(ClientCore.user_recall)

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        options: Options | None = None,
        http: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare connections; arguments as in `Afterturn`."""
        runner = AsyncRunner(httpx.AsyncClient(**_connection(url, api_key, http)))
        super().__init__(ClientCore(options or Options()), runner)
        self.attachments = AsyncAttachments(AttachmentCalls(self._core.caller), runner)
        self.catalogs = AsyncCatalogs(CatalogCalls(self._core.caller), runner)
        self.priors = AsyncPriors(PriorCalls(self._core.caller), runner)
        self.plans = AsyncPlans(PlanCalls(self._core.caller), runner)
        self.keys = AsyncKeys(KeyCalls(self._core.caller), runner)

    def chat(
        self,
        session_id: str,
        *,
        model: str,
        wire: Wire = "openai",
        history: Sequence[Mapping[str, Any]] | None = None,
        **defaults: Any,
    ) -> AsyncChat:
        """Open a session; arguments as in `Afterturn.chat`."""
        core = _chat_core(self._core, session_id, model=model, wire=wire, history=history, defaults=defaults)
        return AsyncChat(core, self._runner)

    @property
    def waiting_turns(self) -> list[str]:
        """Ids of the turns that the service has not stored yet."""
        return self._core.outbox.turn_ids

    async def close(self, wait_s: float = _CLOSE_WAIT_S) -> None:
        """Send waiting turns for a while, then close every connection."""
        await self._runner.run(self._core.finish(wait_s))
        await self._runner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

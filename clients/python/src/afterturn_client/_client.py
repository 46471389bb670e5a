"""The core of a client: calls that belong to no session, and the way of turns to the service."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from afterturn_client._caller import Call, Caller, encode
from afterturn_client._flow import Background, Flow, Pause
from afterturn_client._held import HeldTurns
from afterturn_client._outbox import Outbox, Parcel
from afterturn_client._paths import path_of, without_none
from afterturn_client.changes import SessionPage, UserPage
from afterturn_client.errors import NotAllowedError, NotFoundError, RefusedError, UnavailableError
from afterturn_client.models import (
    Attachment,
    BatchedContext,
    BatchedContexts,
    Catalog,
    CatalogList,
    Plan,
    Preflight,
    Ranking,
    Receipt,
    Recorded,
    Usage,
    UserRecall,
)
from afterturn_client.options import Options
from afterturn_client.streams.answer import Json

log = logging.getLogger("afterturn_client")

_LOOK_S = 0.01
"""Wait between two looks at a turn that another thread or task sends."""


class ClientCore:
    """State of a client, shared by its sessions.

    Attributes:
        options: Times and limits.
        caller: Makes calls.
        outbox: Turns on their way.
        held: Recent turns by session.
        windows: Windows of models, in tokens, as the service told.
    """

    def __init__(self, options: Options) -> None:
        """Begin without any call."""
        self.options = options
        self.caller = Caller(options)
        self.outbox = Outbox(options)
        self.held = HeldTurns(most_tokens=options.held_tokens, most_sessions=options.held_sessions)
        self.windows: dict[str, int] = {}
        self._closing = False

    def preflight(
        self,
        message: str,
        *,
        session_id: str | None = None,
        tools: Sequence[Any] | None = None,
        kind: str | None = None,
    ) -> Flow[Preflight]:
        """Classify a message: its subject, the tools to offer, the thought that it needs."""
        body = without_none({"message": message, "session_id": session_id, "tools": tools, "kind": kind})
        return (yield from self.caller.read(Preflight, Call("POST", path_of("preflight"), body)))

    def usage(self, *, from_: str | None = None, to: str | None = None) -> Flow[Usage]:
        """Read the cost of the background's models, by day; days as `2026-01-31`."""
        return (yield from self.caller.read(Usage, Call("GET", path_of("usage", from_=from_, to=to))))

    def erase_user(self, user_id: str) -> Flow[Receipt]:
        """Erase everything of a user, and return the receipt."""
        return (yield from self.caller.read(Receipt, Call("DELETE", path_of("users", user_id))))

    def user_recall(self, enabled: bool | None = None) -> Flow[UserRecall]:
        """Read the switch of recall across a user's sessions, or set it where `enabled` is given."""
        body = None if enabled is None else {"enabled": enabled}
        call = Call("GET" if body is None else "PUT", path_of("user-recall"), body)
        return (yield from self.caller.read(UserRecall, call))

    def sessions(
        self,
        *,
        user_id: str | None = None,
        prefix: str | None = None,
        updated_since: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Flow[SessionPage]:
        """List sessions by id: a page, and the cursor of the next."""
        path = path_of(
            "sessions",
            user_id=user_id,
            prefix=prefix,
            updated_since=updated_since,
            limit=limit,
            cursor=cursor,
        )
        return (yield from self.caller.read(SessionPage, Call("GET", path)))

    def users(
        self, *, prefix: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Flow[UserPage]:
        """List the users that turns name: a page, and the cursor of the next."""
        path = path_of("users", prefix=prefix, limit=limit, cursor=cursor)
        return (yield from self.caller.read(UserPage, Call("GET", path)))

    def contexts(self, requests: Sequence[Mapping[str, Any]]) -> Flow[list[BatchedContext]]:
        """Read the windows of many sessions in one call.

        Args:
            requests: Context requests, as the API names their members, each with its `session_id`.

        Returns:
            A result for each request, in the same order.
        """
        content = b"\n".join(map(encode, requests))
        call = Call(
            "POST", path_of("contexts"), content=content, headers={"content-type": "application/x-ndjson"}
        )
        return (yield from self.caller.read(BatchedContexts, call)).results

    def record(self, session_id: str, body: Json) -> Flow[Recorded]:
        """Store a turn; where the service is away the turn waits, and is sent once the service is back.

        Raises:
            RefusedError: The service refused the turn.
        """
        parcel = self.post(session_id, body)
        yield from self.deliver(session_id, parcel)
        if parcel.error is not None:
            raise parcel.error
        if parcel.result is not None:
            return Recorded.model_validate(parcel.result)
        yield Background(self.empty_outbox)
        return Recorded(session_id=session_id, turn_id=parcel.turn_id, queued=True)

    def post(self, session_id: str, body: Json) -> Parcel:
        """Put a turn into the outbox, without sending the turn."""
        return self.outbox.put(session_id, str(body["turn_id"]), encode(body))

    def deliver(self, session_id: str, parcel: Parcel | None = None) -> Flow[None]:
        """Send a session's waiting turns in order, as long as the service serves, or until one is settled."""
        ends_at = time.monotonic() + self.options.record_timeout_s
        while self.outbox.has(session_id) and not (parcel and parcel.is_settled):
            taken = self.outbox.take(session_id)
            if taken is None:
                if time.monotonic() >= ends_at or (yield Pause(_LOOK_S)):
                    return
                continue
            try:
                yield from self._send(taken, in_chat=True)
            except UnavailableError:
                return
        if self.outbox.has():
            yield Background(self.empty_outbox)

    def empty_outbox(self) -> Flow[None]:
        """Send every waiting turn, however long the service is away."""
        while self.outbox.has() and not self._closing:
            rest_s = self.caller.rest_left_s()
            taken = None if rest_s else self.outbox.take()
            if taken is None:
                yield Pause(max(rest_s, _LOOK_S))
                continue
            try:
                yield from self._send(taken, in_chat=True)
            except UnavailableError as error:
                yield Pause(error.retry_after_s or _LOOK_S if error.held else 0)
            except RefusedError as error:
                log.warning("the outbox waits: the service answers %s %s", error.status, error.type)
                return

    def finish(self, wait_s: float) -> Flow[None]:
        """Send waiting turns before the client closes, for some time, and once."""
        if self._closing:
            return
        self._closing = True
        ends_at = time.monotonic() + wait_s
        while self.outbox.has() and time.monotonic() < ends_at:
            taken = self.outbox.take()
            if taken is None:
                yield Pause(_LOOK_S)
                continue
            try:
                yield from self._send(taken, timeout_s=max(ends_at - time.monotonic(), _LOOK_S))
            except (UnavailableError, RefusedError):
                break
        if self.outbox.has():
            where = "wait in the outbox's folder" if self.options.outbox_dir else "are lost"
            log.warning("the client closes and %d turns %s", len(self.outbox), where)

    def _send(self, parcel: Parcel, *, timeout_s: float | None = None, in_chat: bool = False) -> Flow[None]:
        """Send a taken turn and settle it, unless the service is away or takes no turn of this key."""
        call = Call("POST", path_of("sessions", parcel.session_id, "turns"), content=parcel.body)
        most_s = timeout_s or self.options.record_timeout_s
        try:
            reply = yield from self.caller.call(call, timeout_s=most_s, in_chat=in_chat)
            parcel.result = Recorded.model_validate_json(reply.content)
        except (NotAllowedError, NotFoundError):
            raise
        except RefusedError as error:
            parcel.error = error
            log.warning("turn %s is refused: %s %s", parcel.turn_id, error.status, error.type)
        finally:
            self.outbox.leave(parcel)


class AttachmentCalls:
    """Calls about documents."""

    def __init__(self, caller: Caller) -> None:
        """Share the client's connections."""
        self._caller = caller

    def upload(
        self,
        content: bytes,
        *,
        title: str | None = None,
        media_type: str = "text/plain",
        session_id: str | None = None,
        user_id: str | None = None,
        source: str | None = None,
        attachment_type: str | None = None,
    ) -> Flow[Attachment]:
        """Store a document once; name its id in `attachments` of a turn."""
        path = path_of(
            "attachments",
            title=title,
            session_id=session_id,
            user_id=user_id,
            source=source,
            attachment_type=attachment_type,
        )
        call = Call("POST", path, content=content, headers={"content-type": media_type})
        return (yield from self._caller.read(Attachment, call))

    def get(self, attachment_id: str, *, content: bool = False) -> Flow[Attachment]:
        """Read a document's facts, and its text where asked for."""
        path = path_of("attachments", attachment_id, content="true" if content else None)
        return (yield from self._caller.read(Attachment, Call("GET", path)))


class CatalogCalls:
    """Calls about catalogs of tools."""

    def __init__(self, caller: Caller) -> None:
        """Share the client's connections."""
        self._caller = caller

    def put(
        self,
        name: str,
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        packs: Sequence[Mapping[str, Any]] | None = None,
        pipelines: Sequence[Mapping[str, Any]] | None = None,
    ) -> Flow[Catalog]:
        """Store a catalog, in place of the version before."""
        body = without_none({"tools": tools, "packs": packs, "pipelines": pipelines})
        return (yield from self._caller.read(Catalog, Call("PUT", path_of("catalogs", name), body)))

    def get(self, name: str) -> Flow[Catalog]:
        """Read a catalog with its content."""
        return (yield from self._caller.read(Catalog, Call("GET", path_of("catalogs", name))))

    def list(self) -> Flow[CatalogList]:
        """List the catalogs of the tenant."""
        return (yield from self._caller.read(CatalogList, Call("GET", path_of("catalogs"))))

    def rank(
        self,
        name: str,
        intent: str,
        *,
        session_id: str | None = None,
        top_n: int | None = None,
        explain: bool = False,
    ) -> Flow[Ranking]:
        """Rank a catalog's entries for an intent, by the set of priors served to the session."""
        body = without_none(
            {"intent": intent, "session_id": session_id, "top_n": top_n, "explain": explain or None}
        )
        return (yield from self._caller.read(Ranking, Call("POST", path_of("catalogs", name, "rank"), body)))

    def delete(self, name: str) -> Flow[None]:
        """Delete a catalog."""
        yield from self._caller.call(Call("DELETE", path_of("catalogs", name)))


class PlanCalls:
    """Calls about plans of tool calls."""

    def __init__(self, caller: Caller) -> None:
        """Share the client's connections."""
        self._caller = caller

    def create(
        self, /, intent: str, *, catalog: str, model: str, wait_ms: int = 0, **fields: Any
    ) -> Flow[Plan]:
        """Ask for a plan; repeated attempts ask for the same plan.

        Args:
            intent: The user's wish.
            catalog: A stored catalog.
            model: The model that plans, or `extractive`.
            wait_ms: How long to wait for the plan, in milliseconds.
            fields: Other members of the request, as the API names them.
        """
        body = {"intent": intent, "catalog": catalog, "model": model, "wait_ms": wait_ms, **fields}
        call = Call("POST", path_of("plans"), body, headers={"idempotency-key": uuid4().hex})
        return (yield from self._caller.read(Plan, call, timeout_s=_with_wait(self._caller, wait_ms)))

    def get(self, plan_id: str) -> Flow[Plan]:
        """Read a plan."""
        return (yield from self._caller.read(Plan, Call("GET", path_of("plans", plan_id))))

    def outcome(
        self, plan_id: str, *, ok: Sequence[int] = (), errors: Mapping[int, str] | None = None
    ) -> Flow[None]:
        """Report how steps ended; the same report again changes nothing.

        Args:
            plan_id: The plan.
            ok: Numbers of the steps that did their work.
            errors: The error of each step that failed, by number.
        """
        steps: list[Json] = [{"order": order, "outcome": "ok"} for order in ok]
        for order, error in (errors or {}).items():
            steps.append({"order": order, "outcome": "error", "error": error})
        yield from self._caller.call(Call("POST", path_of("plans", plan_id, "outcome"), {"steps": steps}))


def _with_wait(caller: Caller, wait_ms: int) -> float:
    return caller.options.timeout_s + wait_ms / 1_000

"""The tenant's background work over HTTP: given up, running and due, and a stream of what it made ready.

A stream holds no connection to the database and no thread while it waits.
"""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import orjson
from anyio import Event as Signal
from anyio import current_time, move_on_after, to_thread
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError

from api.answers.base import WorkAnswer, answers
from api.answers.sessions import ReadyEvent
from api.http.call import BodyCall, EndlessCall, Parameters, callers, key_of
from api.http.errors import ProblemError
from api.http.head_limits import END
from api.settings import EVENTS_PATH, api_settings
from models.database import database_now, read_transaction
from models.database_errors import trouble_of
from models.due_work.operator import Event, list_unfinished, read_events
from models.due_work.queue import DueWork, WorkKind, WorkState
from models.scope import Scope
from models.tenants.row_security import keep_to
from models.tenants.tenant import Caller

router = APIRouter(prefix="/v1", tags=["usage"])

MOST_COUNTED = 1_000
"""Most pieces of a state that are counted."""

MOST_LISTED = 200


class WantedWork(Parameters):
    """The part of the work that is listed."""

    limit: int = Field(50, ge=1, le=MOST_LISTED, description="Most pieces that are listed.")


@router.get("/work", **answers(WorkAnswer, "list_work", "List unfinished work"))
def show_work(call: BodyCall, wanted: Annotated[WantedWork, Query()]) -> Response:
    """Answer with the work that is given up, running or due: counts by kind, and the pieces.

    Up to 1,000 pieces of each state are counted; `more` says that there are others.
    """
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        found = list_unfinished(Scope(db, tenant_id), most=MOST_COUNTED + 1)
        now = database_now(db)
    states = [work.state for work in found]
    answer = {
        "kinds": [_of_kind(kind, [work for work in found if work.kind == kind], now) for kind in WorkKind],
        "work": [_piece(work) for work in found[: wanted.limit]],
        "more": len(found) > wanted.limit or any(states.count(state) > MOST_COUNTED for state in set(states)),
    }
    return Response(orjson.dumps(answer), media_type="application/json")


def _of_kind(kind: WorkKind, found: Sequence[DueWork], now: datetime) -> dict[str, Any]:
    ready = [work.due_at for work in found if work.state == WorkState.READY]
    due = [due_at for due_at in ready if due_at <= now]
    return {
        "kind": kind.value,
        "due": len(due),
        "later": len(ready) - len(due),
        "running": sum(work.state == WorkState.RUNNING for work in found),
        "dead": sum(work.state == WorkState.DEAD for work in found),
        "oldest_due_age_s": (now - min(due)).total_seconds() if due else None,
    }


_SHOWN = (
    *("kind", "key", "state", "due_at", "attempts", "crashes"),
    *("waits_for", "last_error", "last_outcome"),
)
_OF_SESSIONS = frozenset(kind.value for kind in WorkKind if kind.by_session)


def _piece(work: DueWork) -> dict[str, Any]:
    return {
        **{name: getattr(work, name) for name in _SHOWN},
        "session_id": work.key if work.kind in _OF_SESSIONS else None,
    }


events = APIRouter(tags=["sessions"])

LOOK_BACK = timedelta(seconds=20)
"""Longest time between the begin of a transaction, which is the time of its events, and its commit."""

PAGE = 500
MOST_S = 86_400

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ID = re.compile(r"([0-9]{1,17})-[0-9a-z]{0,12}", re.ASCII)


class WantedEvents(Parameters):
    """Filter of a stream, and its length."""

    session_id: str | None = Field(None, min_length=1, max_length=200, description="One session alone.")
    for_s: int | None = Field(
        None, ge=0, le=MOST_S, description="Seconds after which the stream ends; 0 answers what is there."
    )


@dataclass
class _Stream:
    """An open stream.

    Attributes:
        caller: Who listens.
        key: The key, which must stay in force.
        end: Set when the server stops.
        since: Time of the newest event sent.
        sent: Ids of events sent lately.
        session_id: One session alone; None for all.
        is_over: True if the stream is to end.
    """

    caller: Caller
    key: str
    end: Signal
    since: datetime = _EPOCH
    sent: dict[str, datetime] = field(default_factory=dict)
    session_id: str | None = None
    is_over: bool = False

    def open(self, last_id: str | None) -> None:
        """Begin after the event of an id, or else now."""
        keep_to(self.caller.tenant_id)
        with read_transaction() as db:
            now = database_now(db)
        self.since = min(_time_of(last_id), now) if last_id is not None else now
        if last_id is None:
            self._read()  # what is there already is no news
        else:
            self.sent[last_id] = self.since

    def look(self) -> list[Event]:
        """Read the events since the last look, oldest first; none while the database is away."""
        keep_to(self.caller.tenant_id)
        try:
            self.is_over = callers.find(self.key) is None
            return [] if self.is_over else self._read()
        except SQLAlchemyError as error:
            if trouble_of(error) is None:
                raise
            return []

    def _read(self) -> list[Event]:
        """Read again from a little earlier on: a transaction may end later than one that began after it."""
        fresh: list[Event] = []
        position = self.since - LOOK_BACK
        while True:
            with Scope.read(self.caller.tenant_id) as scope:
                page = read_events(scope, after=position, session_id=self.session_id, most=PAGE)
            fresh += [event for event in page if _id_of(event) not in self.sent]
            if len(page) < PAGE:
                break
            position = page[-1].at
        for event in fresh:
            self.sent[_id_of(event)] = event.at
            self.since = max(self.since, event.at)
        self.sent = {name: at for name, at in self.sent.items() if at > self.since - LOOK_BACK}
        return fresh


def _id_of(event: Event) -> str:
    return f"{_micros(event.at)}-{event.digest}"


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def _time_of(last_id: str) -> datetime:
    """Read the time of an event's id.

    Raises:
        ProblemError: The id is none of ours.
    """
    found = _ID.fullmatch(last_id)
    try:
        return _EPOCH + timedelta(microseconds=int(found[1])) if found else _refuse_id()
    except OverflowError:
        return _refuse_id()


def _refuse_id() -> datetime:
    raise ProblemError("invalid-input", "Last-Event-ID: must be the `id` of an event", field="Last-Event-ID")


async def _admit(request: Request, call: EndlessCall) -> AsyncIterator[_Stream]:
    """Let a caller with a free place in, for as long as the stream is open.

    Raises:
        ProblemError: The key is missing, wrong, or lacks the scope, or the tenant has too many streams.
    """
    caller = await to_thread.run_sync(call.caller, "read")
    places = request.app.state.event_places
    await places.enter(caller.tenant_id)
    try:
        end = request.scope[END] = Signal()
        yield _Stream(caller, key_of(request) or "", end)
    finally:
        places.leave(caller.tenant_id)


async def _open(
    stream: Annotated[_Stream, Depends(_admit)],
    wanted: Annotated[WantedEvents, Query()],
    last_event_id: Annotated[
        str | None, Header(max_length=40, description="The `id` of the last event, to go on after it.")
    ] = None,
) -> _Stream:
    stream.session_id = wanted.session_id
    await to_thread.run_sync(stream.open, last_event_id)
    return stream


_DATA: dict[str, Any] = {"text/event-stream": {"schema": ReadyEvent.model_json_schema()}}


@events.get(
    EVENTS_PATH,
    response_class=EventSourceResponse,
    openapi_extra={"responses": {"200": {"content": _DATA}}},
    **answers(ReadyEvent, "stream_events", "Stream events"),
)
async def stream_events(
    opened: Annotated[_Stream, Depends(_open)], wanted: Annotated[WantedEvents, Query()]
) -> AsyncIterator[ServerSentEvent]:
    """Send an event for each summary that takes effect, each ready artifact summary, and each asked plan.

    `opened` comes first. Names alone are sent, never text. With `Last-Event-ID` the stream goes on from
    there; events of the 20 seconds before may come once more, under the same id.
    """
    ends_at = None if wanted.for_s is None else current_time() + wanted.for_s
    yield ServerSentEvent(event="opened", id=f"{_micros(opened.since)}-", data={"at": opened.since})
    while not opened.end.is_set():
        for event in await to_thread.run_sync(opened.look):
            yield ServerSentEvent(event=event.kind, id=_id_of(event), data={"at": event.at, **event.ids})
        if opened.is_over or (ends_at is not None and current_time() >= ends_at):
            return
        with move_on_after(api_settings().event_poll_s):
            await opened.end.wait()

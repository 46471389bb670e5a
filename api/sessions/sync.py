"""Sync of a whole history: the stored turns become the turns of the caller's list."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import ApiAnswer, answers
from api.http.call import Body, ChangeCall, SessionId, documented, read_as
from api.http.errors import ProblemError, committed
from api.http.values import check_id
from api.http.waiting import CHANGES_SESSION
from api.sessions.erase import read_edit
from api.settings import api_settings
from api.turns.intake import MAX_WINDOW, MIN_WINDOW, describe_messages, store_turns
from api.turns.large_results import restore_messages, take_out
from context.conversation.compare import (
    HistoryDiff,
    compare_histories,
    leading_system,
    message_key,
    read_compacted,
)
from context.conversation.turns import parse_turn_boundaries, split_steps
from context.text.sanitize import CLEANED
from context.types import JsonObject, Message, Wire
from models.conversations.accept import find_turns_at, newest_turn
from models.conversations.history import load_oldest
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session import lock_sessions
from models.conversations.session_state import SessionState
from models.erasure.messages import Changed, edit_message
from models.erasure.sessions import merged, remove_turns
from models.scope import Scope
from models.telemetry.counters import Counted, count

router = APIRouter(prefix="/v1/sessions/{session_id}", tags=["turns"])

INSTRUCTIONS = "leading system messages are instructions of a request; they are not stored"


class HistorySync(Body):
    """The whole history of a session, as the caller holds it."""

    messages: list[JsonObject] = Field(min_length=1, description="Every message, oldest first.")
    wire: Wire = Field(Wire.OPENAI, description="The format of the messages.")
    model: str | None = Field(None, max_length=200, description="The model that answered the new turns.")
    context_window: int | None = Field(
        None, ge=MIN_WINDOW, le=MAX_WINDOW, description="Its window, in tokens."
    )
    speaker: str | None = Field(None, max_length=200, description="Who speaks, where messages do not say.")
    user_id: str | None = Field(None, max_length=200, description="The user of the new turns, for erasure.")
    revision: str | None = Field(
        None,
        max_length=50,
        description="The `revision` of an earlier answer; 409 if the session has changed since.",
    )
    append_only: bool = Field(
        default=False, description="Answer with 409 instead of editing or removing a stored turn."
    )


class SyncedTurn(ApiAnswer):
    """A turn that was added or replaced."""

    turn_id: str
    turn_index: int = Field(description="Its place in the session.")
    first_seq: int
    last_seq: int
    change: str = Field(description="`added` or `replaced`.")


class SyncAnswer(ApiAnswer):
    """Changes of a sync, in turns."""

    session_id: str
    added: int
    replaced: int = Field(description="Turns that hold other words now.")
    removed: int = Field(description="Stored turns that the list no longer holds.")
    unchanged: int
    turns: list[SyncedTurn] = Field(description="The added and the replaced turns, oldest first.")
    last_turn_id: str | None = Field(description="The newest turn: `after_turn` of the next context.")
    revision: str = Field(description="The state of the session's log; send it with the next sync.")
    requeued: int = Field(description="Pieces of work that were asked for again.")
    notes: list[str]


@dataclass(frozen=True)
class SyncOutcome:
    """A sync that is done.

    Attributes:
        diff: The steps that were taken.
        added: The places of the added turns.
        changes: The edits and removals.
        turns: The added and replaced turns, as answered.
        last_turn_id: The newest turn.
        revision: The state of the log afterwards.
    """

    diff: HistoryDiff
    added: Sequence[AcceptedTurn]
    changes: Sequence[Changed]
    turns: Sequence[dict[str, Any]]
    last_turn_id: str | None
    revision: str


@router.put(
    "/messages",
    openapi_extra=documented(HistorySync),
    dependencies=CHANGES_SESSION,
    **answers(SyncAnswer, "sync_history", "Sync a whole history"),
)
def sync_history(session_id: SessionId, call: ChangeCall) -> Response:
    """Make the stored history equal to the list sent: append, edit and remove turns as needed.

    Turns are cut by the service. The same list again changes nothing. Everything derived from an edited or
    removed turn is gone with the answer, and is made anew. Two syncs of a session run one after the other;
    `revision` and `append_only` protect from a list that is out of date.
    """
    tenant_id = call.caller("write").tenant_id
    sync, cleaned = read_as(HistorySync, call.raw)
    given = _read(sync)
    done = committed(tenant_id, lambda scope: sync_messages(scope, session_id, sync, given))
    count(Counted.TURNS, by=len(done.added))
    notes = [*([CLEANED] if cleaned else []), *([INSTRUCTIONS] if len(given) < len(sync.messages) else [])]
    answer = {
        "session_id": session_id,
        "added": len(done.added),
        "replaced": len(done.diff.edited),
        "removed": len(done.diff.removed),
        "unchanged": done.diff.unchanged_turns,
        "turns": done.turns,
        "last_turn_id": done.last_turn_id,
        "revision": done.revision,
        "requeued": len(merged(done.changes).asked),
        "notes": notes,
    }
    return Response(orjson.dumps(answer), media_type="application/json")


def _read(sync: HistorySync) -> list[Message]:
    """Read the messages of a list, without the leading instructions.

    Raises:
        AfterturnError: A message can never be sent, or the list is too long or says nothing.
    """
    limit = api_settings().max_history_messages
    if len(sync.messages) > limit:
        raise _too_long(f"messages: {len(sync.messages)} are more than {limit} in one history", limit)
    if sync.user_id:
        check_id(sync.user_id, "user_id")
    given = describe_messages(sync.messages, sync.wire, speaker=sync.speaker)
    given = given[leading_system(given) :]
    if not given:
        raise ProblemError(
            "invalid-input",
            "messages: hold a system prompt alone; send the conversation after it",
            field="messages",
        )
    return given


def _too_long(message: str, limit: int) -> ProblemError:
    return ProblemError("too-large", message, field="messages", limit=limit)


def sync_messages(scope: Scope, session_id: str, sync: HistorySync, given: Sequence[Message]) -> SyncOutcome:
    """Bring the stored history to a given history, in a transaction.

    Args:
        scope: The transaction and its tenant.
        session_id: The session; a new session is begun.
        sync: The call.
        given: The messages of the call, without instructions.

    Raises:
        ProblemError: The session has changed, or the call may not change stored turns.
    """
    session = lock_sessions(scope, [session_id])[session_id]
    stored = load_visible(scope, session)
    stored = stored[leading_system(stored) :]
    _refuse_other_format(stored, sync.wire)
    whole = restore_messages(scope, session_id, stored)
    compacted = read_compacted(whole, given)
    if compacted is not None:
        given = compacted.given
        stored, whole = ([side[place] for place in compacted.places] for side in (stored, whole))
    diff = compare_histories(whole, given)
    _refuse_unwanted(session, sync, diff, is_same=diff.keeps_all and diff.new_from == len(given))
    changes: list[Changed] = []
    for old, new in diff.edited:
        turn, said = stored[old.start : old.stop], given[new.start : new.stop]
        changes += edit_turn(scope, session_id, turn, said)
    replaced = {index for changed in changes for index in changed.turns}
    gone = [stored[index].seq for turn in diff.removed for index in turn]
    removed = remove_turns(scope, session_id, gone) if gone else None
    events = list(_events(session, sync, given[diff.new_from :]))
    added = store_turns(scope, events) if events else []
    _refuse_taken_ids(added)
    after = lock_sessions(scope, [session_id])[session_id]
    newest = newest_turn(scope, after)
    turns = [(turn, "replaced") for turn in find_turns_at(scope, session_id, sorted(replaced))]
    turns += [(turn, "added") for turn in added]
    return SyncOutcome(
        diff,
        added,
        [*changes, *([removed] if removed else [])],
        [_told(turn, change) for turn, change in turns],
        newest.turn_id if newest else None,
        revision_of(after),
    )


def load_visible(scope: Scope, session: SessionState) -> list[Message]:
    """Load the history since the last reset.

    Raises:
        ProblemError: The history is longer than a call may change.
    """
    limit = api_settings().max_history_messages
    bounds = {"after_seq": session.start_seq, "up_to_seq": session.last_seq, "most": limit + 1}
    stored = load_oldest(scope, session.session_id, **bounds)
    if len(stored) > limit:
        raise _too_long(f"the session holds more than {limit} messages; post its turns one by one", limit)
    return stored


def revision_of(session: SessionState) -> str:
    """Name the state of a session's log: each change gives another name."""
    return f"{session.generation}.{session.last_seq}"


def _refuse_other_format(stored: Sequence[Message], wire: Wire) -> None:
    other = next((message for message in stored if message.wire is not wire), None)
    if other is not None:
        raise ProblemError(
            "history-conflict",
            f"wire: message {other.seq} is stored in the format {str(other.wire)!r}, and cannot be compared "
            f"with {str(wire)!r}; send the history in the stored format, or reset the session first",
            field="wire",
            stored=str(other.wire),
        )


def _refuse_unwanted(session: SessionState, sync: HistorySync, diff: HistoryDiff, *, is_same: bool) -> None:
    present = revision_of(session)
    if sync.revision is not None and sync.revision != present and not is_same:
        raise ProblemError(
            "history-conflict",
            f"revision: the session is at {present!r}, and the list was made for {sync.revision[:50]!r}; "
            "read the turns, and send the list again",
            field="revision",
            revision=present,
        )
    if sync.append_only and not diff.keeps_all:
        raise ProblemError(
            "history-conflict",
            f"messages: the list would edit {len(diff.edited)} and remove {len(diff.removed)} stored turns; "
            "send it without `append_only`, or with the stored turns",
            field="messages",
            replaced=len(diff.edited),
            removed=len(diff.removed),
            revision=present,
        )


def _refuse_taken_ids(added: Sequence[AcceptedTurn]) -> None:
    taken = next((turn for turn in added if turn.duplicate), None)
    if taken is not None:
        raise ProblemError(
            "turn-conflict",
            f"turn_id: {taken.turn_id!r} is taken by another turn; ids that begin with 'sync-' are made here",
            field="turn_id",
            turn_index=taken.turn_index,
        )


def edit_turn(
    scope: Scope, session_id: str, turn: Sequence[Message], given: Sequence[Message]
) -> list[Changed]:
    """Edit the differing messages of a turn, each where it stands.

    Raises:
        InvalidInputError: A message does not fit in the place of the stored message.
    """
    messages, changes = list(turn), []
    whole = restore_messages(scope, session_id, messages)
    for index, new in enumerate(given):
        if message_key(whole[index]) == message_key(new):
            continue
        edit = read_edit(messages, index, new.body)
        changed = edit_message(scope, session_id, edit)
        if changed is not None:
            messages[index] = edit.new
            changes.append(changed)
    return changes


def _events(session: SessionState, sync: HistorySync, new: Sequence[Message]) -> Iterator[NewTurn]:
    """Cut new messages into turns; a very long turn is cut between its steps."""
    edges = [*parse_turn_boundaries(new), len(new)]
    for start, stop in pairwise(edges):
        for part in _parts(new[start:stop]):
            first_seq = session.last_seq + 1 + start + part.start
            messages = new[start + part.start : start + part.stop]
            taken = take_out(messages)
            yield NewTurn(
                session_id=session.session_id,
                turn_id=f"sync-{first_seq}",
                body_sha256=hashlib.sha256("\0".join(message.raw for message in messages).encode()).digest(),
                messages=taken.messages,
                model=sync.model,
                context_window=sync.context_window,
                user_id=sync.user_id or None,
                artifacts=taken.artifacts,
                uses=taken.uses,
            )


def _parts(turn: Sequence[Message]) -> Iterator[range]:
    limit, start = api_settings().max_turn_messages, 0
    for step in split_steps(turn):
        if step.stop - start > limit and step.start > start:
            yield range(start, step.start)
            start = step.start
    yield range(start, len(turn))


def _told(turn: AcceptedTurn, change: str) -> dict[str, Any]:
    return {
        "turn_id": turn.turn_id,
        "turn_index": turn.turn_index,
        "first_seq": turn.first_seq,
        "last_seq": turn.last_seq,
        "change": change,
    }

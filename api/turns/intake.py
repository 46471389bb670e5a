"""Intake of a turn event into rows: validated, described, counted, stored."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import AwareDatetime, Field

from api.http.call import Body
from api.http.errors import ProblemError
from api.http.values import IN_ORDER, check_id, encode
from api.settings import api_settings
from api.turns.large_results import measured, take_out
from context.conversation.compare import repeats_all_words
from context.conversation.tool_calls import PairFaultKind, find_pair_faults
from context.text.sanitize import CLEANED
from context.types import JsonObject, Message, Role, Wire
from context.wire import describe
from models.conversations.accept import accept_turns
from models.conversations.history import load_newest
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session import lock_sessions
from models.following_work import enqueue_following
from models.learning.served_set import name_prior_sets
from models.plans.from_turns import plans_of_turns, store_turn_plans
from models.plans.later_results import join_later_results
from models.scope import Scope


def without_repeated_words(scope: Scope, turn: NewTurn) -> NewTurn:
    """Leave out the words before a compaction that are all stored, and name them as its window.

    A provider's standalone compaction answers with every word of the user, then the compaction. Any other
    words before a compaction are the turn's own.

    Args:
        scope: The transaction and its tenant.
        turn: The turn as sent.

    Returns:
        The turn to store; the same turn if nothing is repeated.
    """
    at = max((place for place, message in enumerate(turn.messages) if message.compaction), default=0)
    lead = turn.messages[:at]
    if not lead or not all(message.starts_turn for message in lead):
        return turn
    stored = [message for message in _load(scope, turn.session_id) if message.starts_turn]
    if not repeats_all_words(stored, lead):
        return turn
    window = (*(message.seq for message in stored), 0)
    compaction = replace(turn.messages[at], compaction=window)
    uses = [replace(use, message=use.message - at) for use in turn.uses]
    return replace(turn, messages=[compaction, *turn.messages[at + 1 :]], uses=uses)


def _load(scope: Scope, session_id: str) -> list[Message]:
    session = lock_sessions(scope, [session_id])[session_id]
    bounds = {"after_seq": session.start_seq, "up_to_seq": session.last_seq}
    return load_newest(scope, session_id, **bounds, most=api_settings().max_history_messages)


MAX_WINDOW = 100_000_000
MIN_WINDOW = 2
"""A token in and a token out."""

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""Earliest accepted time; an earlier time comes from an unset clock, and the first hours are unreadable."""


class TurnBody(Body):
    """The content of a finished turn."""

    messages: list[JsonObject] = Field(min_length=1, description="The turn's messages, kept as sent.")
    model: str | None = Field(None, max_length=200, description="The model that answered.")
    context_window: int | None = Field(
        None, ge=MIN_WINDOW, le=MAX_WINDOW, description="Its window, in tokens."
    )
    usage: JsonObject | None = Field(None, description="The provider's usage report, as it came.")
    plan: JsonObject | None = Field(None, description="The plan that the turn followed, if there was one.")
    speaker: str | None = Field(None, max_length=200, description="Who speaks, where messages do not say.")
    user_id: str | None = Field(None, max_length=200, description="The user, for erasure; empty for nobody.")
    completed_at: AwareDatetime | None = Field(None, description="When the turn ended, with its zone.")
    wire: Wire = Field(Wire.OPENAI, description="The format of the messages.")


class TurnCompleted(TurnBody):
    """A finished turn, as reported by the chat platform."""

    turn_id: str = Field(description="The platform's id of this turn; makes a second delivery harmless.")


class TurnOfSession(TurnCompleted):
    """A line of a batch: a turn with its session's id."""

    session_id: str


@dataclass(frozen=True)
class Intake:
    """A turn ready to be stored, with notes.

    Attributes:
        turn: The turn.
        on_entry: Notes on the call: cleaned text, an implausible time.
        on_content: Notes on the messages of the call, read as a whole turn.
    """

    turn: NewTurn
    on_entry: tuple[str, ...]
    on_content: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes on a turn that came whole."""
        return (*self.on_entry, *self.on_content)


def read_turn(session_id: str, event: TurnCompleted, *, cleaned: bool = False) -> Intake:
    """Validate an event, read each message's facts and count the tokens, once.

    Args:
        session_id: The conversation.
        event: The event from the platform.
        cleaned: True if the event's text was cleaned on entry.

    Raises:
        AfterturnError: A part cannot be stored; the error names the field and the limit.
    """
    settings = api_settings()
    check_id(event.turn_id, "turn_id")
    if event.user_id:
        check_id(event.user_id, "user_id")  # by this name, in a path, all of the user's is erased one day
    if len(event.messages) > settings.max_turn_messages:
        raise ProblemError(
            "too-large",
            f"messages: {len(event.messages)} are more than {settings.max_turn_messages} in one turn",
            field="messages",
            limit=settings.max_turn_messages,
        )
    completed_at, clock = _plausible(event.completed_at)
    messages = describe_messages(event.messages, event.wire, speaker=event.speaker)
    taken = take_out(messages)
    turn = NewTurn(
        session_id=session_id,
        turn_id=event.turn_id,
        body_sha256=_digest(event),
        messages=taken.messages,
        model=event.model,
        context_window=event.context_window,
        usage=event.usage,
        plan=event.plan,
        user_id=event.user_id or None,
        completed_at=completed_at,
        artifacts=taken.artifacts,
        uses=taken.uses,
    )
    return Intake(turn, (*((CLEANED,) if cleaned else ()), *clock), notes_on(messages))


def read_messages(
    bodies: Sequence[JsonObject], wire: Wire, *, speaker: str | None = None, field: str = "messages"
) -> list[Message]:
    """Read the facts of unstored messages; a user's speaker is set if missing in the body.

    Raises:
        AfterturnError: A message can never be sent, or is too large.
    """
    return [measured(message) for message in describe_messages(bodies, wire, speaker=speaker, field=field)]


def describe_messages(
    bodies: Sequence[JsonObject], wire: Wire, *, speaker: str | None = None, field: str = "messages"
) -> list[Message]:
    """Read the facts of messages as sent, not counted yet.

    Raises:
        AfterturnError: A message can never be sent, or is too large.
    """
    return [_describe(body, wire, speaker, f"{field}[{index}]") for index, body in enumerate(bodies)]


def _describe(body: JsonObject, wire: Wire, speaker: str | None, field: str) -> Message:
    """Read a message's facts; tokens are counted after large results are taken out."""
    facts = describe(body, wire, field)
    raw = encode(body)
    limit = api_settings().max_message_bytes
    if len(raw) > limit:
        raise ProblemError(
            "too-large", f"{field}: {len(raw)} bytes are more than {limit}", field=field, limit=limit
        )
    named = facts.speaker or (speaker if facts.role is Role.USER and not facts.answer_ids else None)
    message = Message(
        seq=0,
        role=facts.role,
        tokens=0,
        raw=raw.decode(),
        call_ids=facts.call_ids,
        answer_ids=facts.answer_ids,
        wire=wire,
        speaker=named,
        compaction=(0,) if facts.compacts else (),
    )
    vars(message)["body"] = body  # it is decoded already
    return message


def _digest(event: TurnCompleted) -> bytes:
    """Hash an event, independent of the order of keys."""
    content = event.model_dump(mode="json", exclude={"session_id"}, exclude_none=True)
    return hashlib.sha256(encode(content, IN_ORDER)).digest()


def _plausible(completed_at: datetime | None) -> tuple[datetime | None, tuple[str, ...]]:
    """Return a time in UTC: the database refuses zones that are 16 hours or more from it.

    Returns:
        None for a time that cannot be, with a note.
    """
    ahead = timedelta(seconds=api_settings().max_future_s)
    if completed_at is None:
        return None, ()
    if EARLIEST <= completed_at <= datetime.now(UTC) + ahead:
        return completed_at.astimezone(UTC), ()
    where = "before 1970" if completed_at < EARLIEST else "in the future"
    return None, (f"completed_at lies {where}; the time of receipt counts instead",)


def notes_on(messages: list[Message]) -> tuple[str, ...]:
    """Return notes on the accepted but unusual content of a whole turn, for the platform."""
    faults = find_pair_faults(messages)
    notes = []
    if not any(message.starts_turn for message in messages):
        notes.append("no user message: counted as a part of the turn before it")
    unanswered = [fault.call_id for fault in faults if fault.kind is PairFaultKind.CALL_WITHOUT_RESULT]
    if unanswered:
        notes.append(f"tool calls without a result: {_names(unanswered)}; unfinished until it arrives")
    orphans = [fault.call_id for fault in faults if fault.kind is not PairFaultKind.CALL_WITHOUT_RESULT]
    if orphans:
        notes.append(
            f"tool results without their own call in this turn: {_names(orphans)}; left out of a window "
            "unless an earlier turn made the call"
        )
    return tuple(notes)


def _names(ids: list[str], most: int = 5) -> str:
    return ", ".join(repr(name[:80]) for name in ids[:most]) + (" …" if len(ids) > most else "")


def store_turns(scope: Scope, turns: Sequence[NewTurn]) -> list[AcceptedTurn]:
    """Append turns and queue the resulting work, in a transaction."""
    turns = [without_repeated_words(scope, turn) for turn in turns]
    plans = plans_of_turns(turns)
    answers, sessions = accept_turns(scope, turns)
    came_new = [plan for plan, answer in zip(plans, answers, strict=True) if plan and not answer.duplicate]
    store_turn_plans(scope, name_prior_sets(scope, came_new))
    placed = zip(turns, answers, strict=True)
    join_later_results(scope, [(turn, place) for turn, place in placed if not place.duplicate])
    enqueue_following(scope, turns, answers, sessions)
    return answers


def receipt(accepted: AcceptedTurn, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The answer to an accepted turn."""
    answer: dict[str, Any] = {
        "session_id": accepted.session_id,
        "turn_id": accepted.turn_id,
        "turn_index": accepted.turn_index,
        "first_seq": accepted.first_seq,
        "last_seq": accepted.last_seq,
        "duplicate": accepted.duplicate,
        **({"erased": True} if accepted.erased else {}),
    }
    return {**answer, "notes": list(notes)} if notes else answer


def conflict(accepted: AcceptedTurn) -> ProblemError:
    """Build the error for a turn id already stored with another body."""
    return ProblemError(
        "turn-conflict",
        f"turn_id: {accepted.turn_id!r} is stored with another body; send a new turn under a new id",
        field="turn_id",
        turn_index=accepted.turn_index,
    )

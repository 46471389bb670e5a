"""Read what there is of a session and build the window of a request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from api.context.activation import CacheForecast, arrivals_in, forecast_cache
from api.context.artifact_plan import LEFT_TO_STEPS
from api.context.artifact_question import ArtifactQuestion, Room, choose_models
from api.context.artifact_summaries import find_maker
from api.context.artifacts import ArtifactSelection, gather_artifacts
from api.context.recall import RecallQuestion, UserQuestion, let_first, recall, recall_user, user_limits_of
from api.context.reported_usage import cached_share, caches, calibrations
from api.context.session_request import PreparedRequest
from api.context.shown_before import opening_seq, put_in_place, shown_before
from api.context.tail import Tail, load_tail, notes_of
from api.context.tools import canonical_room
from api.turns.large_results import restore_messages
from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.needs_plan import ARTIFACT_TOKENS, canonical_tokens, most_share_of_old
from context.artifact_plans.question import Asking, asking, looks_back, recall_question, standing_question
from context.artifacts.split import fit_restored, pointed_artifacts, put_back_newest
from context.conversation.turns import open_turn_of, opening_of
from context.preflight.config import FULL_MEMORY
from context.recall.offer import NO_OFFER, RecallOffer, RecallStatus
from context.types import Message
from context.window.assemble import ActiveSummary, Window, WindowRequest, build_messages
from context.window.emergency import certify_left_out
from context.window.outgoing import RefusedBefore
from context.wire.edit import with_speakers
from models.artifacts.settings import planning_settings
from models.recall.settings import recall_settings
from models.scope import Scope
from models.telemetry.tracing import span

LEAN_RELEVANCE = 0.75
"""Share of a question's words that an artifact must hold to come before a turn of steps."""

LEAN_SCORE = 0.25
"""Least score of recall before a turn of steps: questions for a fact have .4 and more, most orders less."""


@dataclass(frozen=True)
class WindowInputs:
    """Inputs of a window.

    Attributes:
        prepared: The request with its choices.
        request: All parts that the window may hold.
        shelving: The selected artifacts.
        in_place: Artifacts shown in the messages of earlier turns.
        turn_from: First message of the present turn.
    """

    prepared: PreparedRequest
    request: WindowRequest
    shelving: ArtifactSelection
    in_place: Sequence[str] = ()
    turn_from: int = 0


@dataclass(frozen=True)
class FilledWindow:
    """A window with its inputs."""

    inputs: WindowInputs
    window: Window

    @property
    def prepared(self) -> PreparedRequest:
        """The request with its choices."""
        return self.inputs.prepared

    @property
    def shelving(self) -> ArtifactSelection:
        """The selected artifacts."""
        return self.inputs.shelving

    @property
    def bare_from(self) -> int | None:
        """First message of a turn that has outgrown its beginning; None for another turn."""
        return self.inputs.turn_from if self.window.is_bare else None

    @cached_property
    def forecast(self) -> CacheForecast:
        """Forecast of the provider's cached part of the window."""
        return forecast_cache(self.prepared.standing, self.prepared.size, self.window)


def build_window(prepared: PreparedRequest) -> FilledWindow:
    """Read the history of a session and build the window."""
    inputs = gather(prepared)
    with span("assemble window"):
        window = build_messages(inputs.request)
    left_out = prepared.standing.session.left_out if prepared.standing else None
    if left_out is not None:
        window = replace(window, certificate=certify_left_out(window.certificate, left_out))
    return FilledWindow(inputs, window)


def gather(prepared: PreparedRequest) -> WindowInputs:
    """Read history, artifacts, and passages of older turns about the new messages.

    An open turn is read as sent, with its large results as far as the room allows.
    """
    tenant_id, request, given = prepared.tenant_id, prepared.request, prepared.given
    standing, budget = prepared.standing, prepared.budget
    known = prepared.tail or load_tail(tenant_id, standing, request.model, budget)
    notes = notes_of(standing)
    turn = [*open_turn_of(known.messages, given.new), *given.new]
    turn_from = opening_seq(turn, standing.session.last_seq if standing else 0)
    kept = shown_before(tenant_id, standing, request.model, budget, turn)
    known = Tail(*kept.hide(known.messages, known.unread))
    messages, shown = _open(prepared, known.messages, room_tokens=_left_tokens(prepared, notes, given.new))
    before = messages[: len(messages) - len(open_turn_of(messages, given.new))]
    going_on = messages[len(before) :]
    opening = opening_of([*going_on, *given.new])
    before, in_place = _put_in_place(prepared, notes, opening, Tail(before, known.unread))
    messages = [*before, *going_on]
    question = recall_question(given.said, messages)
    room = _room(prepared, notes, opening, Tail(before, known.unread))
    with span("gather artifacts"):
        shelving = _select(prepared, messages, going_on, room, shown.union(in_place))
    with span("recall passages") as step:
        recalled, of_user = _recall(prepared, question, Tail(before, known.unread), notes, opening)
        found = len(recalled.passages) + (len(of_user.passages) if of_user else 0)
        step.tell(afterturn__passages=found)
    asked = WindowRequest(
        model=request.model,
        budget=budget,
        new=given.new,
        tail=with_speakers(messages) if request.speakers else messages,
        system=given.system,
        tools=given.tools,
        notes=notes,
        compacted=standing.compacted.messages if standing and standing.compacted else (),
        recall=recalled,
        unread=known.unread,
        user_recall=of_user,
        shelf=shelving.shelf,
        wire=request.wire,
        calibration=calibrations.find(tenant_id, request.model),
        refused=_refused_before(prepared),
        keeps_prefix=caches(tenant_id, request.model, most_tokens=budget.input_tokens),
        is_bare=kept.is_bare,
        has_steps=standing is not None and standing.session.expects_steps,
    )
    return WindowInputs(prepared, asked, shelving, in_place, turn_from)


def _recall(
    prepared: PreparedRequest,
    question: str,
    tail: Tail,
    notes: ActiveSummary | None,
    new: Sequence[Message],
) -> tuple[RecallOffer, RecallOffer | None]:
    """Find what bears on the question: in the session, and where asked for in the user's other sessions."""
    request, standing = prepared.request, prepared.standing
    memory = prepared.given.judged.found.memory if prepared.given.judged else None
    room = _history_tokens(prepared, notes, new)
    own = NO_OFFER
    if prepared.is_lean and not looks_back(question):
        own = RecallOffer(status=RecallStatus.SKIPPED)
    elif standing:
        own = recall(
            RecallQuestion(
                prepared.tenant_id,
                standing.session,
                question,
                prepared.budget,
                room,
                tail.messages,
                tail.unread,
                memory,
                [message.seq for message in standing.compacted.messages] if standing.compacted else (),
            )
        )
    if prepared.is_lean:
        lean = replace(own.limits, tight_share=0.0, free_share=0.0, rest_share=0.0, least_score=LEAN_SCORE)
        own = replace(own, limits=lean)
    if not request.recalls_user:
        return own, None
    limits = user_limits_of(recall_settings(), memory or FULL_MEMORY, prepared.budget)
    session_id = standing.session.session_id if standing else None
    asked = UserQuestion(prepared.tenant_id, session_id, request.user_id or None, question, limits, room)
    return own, let_first(recall_user(asked), own)


def _select(
    prepared: PreparedRequest,
    messages: Sequence[Message],
    going_on: Sequence[Message],
    room: Room,
    shown: frozenset[str],
) -> ArtifactSelection:
    """Gather artifacts beside those that the messages show; before steps only for a specific question."""
    tenant_id, request, given = prepared.tenant_id, prepared.request, prepared.given
    session = prepared.standing.session if prepared.standing else None
    wanted = ArtifactQuery(standing_question(given.said, messages), request.focus)
    if prepared.is_lean and asking(wanted.query) is not Asking.SPECIFIC:
        return ArtifactSelection(planned=LEFT_TO_STEPS)
    chosen = choose_models(tenant_id, request)
    return gather_artifacts(
        ArtifactQuestion(
            tenant_id=tenant_id,
            session=session,
            attachments=request.attachments or (),
            wanted=wanted,
            chosen=chosen,
            room=room,
            wait_ms=request.wait_ms,
            shown=shown,
            goes_on=any(message.answer_ids for message in given.new),
            by_rule=prepared.variant.shows_whole,
            asks_plans=prepared.variant.asks_plans,
            in_force=find_maker(chosen.summarizer),
            arrivals=arrivals_in(tenant_id, request.model, session, [*going_on, *given.new]),
            cached_share=0.0 if prepared.budget.is_narrowed else cached_share(tenant_id, request.model),
            least_relevance=LEAN_RELEVANCE if prepared.is_lean else 0.0,
            ahead=prepared.loaded.ahead,
        )
    )


def _refused_before(prepared: PreparedRequest) -> RefusedBefore:
    """Read which parts of earlier windows the session's provider refused."""
    if prepared.standing is None:
        return RefusedBefore(is_new=prepared.variant.is_unsigned)
    session = prepared.standing.session
    return RefusedBefore(session.unsigned_seq, prepared.variant.is_unsigned, session.most_images)


def _open(
    prepared: PreparedRequest, tail: Sequence[Message], *, room_tokens: int
) -> tuple[Sequence[Message], frozenset[str]]:
    """Put results back into the turn continued by the new messages; name the artifacts shown there.

    Results that do not fit stay pointers, the oldest first, and are read like those of earlier turns. Where
    artifacts are in shadow, the turns before are put back as well.
    """
    standing = prepared.standing
    going_on = tail if prepared.variant.shows_whole else open_turn_of(tail, prepared.given.new)
    if standing is None or not any(message.answer_ids for message in going_on):
        return tail, frozenset()
    with Scope.read(prepared.tenant_id) as scope:
        whole = restore_messages(scope, standing.session.session_id, going_on)
    put_back = put_back_newest if prepared.variant.shows_whole else fit_restored
    restored = put_back(going_on, whole, room_tokens=room_tokens)
    shown = {
        artifact_id
        for before, after in zip(going_on, restored, strict=True)
        if before is not after
        for artifact_id in pointed_artifacts(before)
    }
    return [*tail[: len(tail) - len(restored)], *restored], frozenset(shown)


def _put_in_place(
    prepared: PreparedRequest, notes: ActiveSummary | None, opening: Sequence[Message], history: Tail
) -> tuple[Sequence[Message], Sequence[str]]:
    """Put results of earlier turns into their messages where a cache keeps them, and nobody wants less."""
    standing = prepared.standing
    is_kept = prepared.variant.shows_whole or prepared.variant.is_refused or prepared.budget.is_narrowed
    if standing is None or is_kept or standing.session.left_out:
        return history.messages, ()
    if prepared.is_lean and (notes or history.unread):
        return history.messages, ()
    if not caches(prepared.tenant_id, prepared.request.model):
        return history.messages, ()
    room = _room(prepared, notes, opening, history)
    return put_in_place(prepared.tenant_id, standing.session, history.messages, room, prepared.loaded.ahead)


def _left_tokens(prepared: PreparedRequest, notes: ActiveSummary | None, new: Sequence[Message]) -> int:
    """Estimate the room beside the summary and all required parts, in canonical tokens."""
    given = prepared.given
    fixed = given.tools_tokens + (given.system.tokens if given.system else 0)
    fixed += sum(message.tokens for message in new) + ((notes.tokens or 0) if notes else 0)
    return max(canonical_room(prepared.budget, prepared.request.model) - fixed, 0)


def _history_tokens(prepared: PreparedRequest, notes: ActiveSummary | None, new: Sequence[Message]) -> int:
    """Estimate the room for raw history beside its summary, in canonical tokens."""
    left, limit = _left_tokens(prepared, notes, new), prepared.budget.history_limit
    if limit is None:
        return left
    most = canonical_tokens(limit.tokens, prepared.request.model) - ((notes.tokens or 0) if notes else 0)
    return max(min(left, most), 0)


def _room(
    prepared: PreparedRequest, notes: ActiveSummary | None, new: Sequence[Message], history: Tail
) -> Room:
    """Compute the room that history leaves for artifacts; hidden history counts, so a turn keeps its room."""
    whole = _history_tokens(prepared, notes, new)
    most = most_share_of_old(whole, planning_settings().artifact_most_share)
    most = min(most, ARTIFACT_TOKENS / max(whole, 1)) if prepared.is_lean else most
    raw = sum(message.tokens for message in history.messages)
    raw += (history.unread.tokens or 0) if history.unread else 0
    brought = bool(prepared.request.attachments)
    return Room(whole, raw, 1.0 if brought else most, has_attachments=brought)

"""Read what there is of a session and build the window of a request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from api.context.activation import arrivals_in
from api.context.artifact_plan import LEFT_TO_STEPS
from api.context.artifact_summaries import find_maker
from api.context.artifacts import ArtifactQuestion, ArtifactSelection, Room, gather_artifacts
from api.context.prepare import choose_models
from api.context.recall import RecallQuestion, UserQuestion, let_first, recall, recall_user, user_limits_of
from api.context.reported_usage import cached_share, caches, calibrations
from api.context.request import ContextRequest, ParsedRequest
from api.context.shown_before import opening_seq, put_in_place, shown_before
from api.context.tail import notes_of, read_tail
from api.context.tools import canonical_room
from api.turns.large_results import restore_messages
from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.needs_plan import ARTIFACT_TOKENS, canonical_tokens, most_share_of_old
from context.artifact_plans.question import Asking, asking, looks_back, recall_question, standing_question
from context.artifacts.split import fit_restored, pointed_artifacts, put_back_newest
from context.conversation.turns import open_turn_of, opening_of
from context.preflight.config import FULL_MEMORY
from context.recall.offer import NO_OFFER, RecallOffer, RecallStatus
from context.shadow.verdict import EVERY_PART, ShadowPart
from context.tokens.budget import Budget
from context.types import Message
from context.window.assemble import ActiveSummary, Unread, Window, WindowRequest, build_messages
from context.window.emergency import certify_left_out
from context.window.outgoing import RefusedBefore
from context.wire.edit import with_speakers
from models.artifacts.settings import planning_settings
from models.conversations.standing import SessionSnapshot
from models.database import read_transaction
from models.read_ahead import ReadAhead
from models.recall.user import recall_settings
from models.telemetry.tracing import span

LEAN_RELEVANCE = 0.75
"""Share of a question's words that an artifact must hold to come before a turn of steps."""

LEAN_SCORE = 0.25
"""Least score of recall before a turn of steps: questions for a fact have .4 and more, most orders less."""


@dataclass(frozen=True)
class Tail:
    """The newest raw messages of a session.

    Attributes:
        messages: Oldest first.
        unread: Older ones that were not read.
    """

    messages: Sequence[Message] = ()
    unread: Unread | None = None


@dataclass(frozen=True)
class WindowQuery:
    """The window that is wanted.

    Attributes:
        tenant_id: Whose it is.
        request: What was asked.
        given: The same, read, with what was chosen for it.
        standing: How the session stands; None where it is not stored.
        budget: What the window may hold.
        applied: The parts that are used; see `context.shadow.verdict`.
        is_trial: Whether nothing comes of it: no plan is asked for.
        is_unsigned: Whether the reasoning of the new messages was refused just now.
        is_refused: Whether the window was too large: no results are put back into earlier turns.
        ahead: Rows of the session that were read ahead; None for none.
    """

    tenant_id: UUID
    request: ContextRequest
    given: ParsedRequest
    standing: SessionSnapshot | None
    budget: Budget
    applied: frozenset[ShadowPart] = EVERY_PART
    is_trial: bool = False
    is_unsigned: bool = False
    is_refused: bool = False
    ahead: ReadAhead | None = None

    @property
    def shows_whole(self) -> bool:
        """Whether tool results appear in full, as far as they fit."""
        return ShadowPart.EXTRACTS not in self.applied

    @property
    def is_lean(self) -> bool:
        """Whether the text before a turn of steps stays short, since the steps can read artifacts again.

        Text between history and a turn goes at the next turn; the provider's cache then loses the whole turn.
        """
        request = self.request
        if request.attachments or request.focus or self.budget.is_narrowed or self.shows_whole:
            return False
        session = self.standing.session if self.standing else None
        has_steps = bool(self.given.tools.tools) and session is not None and session.expects_steps
        return has_steps and caches(self.tenant_id, request.model)


@dataclass(frozen=True)
class WindowInputs:
    """Inputs of a window, and the selected artifacts for the answer."""

    request: WindowRequest
    shelving: ArtifactSelection
    in_place: Sequence[str] = ()
    turn_from: int = 0


@dataclass(frozen=True)
class FilledWindow:
    """A window with its request, and the selected artifacts for the answer."""

    window: Window
    shelving: ArtifactSelection
    asked: WindowRequest
    in_place: Sequence[str] = ()
    turn_from: int = 0

    @property
    def bare_from(self) -> int | None:
        """First message of a turn that has outgrown its beginning; None for another turn."""
        return self.turn_from if self.window.is_bare else None


def fill_window(sought: WindowQuery, tail: Tail | None = None) -> FilledWindow:
    """Read the history of a session and build the window."""
    gathered = gather(sought, tail)
    with span("assemble window"):
        window = build_messages(gathered.request)
    left_out = sought.standing.session.left_out if sought.standing else None
    if left_out is not None:
        window = replace(window, certificate=certify_left_out(window.certificate, left_out))
    return FilledWindow(window, gathered.shelving, gathered.request, gathered.in_place, gathered.turn_from)


def gather(sought: WindowQuery, tail: Tail | None = None) -> WindowInputs:
    """Read history, artifacts, and passages of older turns about the new messages.

    An open turn is read as sent, with its large results as far as the room allows.
    """
    tenant_id, request, given = sought.tenant_id, sought.request, sought.given
    standing, budget = sought.standing, sought.budget
    known = tail or load_tail(tenant_id, standing, request.model, budget)
    notes = notes_of(standing)
    turn = [*open_turn_of(known.messages, given.new), *given.new]
    turn_from = opening_seq(turn, standing.session.last_seq if standing else 0)
    kept = shown_before(tenant_id, standing, request.model, budget, turn)
    known = Tail(*kept.hide(known.messages, known.unread))
    messages, shown = _open(sought, known.messages, room_tokens=_left_tokens(sought, notes, given.new))
    before = messages[: len(messages) - len(open_turn_of(messages, given.new))]
    going_on = messages[len(before) :]
    opening = opening_of([*going_on, *given.new])
    before, in_place = _put_in_place(sought, notes, opening, Tail(before, known.unread))
    messages = [*before, *going_on]
    question = recall_question(given.said, messages)
    room = _room(sought, notes, opening, Tail(before, known.unread))
    with span("gather artifacts"):
        shelving = _select(sought, messages, going_on, room, shown.union(in_place))
    with span("recall passages") as step:
        recalled, of_user = _recall(sought, question, Tail(before, known.unread), notes, opening)
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
        refused=_refused_before(sought),
        keeps_prefix=caches(tenant_id, request.model),
        is_bare=kept.is_bare,
        has_steps=standing is not None and standing.session.expects_steps,
    )
    return WindowInputs(asked, shelving, in_place, turn_from)


def _recall(
    sought: WindowQuery,
    question: str,
    tail: Tail,
    notes: ActiveSummary | None,
    new: Sequence[Message],
) -> tuple[RecallOffer, RecallOffer | None]:
    """Find what bears on the question: in the session, and where asked for in the user's other sessions."""
    request, standing = sought.request, sought.standing
    memory = sought.given.judged.found.memory if sought.given.judged else None
    room = _history_tokens(sought, notes, new)
    own = NO_OFFER
    if sought.is_lean and not looks_back(question):
        own = RecallOffer(status=RecallStatus.SKIPPED)
    elif standing:
        own = recall(
            RecallQuestion(
                sought.tenant_id,
                standing.session,
                question,
                sought.budget,
                room,
                tail.messages,
                tail.unread,
                memory,
                [message.seq for message in standing.compacted.messages] if standing.compacted else (),
            )
        )
    if sought.is_lean:
        own = replace(
            own, limits=replace(own.limits, tight_share=0.0, free_share=0.0, least_score=LEAN_SCORE)
        )
    if not request.recalls_user:
        return own, None
    limits = user_limits_of(recall_settings(), memory or FULL_MEMORY, sought.budget)
    session_id = standing.session.session_id if standing else None
    asked = UserQuestion(sought.tenant_id, session_id, request.user_id or None, question, limits, room)
    return own, let_first(recall_user(asked), own)


def _select(
    sought: WindowQuery,
    messages: Sequence[Message],
    going_on: Sequence[Message],
    room: Room,
    shown: frozenset[str],
) -> ArtifactSelection:
    """Gather artifacts beside those that the messages show; before steps only for a specific question."""
    tenant_id, request, given = sought.tenant_id, sought.request, sought.given
    session = sought.standing.session if sought.standing else None
    wanted = ArtifactQuery(standing_question(given.said, messages), request.focus)
    if sought.is_lean and asking(wanted.query) is not Asking.SPECIFIC:
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
            by_rule=sought.shows_whole,
            is_trial=sought.is_trial,
            in_force=find_maker(chosen.summarizer),
            arrivals=arrivals_in(tenant_id, request.model, session, [*going_on, *given.new]),
            cached_share=0.0 if sought.budget.is_narrowed else cached_share(tenant_id, request.model),
            least_relevance=LEAN_RELEVANCE if sought.is_lean else 0.0,
            ahead=sought.ahead,
        )
    )


def _refused_before(sought: WindowQuery) -> RefusedBefore:
    """Read which parts of earlier windows the session's provider refused."""
    if sought.standing is None:
        return RefusedBefore(is_new=sought.is_unsigned)
    session = sought.standing.session
    return RefusedBefore(session.unsigned_seq, sought.is_unsigned, session.most_images)


def load_tail(
    tenant_id: UUID,
    standing: SessionSnapshot | None,
    model: str,
    budget: Budget,
    ahead: ReadAhead | None = None,
) -> Tail:
    """Read the newest raw messages, as many as the budget may take."""
    if standing is None:
        return Tail()
    with span("load tail") as step, read_transaction() as db:
        newest = ahead.newest if ahead else None
        tail = Tail(*read_tail(db, tenant_id, standing, model, budget, newest=newest))
        step.tell(afterturn__messages=len(tail.messages))
        return tail


def _open(
    sought: WindowQuery, tail: Sequence[Message], *, room_tokens: int
) -> tuple[Sequence[Message], frozenset[str]]:
    """Put results back into the turn continued by the new messages; name the artifacts shown there.

    Results that do not fit stay pointers, the oldest first, and are read like those of earlier turns. Where
    artifacts are in shadow, the turns before are put back as well.
    """
    standing = sought.standing
    going_on = tail if sought.shows_whole else open_turn_of(tail, sought.given.new)
    if standing is None or not any(message.answer_ids for message in going_on):
        return tail, frozenset()
    with read_transaction() as db:
        whole = restore_messages(db, sought.tenant_id, standing.session.session_id, going_on)
    put_back = put_back_newest if sought.shows_whole else fit_restored
    restored = put_back(going_on, whole, room_tokens=room_tokens)
    shown = {
        artifact_id
        for before, after in zip(going_on, restored, strict=True)
        if before is not after
        for artifact_id in pointed_artifacts(before)
    }
    return [*tail[: len(tail) - len(restored)], *restored], frozenset(shown)


def _put_in_place(
    sought: WindowQuery, notes: ActiveSummary | None, opening: Sequence[Message], history: Tail
) -> tuple[Sequence[Message], Sequence[str]]:
    """Put results of earlier turns into their messages where a cache keeps them, and nobody wants less."""
    standing = sought.standing
    is_kept = sought.shows_whole or sought.is_refused or sought.budget.is_narrowed
    if standing is None or is_kept or standing.session.left_out:
        return history.messages, ()
    if sought.is_lean and (notes or history.unread):
        return history.messages, ()
    if not caches(sought.tenant_id, sought.request.model):
        return history.messages, ()
    room = _room(sought, notes, opening, history)
    return put_in_place(sought.tenant_id, standing.session, history.messages, room, sought.ahead)


def _left_tokens(sought: WindowQuery, notes: ActiveSummary | None, new: Sequence[Message]) -> int:
    """Estimate the room beside the summary and all required parts, in canonical tokens."""
    given = sought.given
    fixed = given.tools_tokens + (given.system.tokens if given.system else 0)
    fixed += sum(message.tokens for message in new) + ((notes.tokens or 0) if notes else 0)
    return max(canonical_room(sought.budget, sought.request.model) - fixed, 0)


def _history_tokens(sought: WindowQuery, notes: ActiveSummary | None, new: Sequence[Message]) -> int:
    """Estimate the room for raw history beside its summary, in canonical tokens."""
    left, limit = _left_tokens(sought, notes, new), sought.budget.history_limit
    if limit is None:
        return left
    most = canonical_tokens(limit.tokens, sought.request.model) - ((notes.tokens or 0) if notes else 0)
    return max(min(left, most), 0)


def _room(sought: WindowQuery, notes: ActiveSummary | None, new: Sequence[Message], history: Tail) -> Room:
    """Compute the room that history leaves for artifacts; hidden history counts, so a turn keeps its room."""
    whole = _history_tokens(sought, notes, new)
    most = most_share_of_old(whole, planning_settings().artifact_most_share)
    most = min(most, ARTIFACT_TOKENS / max(whole, 1)) if sought.is_lean else most
    raw = sum(message.tokens for message in history.messages)
    raw += (history.unread.tokens or 0) if history.unread else 0
    brought = bool(sought.request.attachments)
    return Room(whole, raw, 1.0 if brought else most, has_attachments=brought)

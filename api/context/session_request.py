"""A context request with its session, and the variant of its window: ordinary, tried, in shadow, refused."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

from api.context.activation import RequestSize
from api.context.artifact_plan import question_keys
from api.context.artifact_question import choose_models
from api.context.full_history import NewPart, stand_under
from api.context.reported_usage import caches
from api.context.request import (
    NO_LIMITS,
    ContextRequest,
    ParsedRequest,
    WindowLimits,
    ask,
    budget_of,
    find_limits,
    with_known_window,
)
from api.context.tail import MAX_READ, MIN_READ, MORE_THAN_AVERAGE, Tail
from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.question import Asking, asking, standing_question
from context.shadow.verdict import EVERY_PART, ShadowPart
from context.tokens.budget import Budget
from models.artifacts.settings import planning_settings
from models.conversations.session_state import LEAST_TURNS, MESSAGES_OF_STEPS
from models.conversations.standing import SessionSnapshot
from models.read_ahead import AheadQuery, ReadAhead, Steps, read_ahead
from models.scope import Scope
from models.telemetry.tracing import span


@dataclass(frozen=True)
class WindowVariant:
    """Differences of a window from the ordinary window of its request.

    Attributes:
        applied: Parts in use; see `context.shadow.verdict`.
        records: True to count and record the decision of preflight.
        asks_plans: True to request a missing plan of artifacts.
        is_unsigned: True if the reasoning of the new messages was refused just now.
        is_refused: True if the window was too large: no results are put back into earlier turns.
    """

    applied: frozenset[ShadowPart] = EVERY_PART
    records: bool = True
    asks_plans: bool = True
    is_unsigned: bool = False
    is_refused: bool = False

    @property
    def shows_whole(self) -> bool:
        """True if tool results appear in full, as far as they fit."""
        return ShadowPart.EXTRACTS not in self.applied


@dataclass(frozen=True)
class LoadedRequest:
    """A request with the state of its session, before any choice.

    Attributes:
        tenant_id: The caller's tenant.
        session_id: The session's id.
        part: The new part of the request as sent.
        request: The new part, with the known window of the model.
        parsed: The parsed request.
        limits: Limits of the window from other sources.
        standing: The session's true state, as seen by the request; None for an unstored session.
        variant: The variant of the window.
        ahead: Rows of the session read with its state; None for none.
        is_whole: True to show all history raw beside a summary made for smaller windows.
    """

    tenant_id: UUID
    session_id: str
    part: NewPart
    request: ContextRequest
    parsed: ParsedRequest
    limits: WindowLimits
    standing: SessionSnapshot | None = None
    variant: WindowVariant = WindowVariant()
    ahead: ReadAhead | None = None
    is_whole: bool = False

    @cached_property
    def budget(self) -> Budget:
        """The window's budget."""
        return budget_of(self.request, self.limits)

    @cached_property
    def shown(self) -> SessionSnapshot | None:
        """The session's state for the window; without summaries all is raw.

        A provider's compaction is the provider's own, and stays.
        """
        standing = self.standing
        is_summarized = ShadowPart.SUMMARIES in self.variant.applied and not self.is_whole
        if standing is None or is_summarized or standing.compacted:
            return standing
        return replace(standing, session=standing.session.unsummarized, summary=None)

    def at(self, standing: SessionSnapshot | None) -> "LoadedRequest":
        """Return the same request at another state of its session, without the rows of the earlier state."""
        return replace(self, standing=self._under(standing), ahead=None)

    def varied(self, variant: WindowVariant) -> "LoadedRequest":
        """Return the same request for another variant of its window, without waiting for a plan."""
        return replace(
            self, request=self.request.model_copy(update={"wait_ms": 0}), variant=variant, ahead=None
        )

    def _under(self, standing: SessionSnapshot | None) -> SessionSnapshot | None:
        """Return the state under a provider's compaction, and before the messages brought again."""
        under = stand_under(
            self.tenant_id, standing, request=self.request, new=self.parsed.new, budget=self.budget
        )
        return self.part.before(under)


def load_request(
    tenant_id: UUID,
    session_id: str,
    part: NewPart,
    parsed: ParsedRequest,
    variant: WindowVariant = WindowVariant(),
) -> LoadedRequest:
    """Read the state of a request's session, with the rows for its window, by one statement."""
    request = part.request
    with span("load standing"), Scope.read(tenant_id) as scope:
        ahead = _read_ahead(scope, session_id, request, parsed, applied=variant.applied)
        standing = ahead.standing if ahead else None
        limits = find_limits(scope, request.model, session_id, standing)
    request = with_known_window(tenant_id, request, standing)
    loaded = LoadedRequest(tenant_id, session_id, part, request, parsed, limits, variant=variant)
    return replace(loaded.at(standing), ahead=ahead)


def _read_ahead(
    scope: Scope,
    session_id: str,
    request: ContextRequest,
    given: ParsedRequest,
    *,
    applied: Collection[ShadowPart],
) -> ReadAhead | None:
    """Read the rows that a request needs; None for an unstored session.

    A guess about the session costs nothing: rows that the answer needs otherwise are read later.
    """
    wanted = ArtifactQuery(standing_question(given.new), request.focus)
    query = AheadQuery(
        scope.tenant_id,
        session_id,
        request.model,
        message_tokens=budget_of(request, NO_LIMITS).input_tokens * MORE_THAN_AVERAGE,
        least_messages=MIN_READ,
        most_messages=MAX_READ,
        newest_uses=planning_settings().artifact_newest,
        question=question_keys(wanted, choose_models(scope.tenant_id, request).planner),
        unless=_left_to_steps(scope.tenant_id, request, wanted, applied),
    )
    return read_ahead(scope.db, query)


def _left_to_steps(
    tenant_id: UUID, request: ContextRequest, wanted: ArtifactQuery, applied: Collection[ShadowPart]
) -> Steps | None:
    """Describe sessions whose turns of steps read artifacts again; see `PreparedRequest.is_lean`."""
    brings = request.attachments or request.focus or request.budget is not None
    if brings or ShadowPart.EXTRACTS not in applied or not (request.tools or request.catalog):
        return None
    if asking(wanted.query) is Asking.SPECIFIC or not caches(tenant_id, request.model):
        return None
    return Steps(LEAST_TURNS, MESSAGES_OF_STEPS)


@dataclass(frozen=True)
class PreparedRequest:
    """A request with the choices made for its window.

    Attributes:
        loaded: The request with its session.
        given: The parsed request, with the choices.
        size: Size of the request beside history.
        tail: The newest raw messages; None if not read yet.
    """

    loaded: LoadedRequest
    given: ParsedRequest
    size: RequestSize
    tail: Tail | None = None

    @property
    def tenant_id(self) -> UUID:
        """The caller's tenant."""
        return self.loaded.tenant_id

    @property
    def request(self) -> ContextRequest:
        """The request."""
        return self.loaded.request

    @property
    def variant(self) -> WindowVariant:
        """The variant of the window."""
        return self.loaded.variant

    @property
    def standing(self) -> SessionSnapshot | None:
        """The session's state for the window; None for an unstored session."""
        return self.loaded.shown

    @property
    def budget(self) -> Budget:
        """The window's budget."""
        return self.loaded.budget

    @cached_property
    def is_lean(self) -> bool:
        """True if the text before a turn of steps stays short, since the steps can read artifacts again.

        Text between history and a turn goes at the next turn; the provider's cache then loses the whole turn.
        """
        request = self.request
        if request.attachments or request.focus or self.budget.is_narrowed or self.variant.shows_whole:
            return False
        session = self.standing.session if self.standing else None
        has_steps = bool(self.given.tools.tools) and session is not None and session.expects_steps
        return has_steps and caches(self.tenant_id, request.model)

    def at(self, standing: SessionSnapshot | None) -> "PreparedRequest":
        """Return the same choices at another state of the session; its messages are not read yet."""
        return replace(self, loaded=self.loaded.at(standing), tail=None)

    @property
    def whole(self) -> "PreparedRequest":
        """The same choices with all history raw, if the window holds it and nothing calls for a summary."""
        standing = self.standing
        if standing is None or standing.summary is None or standing.compacted or standing.session.cut_seq:
            return self
        if not self.size.holds(standing.session.unsummarized):
            return self
        return replace(self, loaded=replace(self.loaded, is_whole=True), tail=None)

    def within(self, limits: WindowLimits) -> "PreparedRequest":
        """Return the same choices within other limits."""
        loaded = replace(self.loaded, limits=limits)
        size = ask(loaded.request, self.given, limits, loaded.standing)
        return replace(self, loaded=loaded, size=size)

"""Trial window with other parts than the served window: computed and compared, but never sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from api.context.fill import FilledWindow, Tail, WindowQuery, fill_window, load_tail
from api.context.prepare import RequestPlace, prepare
from api.context.request import ContextRequest, ParsedRequest, WindowLimits, budget_of
from context.errors import AfterturnError
from context.shadow.facts import texts_of
from context.shadow.verdict import ShadowPart
from context.types import Message
from models.conversations.standing import SessionSnapshot


@dataclass(frozen=True)
class VariantQuery:
    """A context request with all inputs of its windows.

    Attributes:
        tenant_id: The caller's tenant.
        session_id: The session's id.
        request: The request.
        given: The parsed request, without any choice yet.
        standing: The session's true state; None for an unstored session.
        limits: Limits of the windows from other sources.
    """

    tenant_id: UUID
    session_id: str
    request: ContextRequest
    given: ParsedRequest
    standing: SessionSnapshot | None
    limits: WindowLimits


@dataclass(frozen=True)
class BuiltWindow:
    """A window, with its prepared request."""

    given: ParsedRequest
    filled: FilledWindow

    @property
    def history(self) -> list[str]:
        """Texts of all parts outside of the request's own: notes, turns, artifacts, recall."""
        own = {message.raw for message in (*self.given.new, *self.given.said)}
        return texts_of(message for message in self.filled.window.messages if not _is_own(message, own))

    @property
    def hidden(self) -> Sequence[str]:
        """Tools left out of the request."""
        return (*self.given.chosen.filtered, *self.given.chosen.hidden)


def _is_own(message: Message, own: set[str]) -> bool:
    return message.seq == 0 and message.raw in own


def as_shown(standing: SessionSnapshot | None, applied: frozenset[ShadowPart]) -> SessionSnapshot | None:
    """Return the session's state for a window with the given parts; without summaries all is raw.

    A provider's compaction is the provider's own, and stays.
    """
    if standing is None or ShadowPart.SUMMARIES in applied or standing.compacted:
        return standing
    return replace(standing, session=standing.session.unsummarized, summary=None)


def lay_window(asking: VariantQuery, applied: frozenset[ShadowPart]) -> BuiltWindow:
    """Make a window with the given parts, without counting, recording or activating anything.

    Raises:
        AfterturnError: The required parts are too large for the window.
    """
    request = asking.request.model_copy(update={"wait_ms": 0})
    budget = budget_of(request, asking.limits)
    standing = as_shown(asking.standing, applied)
    tail: Tail = load_tail(asking.tenant_id, standing, request.model, budget)
    place = RequestPlace(asking.tenant_id, asking.session_id, tail.messages)
    given = prepare(place, request, asking.given, budget, applied, is_trial=True)
    sought = WindowQuery(asking.tenant_id, request, given, standing, budget, applied)
    return BuiltWindow(given, fill_window(sought, tail))


def lay_trials(asking: VariantQuery, wanted: Mapping[str, frozenset[ShadowPart]]) -> dict[str, BuiltWindow]:
    """Make several windows; a failing window is left out."""
    laid = {}
    for name, applied in wanted.items():
        try:
            laid[name] = lay_window(asking, applied)
        except AfterturnError:
            continue
    return laid

"""Trial window with other parts than the served window: computed and compared, but never sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from api.window.gather import Filled, Sought, Tail, fill_window, load_tail
from api.window.prepare import Place, prepare
from api.window.request import ContextRequest, Given, Limits, budget_of
from context.errors import AfterturnError
from context.shadow.facts import texts_of
from context.shadow.parts import Part
from context.types import Message
from models.freshness import Standing


@dataclass(frozen=True)
class Asking:
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
    given: Given
    standing: Standing | None
    limits: Limits


@dataclass(frozen=True)
class Laid:
    """A window, with its prepared request."""

    given: Given
    filled: Filled

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


def as_shown(standing: Standing | None, applied: frozenset[Part]) -> Standing | None:
    """Return the session's state for a window with the given parts; without summaries all is raw."""
    if standing is None or Part.SUMMARIES in applied:
        return standing
    return replace(standing, session=standing.session.unsummarized, summary=None)


def lay_window(asking: Asking, applied: frozenset[Part]) -> Laid:
    """Make a window with the given parts, without counting, recording or activating anything.

    Raises:
        AfterturnError: The required parts are too large for the window.
    """
    request = asking.request.model_copy(update={"wait_ms": 0})
    budget = budget_of(request, asking.limits)
    standing = as_shown(asking.standing, applied)
    tail: Tail = load_tail(asking.tenant_id, standing, request.model, budget)
    place = Place(asking.tenant_id, asking.session_id, tail.messages)
    given = prepare(place, request, asking.given, budget, applied, is_trial=True)
    sought = Sought(asking.tenant_id, request, given, standing, budget, applied)
    return Laid(given, fill_window(sought, tail))


def lay_trials(asking: Asking, wanted: Mapping[str, frozenset[Part]]) -> dict[str, Laid]:
    """Make several windows; a failing window is left out."""
    laid = {}
    for name, applied in wanted.items():
        try:
            laid[name] = lay_window(asking, applied)
        except AfterturnError:
            continue
    return laid

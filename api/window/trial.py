"""A window made with other parts than the one that is served: computed, compared, and sent to nobody."""

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
    """A context request and all that its windows are made from.

    Attributes:
        tenant_id: Who asks.
        session_id: In which session.
        request: What was asked.
        given: The same, read; nothing is chosen for it yet.
        standing: How the session stands in truth; None where it is not stored.
        limits: What bounds its windows beside what is asked.
    """

    tenant_id: UUID
    session_id: str
    request: ContextRequest
    given: Given
    standing: Standing | None
    limits: Limits


@dataclass(frozen=True)
class Laid:
    """A window, with the request as it was prepared for it."""

    given: Given
    filled: Filled

    @property
    def history(self) -> list[str]:
        """The texts of all that is not the request's own: notes, turns, artifacts, recall."""
        own = {message.raw for message in (*self.given.new, *self.given.said)}
        return texts_of(message for message in self.filled.window.messages if not _is_own(message, own))

    @property
    def hidden(self) -> Sequence[str]:
        """The tools that the request is not sent with."""
        return (*self.given.chosen.filtered, *self.given.chosen.hidden)


def _is_own(message: Message, own: set[str]) -> bool:
    return message.seq == 0 and message.raw in own


def as_shown(standing: Standing | None, applied: frozenset[Part]) -> Standing | None:
    """How a session stands for a window that is made with these parts; without summaries all is raw."""
    if standing is None or Part.SUMMARIES in applied:
        return standing
    return replace(standing, session=standing.session.unsummarized, summary=None)


def lay_window(asking: Asking, applied: frozenset[Part]) -> Laid:
    """Make a window with these parts; nothing is counted, recorded or put in force by it.

    Raises:
        AfterturnError: There is no such window: what must be sent is too large.
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
    """Make several windows; one that cannot be made is left out: nobody waits for it."""
    laid = {}
    for name, applied in wanted.items():
        try:
            laid[name] = lay_window(asking, applied)
        except AfterturnError:
            continue
    return laid

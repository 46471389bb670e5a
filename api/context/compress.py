"""Emergency compression: answers a refused window with a smaller window, and records the reason."""

from dataclasses import dataclass, replace
from uuid import UUID

import structlog
from fastapi import APIRouter, Response
from pydantic import Field
from starlette.background import BackgroundTask

from api.answers.base import answers
from api.answers.context import ContextWindow
from api.catalogs.budgets import profiles
from api.context.after_answer import keep_afterwards
from api.context.fill import FilledWindow, build_window, gather
from api.context.full_history import find_new_part
from api.context.prepare import prepare
from api.context.request import ContextRequest, read_request
from api.context.respond import expectation_of, respond
from api.context.session_request import LoadedRequest, PreparedRequest, WindowVariant, load_request
from api.context.tail import summary_notes
from api.hints import leave
from api.http.call import ChangeCall, SessionId, documented
from api.http.errors import ProblemError, committed
from api.http.waiting import CHANGES_SESSION, wait_for_turn
from api.turns.intake import MAX_WINDOW
from context.providers.errors import ErrorKind, classify
from context.providers.profiles import shared_floor
from context.types import JsonObject
from context.window.emergency import NO_CUT, EmergencyCut, Refused, rebuild_smaller
from models.conversations.session import cut_session, find_session
from models.conversations.session_notes import remember_refusal
from models.conversations.standing import SessionSnapshot, find_standing
from models.conversations.summary import activate_prepared
from models.due_work.queue import WorkKind, enqueue
from models.hints import Hints
from models.providers.context_limit import Sighting, SightingSource, learn_limit
from models.recall.index import is_indexed
from models.scope import Scope
from models.tenants.tenant import Caller

log = structlog.get_logger()
router = APIRouter(prefix="/v1", tags=["context"])

LEAST_LIMIT = 256
"""Smallest window of any model; a smaller number in an error text has another meaning."""


OTHER_WINDOW = 2
"""Factor over the request's window from which a limit belongs to another request or model."""


class CompressRequest(ContextRequest):
    """The request with the refused window, and the provider's error."""

    observed_limit: int | None = Field(
        None, ge=LEAST_LIMIT, le=MAX_WINDOW, description="The window that the model turned out to have."
    )
    error: str | JsonObject | None = Field(None, description="The provider's error, as it came.")


@dataclass(frozen=True)
class _Refusal:
    """Contents of a refusal.

    Attributes:
        limit_tokens: The window named by the refusal.
        source: Source of the window.
        requested_tokens: The size counted by the provider.
        teaches: True if the limit is recorded: a refusal for another reason proves no window.
        is_unsigned: True if reasoning in the history was refused, not the size.
        most_images: The most images allowed, if the number was refused, not the size.
        is_beyond: True if the refusal names a window larger than any model's, which is then no limit.
    """

    limit_tokens: int | None = None
    source: SightingSource = SightingSource.OBSERVED
    requested_tokens: int | None = None
    teaches: bool = True
    is_unsigned: bool = False
    most_images: int | None = None
    is_beyond: bool = False

    @property
    def is_of_shape(self) -> bool:
        """True if the window was not too large, so that no turns have to be left out."""
        return self.is_unsigned or self.most_images is not None

    def within(self, known: int | None) -> int | None:
        """Return the effective window: the lower of the refusal's and the known window."""
        return min((limit for limit in (self.limit_tokens, known) if limit is not None), default=None)


@router.post(
    "/sessions/{session_id}/compress",
    openapi_extra=documented(CompressRequest),
    dependencies=CHANGES_SESSION,
    **answers(ContextWindow, "compress_context", "Compress a refused context"),
)
def compress_context(session_id: SessionId, call: ChangeCall) -> Response:
    """Answer with a smaller window than the refused one; later reads start from the new window.

    Omitted turns stay stored, are named in a note, and are summarized at once. A second call means another
    refusal, and leaves out more, until nothing is left.
    """
    caller = call.caller("read", "write")
    request = call.body(CompressRequest)
    refusal = _read_refusal(request)
    tenant_id = caller.tenant_id
    wait_for_turn(tenant_id, session_id, request.after_turn, request.wait_ms)
    part = find_new_part(tenant_id, session_id, request)
    parsed = read_request(part.request)
    if refusal.is_of_shape:
        _remember(tenant_id, session_id, refusal)
        variant = WindowVariant(is_unsigned=refusal.is_unsigned)
        loaded = load_request(tenant_id, session_id, part, parsed, variant)
        return _answer(build_window(prepare(loaded)))
    loaded = load_request(tenant_id, session_id, part, parsed, WindowVariant(is_refused=True))
    _require_this_window(request, loaded.request.context_window, refusal)
    answer = _answer(_make_smaller(prepare(loaded), refusal))
    _learn(caller, session_id, request.model, refusal)
    return answer


def _make_smaller(prepared: PreparedRequest, refusal: _Refusal) -> FilledWindow:
    """Build a smaller window than the refused one, and record the cut for later windows."""
    loaded, seen = prepared.loaded, prepared.standing
    smaller = prepared.within(replace(loaded.limits, learned=refusal.within(loaded.limits.learned)))
    refused = gather(prepared)
    settled = seen if seen is None or seen.compacted else _settle(loaded, seen)
    rebuilt = rebuild_smaller(
        Refused(
            refused.request,
            summary=summary_notes(settled),
            raw_from=settled.session.raw_from if settled else 0,
            last_seq=seen.session.last_seq if seen else 0,
            budget=smaller.budget,
            requested_tokens=refusal.requested_tokens,
            present=EmergencyCut(seen.session.cut_seq, seen.session.kept_seq) if seen else NO_CUT,
        )
    )
    was_cut = seen is not None and _cut(loaded.tenant_id, seen, rebuilt.cut)
    now = smaller.at(_find_again(loaded))
    # Where another call was faster, its cut stands: cutting once more would leave out more than was refused.
    # Where a turn or a summary came in meanwhile, the window is made of that state, like the rest.
    if was_cut and _reaches(now.standing) == (_reaches(seen)[0], _reaches(settled)[1]):
        return FilledWindow(replace(refused, prepared=now), rebuilt.window)
    return build_window(now)


def _find_again(loaded: LoadedRequest) -> SessionSnapshot | None:
    with Scope.read(loaded.tenant_id) as scope:
        return find_standing(scope, loaded.session_id, loaded.request.model)


def _remember(tenant_id: UUID, session_id: str, refusal: _Refusal) -> None:
    """Record a refusal of some parts for later windows; without a stored session for none."""

    def remember(scope: Scope) -> None:
        session = find_session(scope, session_id)
        if session is not None:
            remember_refusal(scope, session, most_images=refusal.most_images)

    committed(tenant_id, remember)


def _answer(filled: FilledWindow) -> Response:
    """Answer, and store afterwards what the provider should find: the refused request was never answered."""
    answer, expected, loaded = respond(filled), expectation_of(filled), filled.prepared.loaded
    if expected is not None:
        hints = Hints(loaded.session_id, expected=expected)
        answer.background = BackgroundTask(leave, loaded.tenant_id, hints)
    keep_afterwards(answer, filled, call="compress")
    return answer


def _read_refusal(request: CompressRequest) -> _Refusal:
    observed = request.observed_limit
    if request.error is None:
        return _Refusal(observed)
    error = classify(None, request.error)
    if error.kind is ErrorKind.SIGNATURE or error.limit_images is not None:
        return _Refusal(is_unsigned=error.limit_images is None, most_images=error.limit_images)
    if observed is None and error.second_chance and error.second_chance[0] >= LEAST_LIMIT:
        limit, requested = error.second_chance
        return _Refusal(limit, requested_tokens=requested, teaches=False)
    if error.kind is ErrorKind.CONTEXT_OVERFLOW:
        named = error.limit_tokens or 0
        if LEAST_LIMIT <= named <= min(observed or MAX_WINDOW, MAX_WINDOW):
            return _Refusal(named, SightingSource.ERROR, error.requested_tokens)
        is_beyond = observed is None and named > MAX_WINDOW
        return _Refusal(observed, requested_tokens=error.requested_tokens, is_beyond=is_beyond)
    if observed is None:
        raise ProblemError(
            "not-an-overflow",
            f"error: does not say that the window was too large (it reads as {error.kind.value!r}); nothing "
            "was changed. Send observed_limit if the window was too large all the same",
            field="error",
            classified_as=error.kind,
            retry_after_s=error.retry_after_s,
        )
    return _Refusal(observed, teaches=error.kind is ErrorKind.UNKNOWN)


def _reaches(standing: SessionSnapshot | None) -> tuple[int, int]:
    """Return the last message of history and of its summary."""
    return (standing.session.last_seq, standing.session.summarized_seq) if standing else (0, 0)


def _require_this_window(request: CompressRequest, told: int | None, refusal: _Refusal) -> None:
    """Refuse a limit of another window: far larger than the window named by the request.

    A somewhat larger limit is no contradiction: a caller may name a smaller window to keep room to spare.

    Raises:
        ProblemError: The limit leaves no reason to shorten the window.
    """
    real = MAX_WINDOW if refusal.is_beyond else refusal.limit_tokens
    if told is None or real is None or real < told * OTHER_WINDOW:
        return
    said = f"more than {real}" if refusal.is_beyond else str(real)
    field = "observed_limit" if real == request.observed_limit else "error"
    raise ProblemError(
        "not-this-window",
        f"{field}: names a window of {said} tokens, and this one was made for {told}: another request was "
        "refused, and nothing was changed. Send the context_window that the model has, or as observed_limit "
        "the size that is too large for it",
        field=field,
        context_window=told,
        limit_tokens=real,
    )


def _learn(caller: Caller, session_id: str, model: str, refusal: _Refusal) -> None:
    """Record the limit after the answer: a refused call teaches nothing."""
    limit_tokens = refusal.limit_tokens
    if limit_tokens is None or not refusal.teaches:
        return
    seen = Sighting(model, session_id, limit_tokens, refusal.source, caller.key_id)
    floor = shared_floor(profiles.find(caller.tenant_id, model))
    committed(caller.tenant_id, lambda scope: learn_limit(scope, seen, floor_tokens=floor))


def _settle(loaded: LoadedRequest, seen: SessionSnapshot) -> SessionSnapshot | None:
    """Activate a prepared summary, so that covered messages need not be cut."""
    tenant_id, session = loaded.tenant_id, seen.session
    if not session.has_prepared:
        return seen

    def activate(scope: Scope) -> None:
        if is_indexed(scope, session, through_seq=session.prepared_seq):
            activate_prepared(scope, session.session_id, generation=session.generation)

    committed(tenant_id, activate)
    return loaded.at(_find_again(loaded)).standing


def _cut(tenant_id: UUID, seen: SessionSnapshot, cut: EmergencyCut) -> bool:
    """Record the cut and queue a summary of the omitted turns, in a transaction."""
    session = seen.session

    def leave_out(scope: Scope) -> bool:
        was_cut = cut_session(scope, session, cut)
        if was_cut:
            enqueue(scope, WorkKind.SUMMARIZE, session.session_id)
        return was_cut

    was_cut = committed(tenant_id, leave_out)
    log.info(
        "window_compressed",
        session_id=session.session_id,
        cut_seq=cut.cut_seq,
        kept_seq=cut.kept_seq,
        was_cut=was_cut,
    )
    return was_cut

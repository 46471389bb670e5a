"""Rebuilding of a window refused by the provider: smaller each time, until nothing is left to drop."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context.certificate import Certificate
from context.errors import AfterturnError, FixedPartOverBudgetError
from context.recall.offer import NO_OFFER
from context.tokens.budget import Budget
from context.types import Message
from context.window.assemble import ActiveSummary, Window, WindowRequest, build_messages
from context.window.emergency import (
    EmergencyCut,
    LeftOut,
    certify_left_out,
    emergency_budget,
    final_cut,
    plan_cuts,
    same_cut,
    with_note,
)

NO_CUT = EmergencyCut(0)


class NothingToCompressError(AfterturnError):
    """A refused window without any droppable content, so that the next window would be refused as well."""

    code = "nothing-to-compress"

    def __init__(self, *, parts: dict[str, int], budget: Budget, requested_tokens: int | None) -> None:
        """Name each part's tokens, and the excess reported by the provider."""
        over = requested_tokens - budget.context_window if requested_tokens else 0
        said = f", over by {over}" if over > 0 else ""
        super().__init__(
            f"no history is left to leave out: what must be sent is counted as {sum(parts.values())} tokens, "
            f"in a window of {budget.context_window}{said}; shorten the largest part or take a larger window",
            parts=parts,
            input_tokens=sum(parts.values()),
            context_window=budget.context_window,
            over_by=over if over > 0 else None,
        )


@dataclass(frozen=True)
class Refused:
    """A refused window, with the knowledge gained since.

    Attributes:
        request: The content of the window, the note of an earlier emergency included.
        summary: The summary now in force, without such a note; perhaps covering more than the window's did.
        raw_from: The last message covered by any summary now, >= 0.
        last_seq: The end of the log.
        budget: The window as known now.
        requested_tokens: The provider's count; None if not given.
        present: The start of raw history in the window.
    """

    request: WindowRequest
    summary: ActiveSummary | None
    raw_from: int
    last_seq: int
    budget: Budget
    requested_tokens: int | None = None
    present: EmergencyCut = NO_CUT


@dataclass(frozen=True)
class Rebuilt:
    """A smaller window, and the cut to remember, so that the next read is not refused again."""

    window: Window
    cut: EmergencyCut


@dataclass(frozen=True)
class _Before:
    """Content of the refused window.

    Attributes:
        held: The stored messages, oldest first.
        parts: The estimated cost of each part, in tokens.
        holds_more: True if the window held artifacts, recall or a summary; an emergency note does not count.
    """

    held: Sequence[Message]
    parts: dict[str, int]
    holds_more: bool = False

    @property
    def tokens(self) -> int:
        return sum(self.parts.values())


def rebuild_smaller(refused: Refused) -> Rebuilt:
    """Build the window anew with less history, and with room to spare for a wrong estimate.

    Artifacts go first, since they can be requested again. Then the gentlest sufficient cut is taken; a turn
    is split only if nothing else suffices. Before a window is refused altogether, the spare room is given
    up, then recall and the longer versions of the summary. If no history may go, these three may still go;
    after an earlier emergency at the same place, all at once.

    Args:
        refused: The refused window.

    Returns:
        A window with fewer tokens than the refused window.

    Raises:
        FixedPartOverBudgetError: The fixed parts are over, before any history.
        NothingToCompressError: Nothing is left to drop.
    """
    before = _look_back(refused.request)
    cuts = plan_cuts(before.held, refused.request.new, last_seq=refused.last_seq)
    is_repeated = False
    if not cuts and before.holds_more:
        cuts = [same_cut(before.held, refused.present, last_seq=refused.last_seq)]
        is_repeated = cuts == [refused.present] != [NO_CUT]
    room = emergency_budget(
        refused.budget, refused_tokens=before.tokens, requested_tokens=refused.requested_tokens
    )
    over: FixedPartOverBudgetError | None = None
    bare = replace(refused, request=replace(refused.request, shelf=None))
    silent = replace(bare, request=replace(bare.request, recall=NO_OFFER, user_recall=None))
    smaller = replace(refused.budget, input_limit=max(min(refused.budget.input_tokens, before.tokens - 1), 1))
    attempts = ((bare, room), (bare, refused.budget), (silent, smaller))
    for attempt, budget in ((replace(silent, summary=None), smaller),) if is_repeated else attempts:
        for cut in cuts:
            try:
                rebuilt = _settle(attempt, before.held, cut, budget)
            except FixedPartOverBudgetError as error:
                over = error if budget is refused.budget else over
                continue
            is_smaller = rebuilt.window.certificate.input_tokens < before.tokens
            if is_smaller and (rebuilt.window.certificate.tail or cut is cuts[-1]):
                return rebuilt
    if over is not None:
        raise over
    raise NothingToCompressError(
        parts=before.parts, budget=refused.budget, requested_tokens=refused.requested_tokens
    )


def _look_back(request: WindowRequest) -> _Before:
    try:
        window = build_messages(request)
    except FixedPartOverBudgetError as error:
        parts = error.numbers["parts"]
        return _Before(request.tail, dict(parts) if isinstance(parts, dict) else {})
    tail, parts = window.certificate.tail, _parts(window.certificate)
    held = [message for message in request.tail if tail and message.seq >= tail[0]]
    is_noted = "summary" in parts and request.notes is not None and bool(request.notes.text.strip())
    return _Before(held, parts, is_noted or not parts.keys().isdisjoint(("artifact", "recall")))


def _parts(certificate: Certificate) -> dict[str, int]:
    parts: dict[str, int] = {}
    for block in certificate.blocks:
        parts[block.source] = parts.get(block.source, 0) + block.tokens
    return parts


def _settle(refused: Refused, held: Sequence[Message], cut: EmergencyCut, budget: Budget) -> Rebuilt:
    """Build until the note names exactly the omissions, since less may fit than planned."""
    while True:
        left_out = LeftOut(refused.raw_from + 1, cut.cut_seq, cut.kept_seq)
        is_covered = cut.cut_seq <= refused.raw_from
        notes = refused.summary if is_covered else with_note(refused.summary, left_out)
        tail = [message for message in cut.apply(held) if message.seq > refused.raw_from]
        window = build_messages(replace(refused.request, budget=budget, tail=tail, notes=notes, unread=None))
        final = final_cut(cut, window.messages, last_seq=refused.last_seq)
        if final == cut:
            certificate = window.certificate
            shown = certificate if is_covered else certify_left_out(certificate, left_out)
            return Rebuilt(replace(window, certificate=shown), cut)
        cut = final

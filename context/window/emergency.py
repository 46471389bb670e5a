"""Emergency compression: a refused window rebuilt smaller each time, until nothing is left to omit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context.certificate import Block, Certificate, Exclusion
from context.conversation.tool_calls import NO_CALL, match_answers
from context.conversation.turns import parse_turn_boundaries, split_steps
from context.errors import AfterturnError, FixedPartOverBudgetError
from context.recall.offer import NO_OFFER
from context.tokens.budget import Budget
from context.types import Message
from context.window.assemble import Window, WindowRequest, build_messages
from context.window.types import NOTE_ONLY, ActiveSummary
from context.wire.edit import is_reasoning_item

SAFETY_SHARE = 0.9
"""Largest share of the known room and the refused window to try again, because the estimate undershot."""

LEAST_SHARE = 0.5
"""Smallest share to which a provider's number shrinks the room; the number may include the output."""


@dataclass(frozen=True)
class LeftOut:
    """Stored messages hidden from every window until covered by a summary.

    Attributes:
        from_seq: First message.
        to_seq: Last message, >= `from_seq`.
        kept_seq: The one message of the range that is still shown; None for none.
    """

    from_seq: int
    to_seq: int
    kept_seq: int | None = None

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """List the hidden runs as first and last message, without the kept message."""
        kept = self.kept_seq
        if kept is None or not self.from_seq <= kept <= self.to_seq:
            return [(self.from_seq, self.to_seq)]
        runs = ((self.from_seq, kept - 1), (kept + 1, self.to_seq))
        return [(first, last) for first, last in runs if first <= last]


@dataclass(frozen=True)
class EmergencyCut:
    """Start of raw history after an emergency.

    Attributes:
        cut_seq: The last message left out.
        kept_seq: A user's message at or before the cut, kept because of a split turn; else None.
    """

    cut_seq: int
    kept_seq: int | None = None

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """Drop the messages before the cut, except the kept message."""
        return [message for message in messages if message.seq > self.cut_seq or message.seq == self.kept_seq]


def plan_cuts(held: Sequence[Message], new: Sequence[Message], *, last_seq: int) -> list[EmergencyCut]:
    """Plan the cuts of a refused window, the gentlest cut first.

    The first cut drops the older half of the turns, rounded up; the newest turn stays. The last resort, for
    a second refusal or a single turn, keeps only the latest words of a user in the newest turn, and is the
    only cut to split a turn. Calls answered by the new messages stay with all their parts. No cut leaves half
    a pair behind, since the kept messages are one suffix and one message of words.

    Args:
        held: The stored messages of the window, oldest first.
        new: The messages of the request; never left out.
        last_seq: The end of the log.

    Returns:
        Cuts, each larger than the cut before; empty if nothing may go.
    """
    if not held:
        return []
    starts = [start for start in parse_turn_boundaries([*held, *new]) if start < len(held)]
    cuts = (_older_half(held, starts), _last_resort(held, starts[-1], _needed_from(held, new), last_seq))
    found = [cut for cut in cuts if cut is not None]
    return found[:1] if len(set(found)) == 1 else found


def same_cut(held: Sequence[Message], present: EmergencyCut, *, last_seq: int) -> EmergencyCut:
    """Keep the cut of a refused window if no history may go.

    Args:
        held: The stored messages of the window, oldest first.
        present: The start of raw history in the window.
        last_seq: The end of the log.

    Returns:
        A cut before the first raw message of the window; after the whole log if the window held none.
    """
    first = next((message.seq for message in held if message.seq > present.cut_seq), last_seq + 1)
    kept = present.kept_seq if any(message.seq == present.kept_seq for message in held) else None
    return EmergencyCut(first - 1, kept)


def _older_half(held: Sequence[Message], starts: Sequence[int]) -> EmergencyCut | None:
    dropped = min((len(starts) + 1) // 2, len(starts) - 1)
    return EmergencyCut(held[starts[dropped]].seq - 1) if dropped else None


def _last_resort(
    held: Sequence[Message], turn_start: int, needed_from: int, last_seq: int
) -> EmergencyCut | None:
    """Keep the latest words of a user in the newest turn, and the messages needed by the new messages."""
    spoken = [index for index in range(turn_start, needed_from) if held[index].starts_turn]
    cut_seq = held[needed_from].seq - 1 if needed_from < len(held) else last_seq
    if not spoken:
        return EmergencyCut(cut_seq) if needed_from else None
    kept = spoken[-1]
    if kept < needed_from - 1:
        return EmergencyCut(cut_seq, held[kept].seq)
    if needed_from == len(held):
        return EmergencyCut(cut_seq)
    return EmergencyCut(held[kept].seq - 1) if kept else None


def _needed_from(held: Sequence[Message], new: Sequence[Message]) -> int:
    """Find the first message that must stay: part of a call answered by the new messages."""
    together = [*held, *new]
    owners = match_answers(together)[len(held) :]
    called = [owner for found in owners for owner in found if owner != NO_CALL and owner < len(held)]
    if not called:
        return len(held)
    start = next(step.start for step in split_steps(together) if min(called) in step)
    while start > 0 and is_reasoning_item(held[start - 1]):
        start -= 1
    return start


def emergency_budget(budget: Budget, *, refused_tokens: int, requested_tokens: int | None = None) -> Budget:
    """Choose the room for the next attempt: smaller than the refused window and the room known to fit.

    Args:
        budget: The window as known now.
        refused_tokens: The estimated cost of the refused window, > 0.
        requested_tokens: The provider's own count; None if not given.

    Returns:
        The same window with a lower input limit, >= 1.
    """
    share = SAFETY_SHARE
    if requested_tokens:
        share = min(share, max(LEAST_SHARE, refused_tokens / requested_tokens))
    room = min(int(budget.input_tokens * share), int(refused_tokens * SAFETY_SHARE))
    return replace(budget, input_limit=max(room, 1))


def with_note(notes: ActiveSummary | None, left_out: LeftOut) -> ActiveSummary:
    """Put one compression note for all left-out messages in the summary's place, or after the summary.

    Args:
        notes: The summary in force.
        left_out: The messages left out beyond the summary.

    Returns:
        Notes for the window, to be counted anew; the version is `NOTE_ONLY` without a summary.
    """
    note = compression_note(left_out)
    if notes is None:
        return ActiveSummary(NOTE_ONLY, left_out.from_seq, left_out.to_seq, "", ending=note)
    return replace(notes, ending=note, tokens=None, tokens_wide=None)


def compression_note(left_out: LeftOut) -> str:
    """Write a note about missing messages: they are stored, and the notes do not cover them."""
    kept = f" Message {left_out.kept_seq} of them is shown below." if left_out.kept_seq else ""
    return (
        f"Messages {left_out.from_seq} to {left_out.to_seq} were left out because the request was too large "
        f"for the model.{kept} They remain stored, but no notes have been made of them yet: "
        "nothing here says what was in them."
    )


def certify_left_out(certificate: Certificate, left_out: LeftOut) -> Certificate:
    """Name in the certificate the messages left out by an emergency.

    Args:
        certificate: The certificate of a window built with `with_note`.
        left_out: The messages left out.

    Returns:
        The certificate. The tail is the run after the cut, with the kept message named before it in the
        history; it is not contiguous if the kept message is all there is. A note alone covers nothing.
    """
    tail, contiguous = certificate.tail, certificate.tail_contiguous
    before = None
    if tail is not None and tail[0] <= left_out.to_seq:
        if tail[1] > left_out.to_seq:
            before, tail = tail[0], (left_out.to_seq + 1, tail[1])
        else:
            contiguous = False
    named = [Exclusion(f"messages {first}-{last}", "emergency-cut", None) for first, last in left_out.ranges]
    own = f"summary {NOTE_ONLY},"
    note_only = any(
        block.source == "summary" and block.origin.startswith(own) for block in certificate.blocks
    )
    return replace(
        certificate,
        tail=tail,
        tail_contiguous=contiguous,
        excluded=(*named, *certificate.excluded),
        blocks=tuple(
            _renamed(block, left_out, note_only=note_only, tail=tail, before=before)
            for block in certificate.blocks
        ),
        summary_covers=None if note_only else certificate.summary_covers,
    )


def _renamed(
    block: Block, left_out: LeftOut, *, note_only: bool, tail: tuple[int, int] | None, before: int | None
) -> Block:
    """Name the note as such, and a message kept `before` the cut apart from the tail."""
    if block.source == "summary" and note_only:
        return replace(block, origin=f"compression note, messages {left_out.from_seq}-{left_out.to_seq}")
    if block.source == "history" and tail and before is not None:
        return replace(block, origin=f"messages {before}, {tail[0]}-{tail[1]}")
    return block


def final_cut(planned: EmergencyCut, sent: Sequence[Message], *, last_seq: int) -> EmergencyCut:
    """Find the start of raw history in the built window, perhaps later than planned.

    Args:
        planned: The cut used to build the window.
        sent: The messages of the window, with new messages and notes.
        last_seq: The end of the log.

    Returns:
        The cut to remember; never less than the planned cut.
    """
    seqs = {message.seq for message in sent if message.seq}
    first = min((seq for seq in seqs if seq > planned.cut_seq), default=last_seq + 1)
    return EmergencyCut(first - 1, planned.kept_seq if planned.kept_seq in seqs else None)


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

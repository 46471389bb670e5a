"""Emergency compression: what is left out of a window that the provider refused as too large."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context.assemble import Notes
from context.budget import Budget
from context.certificate import Block, Certificate, Exclusion
from context.pair_bodies import is_reasoning_item
from context.pairing import NO_CALL, match_answers
from context.turns import parse_turn_boundaries, split_steps
from context.types import Message

SAFETY_SHARE = 0.9
"""The most of the known room, and of the refused window, that is tried again: the estimate undershot."""

LEAST_SHARE = 0.5
"""A provider's number may count the output too: it shrinks the room no further than to this share."""

NOTE_ONLY = 0
"""The version of notes that hold no summary."""


@dataclass(frozen=True)
class LeftOut:
    """Stored messages that no window shows until a summary covers them.

    Attributes:
        from_seq: First of them.
        to_seq: Last of them, >= `from_seq`.
        kept_seq: The one message of the range that is shown all the same; None for none.
    """

    from_seq: int
    to_seq: int
    kept_seq: int | None = None

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """What is not shown: first and last of each run, without the kept message."""
        kept = self.kept_seq
        if kept is None or not self.from_seq <= kept <= self.to_seq:
            return [(self.from_seq, self.to_seq)]
        runs = ((self.from_seq, kept - 1), (kept + 1, self.to_seq))
        return [(first, last) for first, last in runs if first <= last]


@dataclass(frozen=True)
class EmergencyCut:
    """Where raw history starts after an emergency.

    Attributes:
        cut_seq: The last message that is left out.
        kept_seq: A user's message at or before the cut that stays, because its turn was split; else None.
    """

    cut_seq: int
    kept_seq: int | None = None

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """Leave out what the cut leaves out."""
        return [message for message in messages if message.seq > self.cut_seq or message.seq == self.kept_seq]


def plan_cuts(held: Sequence[Message], new: Sequence[Message], *, last_seq: int) -> list[EmergencyCut]:
    """Say what may be left out of a refused window, the gentlest cut first.

    First the older half of its turns, rounded up; the newest turn stays. Where that is not enough, or the
    window held a single turn, only the latest words of a user in the newest turn stay: the one place where
    a turn is split. Calls that the new messages answer stay with all that belongs to them; nothing else
    that is cut leaves half a pair behind, since what stays is one suffix and that one message of words.

    Args:
        held: The stored messages that the window held, oldest first.
        new: The messages that the request brought; never left out.
        last_seq: The end of the log.

    Returns:
        Cuts, each of which leaves out more than the one before it; none where nothing may go.
    """
    if not held:
        return []
    starts = [start for start in parse_turn_boundaries([*held, *new]) if start < len(held)]
    cuts = (_older_half(held, starts), _last_resort(held, starts[-1], _needed_from(held, new), last_seq))
    found = [cut for cut in cuts if cut is not None]
    return found[:1] if len(set(found)) == 1 else found


def same_cut(held: Sequence[Message], present: EmergencyCut, *, last_seq: int) -> EmergencyCut:
    """Leave out no more of history than a refused window did, where nothing of it may go.

    Args:
        held: The stored messages that the window held, oldest first.
        present: Where raw history started for it.
        last_seq: The end of the log.

    Returns:
        A cut before the first of them; after the whole log where it held none.
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
    """Keep the latest words of a user in the newest turn, and what the new messages need."""
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
    """Find the first message that must stay: part of a call that the new messages answer."""
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
    """Choose the room for the next attempt: smaller than what was refused, and than what is known to fit.

    Args:
        budget: The window as it is known now.
        refused_tokens: What the refused window was believed to cost, > 0.
        requested_tokens: What the provider counted; None where it does not say.

    Returns:
        The same window with a lower input limit, >= 1.
    """
    share = SAFETY_SHARE
    if requested_tokens:
        share = min(share, max(LEAST_SHARE, refused_tokens / requested_tokens))
    room = min(int(budget.input_tokens * share), int(refused_tokens * SAFETY_SHARE))
    return replace(budget, input_limit=max(room, 1))


def with_note(notes: Notes | None, left_out: LeftOut) -> Notes:
    """Put the compression note in the summary's place, or after its words; one note for all that is left out.

    Args:
        notes: The summary in force.
        left_out: What is left out beyond it.

    Returns:
        Notes for the window, to be counted anew; their version is `NOTE_ONLY` where there is no summary.
    """
    note = compression_note(left_out)
    if notes is None:
        return Notes(NOTE_ONLY, left_out.from_seq, left_out.to_seq, "", ending=note)
    return replace(notes, ending=note, tokens=None, tokens_wide=None)


def compression_note(left_out: LeftOut) -> str:
    """Say which messages are missing, that they are stored, and that the notes do not stand for them."""
    kept = f" Message {left_out.kept_seq} of them is shown below." if left_out.kept_seq else ""
    return (
        f"Messages {left_out.from_seq} to {left_out.to_seq} were left out because the request was too large "
        f"for the model.{kept} They remain stored, but no notes have been made of them yet: "
        "nothing here says what was in them."
    )


def certify_left_out(certificate: Certificate, left_out: LeftOut) -> Certificate:
    """Name in the certificate what an emergency left out.

    Args:
        certificate: That of a window built with `with_note`.
        left_out: What is left out of it.

    Returns:
        The certificate; the tail is not contiguous where it starts with the kept message, and a note alone
        covers nothing.
    """
    tail = certificate.tail
    split = tail is not None and tail[0] <= left_out.to_seq
    named = [Exclusion(f"messages {first}-{last}", "emergency-cut", None) for first, last in left_out.ranges]
    own = f"summary {NOTE_ONLY},"
    note_only = any(
        block.source == "summary" and block.origin.startswith(own) for block in certificate.blocks
    )
    return replace(
        certificate,
        tail_contiguous=certificate.tail_contiguous and not split,
        excluded=(*named, *certificate.excluded),
        blocks=tuple(_renamed(block, left_out) if note_only else block for block in certificate.blocks),
        summary_covers=None if note_only else certificate.summary_covers,
    )


def _renamed(block: Block, left_out: LeftOut) -> Block:
    if block.source != "summary":
        return block
    return replace(block, origin=f"compression note, messages {left_out.from_seq}-{left_out.to_seq}")


def final_cut(planned: EmergencyCut, sent: Sequence[Message], *, last_seq: int) -> EmergencyCut:
    """Say where raw history starts, now that the window is built: it may hold less than was planned.

    Args:
        planned: The cut with which it was built.
        sent: The messages of the window, its new ones and its notes included.
        last_seq: The end of the log.

    Returns:
        The cut to remember; never less than the planned one.
    """
    seqs = {message.seq for message in sent if message.seq}
    first = min((seq for seq in seqs if seq > planned.cut_seq), default=last_seq + 1)
    return EmergencyCut(first - 1, planned.kept_seq if planned.kept_seq in seqs else None)

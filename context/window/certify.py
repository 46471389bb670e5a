"""Account of a window: cost and origin of each part, and omissions with reasons."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context.certificate import AcceptedShape, Block, Carried, Certificate, Exclusion
from context.conversation.tool_calls import PairRepair
from context.conversation.turns import NOT_STORED, History
from context.recall.offer import RecallStatus
from context.recall.selection import name_messages, name_sessions
from context.tokens import Count, guarantee
from context.tokens.message import count_of
from context.types import Message
from context.window.outgoing import Outgoing
from context.window.trim import Trim
from context.window.types import ActiveSummary, Recalled, ShownArtifacts, WindowRequest, notes_message
from context.wire import Loss


@dataclass(frozen=True)
class Taken:
    """Messages in the window, with their cost in the model's tokens, and the content and steps cut out.

    Attributes:
        opening: The first messages of a turn that is shown by its end, before the steps left out; the run of
            raw messages begins behind them.
    """

    messages: Sequence[Message]
    cost: int = 0
    trims: Sequence[Trim] = ()
    left_out: Sequence[Exclusion] = ()
    opening: Sequence[Message] = ()

    @property
    def is_shortened(self) -> bool:
        """True if a part of the messages is cut out."""
        return bool(self.trims or self.left_out)


@dataclass(frozen=True)
class Contents:
    """Content of a window.

    Attributes:
        request: The content available.
        history: The turns, and the beginning of an unfinished turn.
        fixed: The fixed parts, by name, in the model's tokens.
        open_turn: The stored turn continued by the new messages.
        new: The new messages.
        left_out: Steps of the open turn without room.
        notes: The messages of the compacted window and of the summary; empty if left out.
        taken: Whole turns, newest first.
        taken_cost: The cost of the whole turns together.
        shelved: The artifacts.
        recalled: The recalled stretches.
        user_recalled: The recalled stretches of the user's other sessions.
        is_steady: True if the window's beginning stays from request to request, for a provider's cache.
    """

    request: WindowRequest
    history: History
    fixed: Mapping[str, int]
    open_turn: Taken
    new: Taken
    left_out: Sequence[Exclusion]
    notes: Sequence[Message]
    taken: Sequence[Taken]
    taken_cost: int
    shelved: ShownArtifacts
    recalled: Recalled
    user_recalled: Recalled
    is_steady: bool = False

    def price(self, count: Count) -> int:
        """Bound a stored count in the model's own tokens."""
        return guarantee(count, self.request.model, calibration=self.request.calibration)

    @property
    def notes_cost(self) -> int:
        """Cost of the summary, 0 if left out."""
        return self.price(count_of(self.notes)) if self.notes else 0

    @property
    def history_cost(self) -> int:
        """Cost of all parts that may be left out."""
        recalled = self.recalled.cost + self.user_recalled.cost
        return self.notes_cost + self.taken_cost + self.shelved.cost + recalled


KEPT_STEADY = "kept-steady-for-cache"
"""Why turns are left out that had room: a beginning that stays is read from the provider's cache."""

_UNSHOWN = (RecallStatus.DOES_NOT_FIT, RecallStatus.NOT_INDEXED_YET, RecallStatus.SEARCH_FAILED)
"""Statuses for recalled messages missing from a window although available."""
_BEHIND = RecallStatus.NOT_INDEXED_YET
"""Status for newer messages missing from a window beside shown ones, or if none were found."""


def certify(contents: Contents, sent: Outgoing) -> Certificate:
    """Write the certificate of a window.

    Args:
        contents: The content of the window.
        sent: The same content in the outgoing format.
    """
    return _Account(contents).write(sent)


class _Account:
    """Account of a window against the available content."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.request = contents.request
        self.price = contents.price

    def write(self, sent: Outgoing) -> Certificate:
        budget, notes = self.request.budget, self.request.notes
        blocks = self._blocks()
        tail = self._tail_seqs()
        stored = self.contents.history.stored_seqs
        return Certificate(
            input_tokens=sum(block.tokens for block in blocks),
            budget=budget.input_tokens,
            context_window=budget.context_window,
            max_tokens=budget.max_tokens,
            summary_covers=(notes.from_seq, notes.to_seq) if notes and self.contents.notes else None,
            tail=(tail[0], tail[-1]) if tail else None,
            tail_contiguous=not tail or tail == [seq for seq in stored if seq >= tail[0]],
            tool_pairs_intact=sent.pairs_intact,
            blocks=blocks,
            excluded=(*self._exclusions(), *sent.excluded),
            repairs=tuple(_say(repair) for repair in self.contents.history.repairs if self._concerns(repair)),
            losses=_group(sent.dropped),
            accepted_shape=AcceptedShape(not sent.faults, sent.rules, sent.faults),
            history_tokens=self.contents.history_cost,
            history_limit=budget.history_limit.tokens if budget.history_limit else None,
        )

    @property
    def compaction_cost(self) -> int:
        """Cost of the provider's compacted window, 0 if left out."""
        compacted = self.request.compacted if self.contents.notes else ()
        return self.price(count_of(compacted)) if compacted else 0

    @property
    def _compaction_seq(self) -> int:
        return max(message.seq for message in self.request.compacted)

    @property
    def _openings(self) -> set[int]:
        """The places of the messages before the left-out steps of a turn that is shown by its end."""
        return {message.seq for part in self.contents.taken for message in part.opening}

    def _tail_seqs(self) -> list[int]:
        """The places of the stored messages in the window's run, ascending."""
        parts = (*self.contents.taken, self.contents.open_turn)
        stored = {message.seq for part in parts for message in part.messages if message.seq != NOT_STORED}
        return sorted(stored - self._openings)

    def _blocks(self) -> tuple[Block, ...]:
        notes, seqs = self.request.notes, self._tail_seqs()
        history = self.contents.taken_cost + self.contents.open_turn.cost
        blocks = [
            Block(part, self.contents.fixed[part], "request", "instructions")
            for part in ("overhead", "system_prompt", "tools")
            if part in self.contents.fixed
        ]
        if self.compaction_cost:
            origin = f"compaction of the provider, message {self._compaction_seq}"
            blocks.append(Block("compaction", self.compaction_cost, origin, "notes"))
        if notes and self.contents.notes:
            origin = f"summary {notes.version}, messages {notes.from_seq}-{notes.to_seq}"
            trust = "untrusted" if notes.tainted else "notes"
            cost = self.contents.notes_cost - self.compaction_cost
            blocks.append(Block("summary", cost, origin, trust))
        if seqs:
            places = [*map(str, sorted(self._openings)), f"{seqs[0]}-{seqs[-1]}"]
            blocks.append(Block("history", history, f"messages {', '.join(places)}", "conversation"))
        if self.contents.shelved.text:
            names = ", ".join(one.artifact.artifact_id for one in self.contents.shelved.execution.used)
            blocks.append(Block("artifact", self.contents.shelved.cost, names, "untrusted"))
        if self.contents.user_recalled.message:
            origin = f"sessions {name_sessions(self.contents.user_recalled.blocks)}"
            blocks.append(Block("user_recall", self.contents.user_recalled.cost, origin, "conversation"))
        if self.contents.recalled.message:
            origin = f"messages {name_messages(self.contents.recalled.blocks)}"
            blocks.append(Block("recall", self.contents.recalled.cost, origin, "conversation"))
        return (*blocks, Block("new", self.contents.new.cost, "request", "conversation"))

    def _exclusions(self) -> tuple[Exclusion, ...]:
        """Name all omissions, oldest first."""
        found = []
        notes = self.request.notes
        if self.request.compacted and not self.contents.notes:
            cost = self.price(count_of(self.request.compacted))
            found.append(Exclusion(f"compaction in message {self._compaction_seq}", "does-not-fit", cost))
        if notes:
            found += self._excluded_notes(notes)
        found += [
            Exclusion(f"artifact {left.artifact_id}", left.why, self.price(Count(left.tokens)))
            for left in self.contents.shelved.execution.excluded
        ]
        found += self._excluded_recall()
        found += self._excluded_messages()
        found += [one for part in reversed(self.contents.taken) for one in part.left_out]
        found += self.contents.left_out
        found += [
            self._shortened(f"part of message {trim.seq}", trim)
            for part in (*reversed(self.contents.taken), self.contents.open_turn)
            for trim in part.trims
        ]
        found += [
            self._shortened(f"part of new message {trim.index + 1}", trim) for trim in self.contents.new.trims
        ]
        return tuple(found)

    def _shortened(self, what: str, trim: Trim) -> Exclusion:
        saved = self.price(Count(trim.tokens_before)) - self.price(Count(trim.tokens_after))
        return Exclusion(what, "shortened-to-fit", saved)

    def _excluded_notes(self, notes: ActiveSummary) -> list[Exclusion]:
        """Name the summary if left out, or the rest of a summary shown in a short version."""
        what = f"summary of messages {notes.from_seq}-{notes.to_seq}"
        whole = self.price(count_of([notes_message(notes)]))
        if not self.contents.notes:
            return [Exclusion(what, "does-not-fit", whole)]
        missing = whole - (self.contents.notes_cost - self.compaction_cost)
        return [Exclusion(f"part of {what}", "shortened-to-fit", missing)] if missing > 0 else []

    def _excluded_recall(self) -> list[Exclusion]:
        kinds = {"recall": self.contents.recalled, "user_recall": self.contents.user_recalled}
        return [
            Exclusion(what, str(found.status if found.status in _UNSHOWN else _BEHIND), None)
            for what, found in kinds.items()
            if found.status in _UNSHOWN or found.not_indexed
        ]

    def _excluded_messages(self) -> list[Exclusion]:
        unread = self.request.unread
        turns = self.contents.history.turns[: len(self.contents.history.turns) - len(self.contents.taken)]
        left_out = [*self.contents.history.torn, *(message for turn in turns for message in turn)]
        if not left_out and unread is None:
            return []
        first = unread.from_seq if unread else self.request.tail[0].seq
        last = max((message.seq for message in left_out), default=unread.to_seq if unread else first)
        cost: int | None = self.price(count_of(left_out))
        if unread:
            cost = None if unread.tokens is None else (cost or 0) + self.price(Count(unread.tokens))
        newest = self.price(count_of(turns[-1])) if turns else cost
        is_kept = self.contents.is_steady and newest is not None and newest <= self._free
        return [Exclusion(f"messages {first}-{last}", KEPT_STEADY if is_kept else "does-not-fit", cost)]

    @property
    def _free(self) -> int:
        """Room that history might still take."""
        room = self.request.budget.input_tokens - sum(block.tokens for block in self._blocks())
        limit = self.request.budget.history_limit
        return room if limit is None else min(room, limit.tokens - self.contents.history_cost)

    def _concerns(self, repair: PairRepair) -> bool:
        """Say whether a repair lies in the sent content, not in the omissions."""
        excluded = len(self.contents.history.turns) - len(self.contents.taken)
        if excluded == 0:
            return True
        return repair.seq > max(message.seq for message in self.contents.history.turns[excluded - 1])


def _say(repair: PairRepair) -> str:
    end = "message left out" if repair.message_dropped else "taken out"
    return f"message {repair.seq}: {repair.kind} {repair.call_id!r}, {end}"


def _group(losses: Sequence[Loss]) -> tuple[Carried, ...]:
    """Group losses of one kind, since a long history loses the same kind many times."""
    seqs: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for loss in losses:
        seqs[loss.kind, loss.why].add(loss.seq)
    return tuple(Carried(kind, why, tuple(sorted(found))) for (kind, why), found in seqs.items())

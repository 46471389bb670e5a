"""Values of the assembler: artifacts, content of a window, and the finished window."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from context.artifact_plans.strategies import EXTRACT_TOKENS, Available, Execution, execute_plan
from context.artifacts.types import ArtifactPlan, UsedArtifact, closing, frame, label, render_region
from context.certificate import Certificate
from context.conversation.turns import NOT_STORED
from context.recall.offer import NO_OFFER, RecallOffer, RecallStatus
from context.recall.selection import RecallBlock, render_recall
from context.summary.frame import render_summary
from context.summary.lengths import summary_lengths
from context.tokens import (
    MESSAGE_OVERHEAD,
    NO_TOOLS,
    UNCALIBRATED,
    Calibration,
    Count,
    EncodingName,
    ToolsCount,
    count_text,
    measure_message,
)
from context.tokens.budget import Budget
from context.types import JsonObject, Message, Role, Wire
from context.window.outgoing import NOTHING_REFUSED, RefusedBefore
from context.wire import Loss

ROOM_SHARE = 0.5
"""Largest share of the room beside the fixed parts for artifacts, if history wants the room too."""

NO_PLAN = ArtifactPlan(())
NOTHING = Execution((), (), (), 0)

_ATTEMPTS = 4
_PROBE = 10_000
_SEAM_TOKENS = 4
"""Tokens for the line breaks around a text, and for the seam between two joined texts."""


@dataclass(frozen=True)
class ArtifactCandidates:
    """Artifacts available to a window, with a plan.

    Attributes:
        plan: A decision about each artifact.
        available: The available forms of each artifact, by id.
        room_share: The largest share of the room taken from history, in [0, 1].
        most_share: The largest share of the room in any case, in [0, 1].
        extract_tokens: The most tokens of one extract.
    """

    plan: ArtifactPlan = NO_PLAN
    available: Mapping[str, Available] = field(default_factory=dict)
    room_share: float = ROOM_SHARE
    most_share: float = 1.0
    extract_tokens: int = EXTRACT_TOKENS


@dataclass(frozen=True)
class ShownArtifacts:
    """Artifacts shown by a window.

    Attributes:
        execution: The choices made, with an account.
        text: The region as the content of one message; empty if nothing is shown.
        count: The cost of the message.
        cost: The same cost in the model's tokens.
    """

    execution: Execution = NOTHING
    text: str = ""
    count: Count = field(default_factory=lambda: Count(0, 0))
    cost: int = 0


def fill_shelf(shelf: ArtifactCandidates, room: int, price: Callable[[Count], int]) -> ShownArtifacts:
    """Carry the plan out in a room of the model's own tokens.

    Args:
        shelf: The plan, and the available artifacts.
        room: The largest cost of the region, in the model's tokens.
        price: Bounds a count in the model's tokens.

    Returns:
        The shown artifacts, never above the room; empty if the room is too small for any.
    """
    if not shelf.available and not shelf.plan.artifacts:
        return ShownArtifacts()
    most = max(room, 0)
    budget = int(most * _PROBE / max(price(Count(_PROBE)), 1))
    for _ in range(_ATTEMPTS):
        filled = _fill(shelf, budget, price)
        if filled.cost <= most:
            return filled
        budget = int(budget * most / filled.cost) - 1
    return _fill(shelf, 0, price)


def _fill(shelf: ArtifactCandidates, budget: int, price: Callable[[Count], int]) -> ShownArtifacts:
    execution = execute_plan(
        shelf.plan,
        shelf.available,
        budget_tokens=max(budget, 0),
        count=count_text,
        extract_tokens=shelf.extract_tokens,
    )
    if not execution.used:
        return ShownArtifacts(execution)
    count = _count_region(execution)
    return ShownArtifacts(execution, render_region(execution.used), count, price(count))


def _count_region(execution: Execution) -> Count:
    """Bound the region by the counts of its texts, made when the texts were stored."""
    wide = count_text(frame(), EncodingName.WIDE) + _SEAM_TOKENS
    wide += sum(_wide(one) for one in execution.used)
    return Count(execution.tokens + MESSAGE_OVERHEAD, wide + MESSAGE_OVERHEAD, messages=1)


def _wide(one: UsedArtifact) -> int:
    reading = one.reading
    known = reading.tokens_wide
    text = count_text(reading.text, EncodingName.WIDE) if known is None else known
    return (
        text + sum(count_text(part, EncodingName.WIDE) for part in (label(one), closing())) + 2 * _SEAM_TOKENS
    )


NO_ARTIFACTS = ShownArtifacts()

NOTES_SHARES = (0.7, 0.5, 0.35, 0.25, 0.15, 0.1)
"""Lengths of shortened summaries to try, as shares of the whole."""


@dataclass(frozen=True)
class Recalled:
    """The recalled stretches in a window.

    Attributes:
        blocks: The shown blocks, in the order of the conversation.
        message: The message with the blocks; None for none.
        cost: The cost in the model's tokens.
        cap: The largest cost allowed in this window, frame included.
        roomy: True if everything else fits, so that only near matches are shown.
        status: The reason for showing the blocks, or for showing none.
        not_indexed: The number of hidden messages outside the index so far; no search finds them.
    """

    blocks: Sequence[RecallBlock] = ()
    message: Message | None = None
    cost: int = 0
    cap: int = 0
    roomy: bool = False
    status: RecallStatus = RecallStatus.NOTHING_FOUND
    not_indexed: int = 0


NO_RECALL = Recalled()


NOTE_ONLY = 0
"""Version of notes stored nowhere."""


@dataclass(frozen=True)
class ActiveSummary:
    """The summary in force.

    Attributes:
        version: The version.
        from_seq: First covered message.
        to_seq: Last covered message.
        text: The text.
        tokens: The cost of the summary's `notes_message`; None to have it counted.
        tokens_wide: The same in the second count.
        tainted: True if the source gave orders that nobody in the conversation gave.
        ending: A note on messages left out by an emergency; kept with every version of the summary.
    """

    version: int
    from_seq: int
    to_seq: int
    text: str
    tokens: int | None = None
    tokens_wide: int | None = None
    tainted: bool = False
    ending: str = ""

    @property
    def words(self) -> str:
        """The summary with its ending."""
        return "\n\n".join(part for part in (self.text.rstrip(), self.ending) if part)


@dataclass(frozen=True)
class Unread:
    """Raw messages older than the read messages, left out unseen for lack of room.

    Attributes:
        from_seq: First message.
        to_seq: Last message.
        tokens: Total stored count; None if unknown.
    """

    from_seq: int
    to_seq: int
    tokens: int | None = None


WINDOW_NOTES_SHARE = 0.25
"""Share of a window for the summary, before older turns."""

LASTING_NOTES_SHARE = 0.15
"""The same share of a limit that a session lives in: as much as its summarizer is asked for."""

BUDGET_NOTES_SHARE, STEPS_NOTES_TOKENS = 0.08, 2_000
"""The same share of a single budget, and the most tokens before turns of steps."""


@dataclass(frozen=True)
class WindowRequest:
    """Input of a window.

    Attributes:
        model: The model of the window.
        budget: The budget of the window.
        new: The messages of the request; `seq` is 0.
        tail: The newest raw messages, oldest first, without a gap.
        system: The system prompt, a message of plain text; None for none.
        tools: The size of the tool definitions.
        notes: The summary in force.
        compacted: The provider's compacted window in place of a summary; empty for none.
        recall: Passages of older turns relevant to the new messages, with the room allowed.
        unread: Older raw messages not read.
        user_recall: Passages of the user's other sessions; None if not requested.
        shelf: The available artifacts; None for none.
        wire: The outgoing format.
        calibration: Corrections learned from reported usage of the model.
        refused: Content refused by the session's provider before, not to be sent again.
        keeps_prefix: Whether the provider's cache keeps the beginning of a request: a change of the beginning
            within a turn is dear then.
        is_bare: Whether the open turn has outgrown its beginning before.
        has_steps: Whether the session's turns have steps: what stands before a turn is paid for at each.
    """

    model: str
    budget: Budget
    new: Sequence[Message]
    tail: Sequence[Message] = ()
    system: Message | None = None
    tools: ToolsCount = NO_TOOLS
    notes: ActiveSummary | None = None
    compacted: Sequence[Message] = ()
    recall: RecallOffer = NO_OFFER
    unread: Unread | None = None
    user_recall: RecallOffer | None = None
    shelf: ArtifactCandidates | None = None
    wire: Wire = Wire.OPENAI
    calibration: Calibration = UNCALIBRATED
    refused: RefusedBefore = NOTHING_REFUSED
    keeps_prefix: bool = False
    is_bare: bool = False
    has_steps: bool = False

    def notes_room(self, room: int) -> int:
        """Return the most tokens of the summary, of a room in which not everything fits."""
        if self.budget.is_narrowed:
            return int(room * BUDGET_NOTES_SHARE)
        if self.budget.is_lasting:
            return int(room * LASTING_NOTES_SHARE)
        most = int(room * WINDOW_NOTES_SHARE)
        return min(most, STEPS_NOTES_TOKENS) if self.has_steps else most


@dataclass(frozen=True)
class Window:
    """The messages to send, in order, with the proof of fit.

    Attributes:
        items: Each message or item as JSON text, in the outgoing format.
        system: The system prompt, if separate from the messages in the format.
        dropped: The content that the format could not carry unchanged.
        messages: The messages behind the items, in their own formats.
        certificate: Counts and omissions.
        estimated_tokens: The tokens probably billed by the model, without the bound's margin.
        calibration: The corrections of the two counts.
        shelved: The shown artifacts, and the use of each.
        recalled: The shown older turns, the reason for not showing more, and the limit.
        user_recalled: The same for the user's other sessions; None if not requested.
        is_bare: True if the open turn has outgrown its beginning: only a summary and few turns stand before.
    """

    items: tuple[str, ...]
    system: str | None
    dropped: tuple[Loss, ...]
    messages: tuple[Message, ...]
    certificate: Certificate
    estimated_tokens: int
    calibration: Calibration
    shelved: ShownArtifacts = NO_ARTIFACTS
    recalled: Recalled = NO_RECALL
    user_recalled: Recalled | None = None
    is_bare: bool = False

    @property
    def first_seq(self) -> int | None:
        """The first stored message that is sent raw, the opening of a turn shown by its end included."""
        return min((message.seq for message in self.messages if message.seq > 0), default=None)


def new_message(
    body: JsonObject,
    role: Role,
    *,
    tokens: int | None = None,
    tokens_wide: int | None = None,
    wire: Wire = Wire.OPENAI,
) -> Message:
    """Make a plain message of a role and a text, counted unless the tokens are given."""
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if tokens is None or tokens_wide is None:
        count = measure_message(body)
        tokens, tokens_wide = count.tokens, count.wide
    return Message(NOT_STORED, role, tokens, raw, wire=wire, tokens_wide=tokens_wide)


def notes_message(notes: ActiveSummary, wire: Wire = Wire.OPENAI) -> Message:
    """Write the summary as a user message for a window; never in the system role.

    A user's plain words are written alike in every format.
    """
    text = render_summary(notes.words, from_seq=notes.from_seq, to_seq=notes.to_seq)
    return new_message(
        {"role": "user", "content": text},
        Role.USER,
        tokens=notes.tokens,
        tokens_wide=notes.tokens_wide,
        wire=wire,
    )


class NotesVersions:
    """What stands for older turns: a provider's compacted window, a summary in several lengths, or both.

    Shorter versions of a summary are written and counted only when needed; a compaction is never shortened.
    """

    def __init__(self, notes: ActiveSummary | None, wire: Wire, compacted: Sequence[Message] = ()) -> None:
        """Write the whole summary, and no shorter version yet."""
        self._notes, self._wire, self._compacted = notes, wire, tuple(compacted)
        self._shorter: tuple[Message, ...] | None = None
        self.whole: Sequence[Message] = (*compacted, *([notes_message(notes, wire)] if notes else []))

    @property
    def required(self) -> Sequence[Message]:
        """The version to take before any turn: with a compaction, since nothing else stands for its turns."""
        return self.whole if self._compacted else ()

    def longest_first(self) -> Iterator[Sequence[Message]]:
        """Yield the whole, then the shorter versions."""
        if not self.whole:
            return
        yield self.whole
        if self._notes is None:
            return
        if self._shorter is None:
            self._shorter = _shorter_notes(self._notes, self._wire)
        yield from ((*self._compacted, message) for message in self._shorter)

    def shortest(self) -> Sequence[Message]:
        """Return the shortest version; of an emergency the note alone."""
        return min(self.longest_first(), key=lambda one: sum(message.tokens for message in one), default=())


@lru_cache(maxsize=1_024)
def _shorter_notes(notes: ActiveSummary, wire: Wire) -> tuple[Message, ...]:
    """Write the shorter versions of a summary; kept, since a session's requests share its summary."""
    texts = summary_lengths(notes.text, shares=NOTES_SHARES) if notes.text.strip() else ()
    return tuple(
        notes_message(replace(notes, text=text, tokens=None, tokens_wide=None), wire)
        for text in (*texts, *([""] if notes.ending else []))
        if len(text) < len(notes.text) and (text.strip() or notes.ending)
    )


def recall_message(blocks: Sequence[RecallBlock], wire: Wire = Wire.OPENAI) -> Message:
    """Write recalled stretches as a user message for a window; never in the system role."""
    return new_message({"role": "user", "content": render_recall(blocks)}, Role.USER, wire=wire)


def artifacts_message(shelved: ShownArtifacts, wire: Wire = Wire.OPENAI) -> Message:
    """Write the artifacts as a user message for a window; never in the system role."""
    count = shelved.count
    body = {"role": "user", "content": shelved.text}
    return new_message(body, Role.USER, tokens=count.tokens, tokens_wide=count.wide, wire=wire)

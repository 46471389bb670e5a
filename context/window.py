"""What a window is made of, and what comes out: the values of the assembler."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from context.budget import Budget
from context.certificate import Certificate
from context.history import NOT_STORED
from context.lengths import summary_lengths
from context.outgoing import NOTHING_REFUSED, RefusedBefore
from context.recall.offer import NO_OFFER, RecallOffer, RecallStatus
from context.recall.region import render_recall
from context.recall.selection import RecallBlock
from context.render import render_summary
from context.shelf import Shelf, Shelved
from context.tokens import NO_TOOLS, UNCALIBRATED, Calibration, ToolsCount, measure_message
from context.types import JsonObject, Message, Role, Wire
from context.wire import Loss

NO_ARTIFACTS = Shelved()

NOTES_SHARES = (0.5, 0.25, 0.1)
"""The lengths in which a summary is tried where it does not fit whole, as shares of it."""


@dataclass(frozen=True)
class Recalled:
    """The recalled stretches in a window.

    Attributes:
        blocks: What is shown, in the order of the conversation.
        message: The message that shows them; None for none.
        cost: Its cost in the model's tokens.
        cap: The most that it might have cost in this window, its frame included.
        roomy: Whether all else fits, so that only near matches are shown.
        status: Why it is shown, or why not.
    """

    blocks: Sequence[RecallBlock] = ()
    message: Message | None = None
    cost: int = 0
    cap: int = 0
    roomy: bool = False
    status: RecallStatus = RecallStatus.NOTHING_FOUND


NO_RECALL = Recalled()


@dataclass(frozen=True)
class Notes:
    """The summary in force.

    Attributes:
        version: Which one it is.
        from_seq: First message that it covers.
        to_seq: Last message that it covers.
        text: What it says.
        tokens: What `notes_message` of it costs; None to have it counted.
        tokens_wide: The same in the second count.
        tainted: Whether what it is made of gave orders that nobody in the conversation gave.
        ending: A note of messages that an emergency left out; no version of the summary goes without it.
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
        """The summary and its ending."""
        return "\n\n".join(part for part in (self.text.rstrip(), self.ending) if part)


@dataclass(frozen=True)
class Unread:
    """Raw messages older than those that were read, left out unseen because they cannot fit.

    Attributes:
        from_seq: First of them.
        to_seq: Last of them.
        tokens: Their stored count together; None where nobody knows it.
    """

    from_seq: int
    to_seq: int
    tokens: int | None = None


@dataclass(frozen=True)
class WindowRequest:
    """All that a window is made of.

    Attributes:
        model: Whose window it is.
        budget: What it may hold.
        new: The messages that the request brings; `seq` is 0.
        tail: The newest raw messages, oldest first, without a gap.
        system: The system prompt, a message of plain text; None for none.
        tools: The size of the tool definitions.
        notes: The summary in force.
        recall: Passages of older turns that bear on the new messages, and how much room they may take.
        unread: Older raw messages that were not read.
        user_recall: Passages of the user's other sessions; None where the request asks for none.
        shelf: The artifacts that may be shown; None for none.
        wire: The format in which the window is wanted.
        calibration: What reported usage has taught about the model.
        refused: What the session's provider refused before: it is not sent again.
    """

    model: str
    budget: Budget
    new: Sequence[Message]
    tail: Sequence[Message] = ()
    system: Message | None = None
    tools: ToolsCount = NO_TOOLS
    notes: Notes | None = None
    recall: RecallOffer = NO_OFFER
    unread: Unread | None = None
    user_recall: RecallOffer | None = None
    shelf: Shelf | None = None
    wire: Wire = Wire.OPENAI
    calibration: Calibration = UNCALIBRATED
    refused: RefusedBefore = NOTHING_REFUSED


@dataclass(frozen=True)
class Window:
    """What is sent, in order, and the proof.

    Attributes:
        items: Each message or item as JSON text, in the format asked for.
        system: The system prompt, where the format keeps it apart from the messages.
        dropped: What the format could not carry as it was.
        messages: The messages that became the items, in their own formats.
        certificate: What was counted, what was left out.
        estimated_tokens: What the model will probably bill, without the bound's margin.
        calibration: What the two counts were corrected with.
        shelved: What it shows of artifacts, and how each was used.
        recalled: What it shows of older turns, why not more, and the most that it might show.
        user_recalled: The same of the user's other sessions; None where the request asks for none of them.
    """

    items: tuple[str, ...]
    system: str | None
    dropped: tuple[Loss, ...]
    messages: tuple[Message, ...]
    certificate: Certificate
    estimated_tokens: int
    calibration: Calibration
    shelved: Shelved = NO_ARTIFACTS
    recalled: Recalled = NO_RECALL
    user_recalled: Recalled | None = None


def new_message(
    body: JsonObject,
    role: Role,
    *,
    tokens: int | None = None,
    tokens_wide: int | None = None,
    wire: Wire = Wire.OPENAI,
) -> Message:
    """Make a message of our own, of a role and a text alone; counted, unless its tokens are known."""
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    if tokens is None or tokens_wide is None:
        count = measure_message(body)
        tokens, tokens_wide = count.tokens, count.wide
    return Message(NOT_STORED, role, tokens, raw, wire=wire, tokens_wide=tokens_wide)


def notes_message(notes: Notes, wire: Wire = Wire.OPENAI) -> Message:
    """Write the summary as the user message in which it enters a window; never in the system role.

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
    """The summary in its lengths; shorter ones are written and counted where the whole does not fit."""

    def __init__(self, notes: Notes | None, wire: Wire) -> None:
        """Write the whole summary, and no shorter version yet."""
        self._notes, self._wire = notes, wire
        self._shorter: list[Message] | None = None
        self.whole = notes_message(notes, wire) if notes else None

    def longest_first(self) -> Iterator[Message]:
        """Give the whole summary, then its shorter versions."""
        if self._notes is None or self.whole is None:
            return
        yield self.whole
        if self._shorter is None:
            self._shorter = list(self._write(self._notes))
        yield from self._shorter

    def shortest(self) -> Message | None:
        """Give the shortest version: of an emergency its note alone."""
        return min(self.longest_first(), key=lambda one: one.tokens, default=None)

    def _write(self, notes: Notes) -> Iterator[Message]:
        texts = summary_lengths(notes.text, shares=NOTES_SHARES) if notes.text.strip() else ()
        for text in (*texts, *([""] if notes.ending else [])):
            if len(text) < len(notes.text) and (text.strip() or notes.ending):
                yield notes_message(replace(notes, text=text, tokens=None, tokens_wide=None), self._wire)


def recall_message(blocks: Sequence[RecallBlock], wire: Wire = Wire.OPENAI) -> Message:
    """Write recalled stretches as the user message in which they enter a window; never in the system role."""
    return new_message({"role": "user", "content": render_recall(blocks)}, Role.USER, wire=wire)


def artifacts_message(shelved: Shelved, wire: Wire = Wire.OPENAI) -> Message:
    """Write the artifacts as the user message in which they enter a window; never in the system role."""
    count = shelved.count
    body = {"role": "user", "content": shelved.text}
    return new_message(body, Role.USER, tokens=count.tokens, tokens_wide=count.wide, wire=wire)

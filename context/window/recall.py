"""Parts of a window under construction: passages, artifacts, and notes of turns without room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from context.artifact_plans.strategies import NO_ROOM
from context.conversation.transcript import LineKind, RenderedLine, RenderLimits, render_transcript
from context.recall.offer import NO_OFFER, RecallOffer
from context.summary.extractive.summarize import Summarizer
from context.summary.others_words import users_language
from context.summary.prompt import SummaryInput
from context.tokens import Count
from context.tokens.message import count_of
from context.types import Message, Wire, once_a_message
from context.window.raw_turns import RecallChooser
from context.window.types import (
    NOTE_ONLY,
    ActiveSummary,
    ArtifactCandidates,
    Recalled,
    ShownArtifacts,
    fill_shelf,
    notes_message,
)

NEAR_SHARE = 0.5
"""Largest share of the room for near passages before brief notes."""

SPARED_SHARE = 0.4
"""Share of recall's least size that is enough beside raw turns that fit and stand in a provider's cache."""


class RecallParts:
    """The two choices of recalled blocks, and their changes while the window is filled."""

    def __init__(
        self, chooser: RecallChooser, of_user: RecallOffer | None, shown_from: Callable[[], int | None]
    ) -> None:
        """Choose nothing yet.

        Args:
            chooser: Chooses among the session's own passages.
            of_user: Passages of the user's other sessions; None if not requested.
            shown_from: Returns the window's first raw message; None if all passages are older.
        """
        self.own = self.user = Recalled()
        self._own, self._user = chooser, replace(chooser, offer=of_user or NO_OFFER)
        self._shown_from = shown_from
        self._has_near = False

    @property
    def cost(self) -> int:
        """Cost of both."""
        return self.own.cost + self.user.cost

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of both, in the order of the window."""
        return [one.message for one in (self.user, self.own) if one.message]

    def price_before(self, seq: int, most: int) -> int:
        """Price the blocks chosen among the messages before a message, at a cost of at most `most`."""
        return self._own.choose(Recalled(), most, seq).cost

    def take_near(self, left: int) -> int:
        """Choose near passages in a part of the room, and return the room left."""
        cap = min(self._own.offer.limits.cap(left, -1), int(left * NEAR_SHARE))
        self.own, self._has_near = Recalled(cap=cap, roomy=True), True
        return self._choose(left, cap)

    def take(self, left: int, *, free: int, spares_turns: bool) -> int:
        """Choose recalled blocks before older turns, so that a tail of small talk cannot starve recall.

        The user's other sessions have a share of their own: before the session's own recall if they cover
        more of the question, else of the room left by it.

        Args:
            left: The room beside what must be sent and the newest turns.
            free: Tokens of it that older turns and the summary leave; negative where they do not fit.
            spares_turns: True for a beginning in a provider's cache: a little recall beside all raw turns is
                better than more recall behind a cut.
        """
        takes = (self._take_own, self._take_user)
        for take in reversed(takes) if self._user.offer.goes_first else takes:
            rest = take(left, free, spares_turns)
            left, free = rest, free - (left - rest)
        return left

    def take_more(self, left: int) -> int:
        """Choose again among the messages absent from the window, in the room really left."""
        left += self.own.cost
        if self._own.offer.status is None:
            if self.own.roomy:
                self.own = replace(self.own, cap=max(self.own.cap, self._own.offer.limits.rest_cap(left)))
            left = self._choose(left, min(self.own.cap, left))
        return left

    def drop(self) -> None:
        """Leave out both."""
        self._choose(0, 0)
        self._choose_user(0, 0)

    def give_back(self, tokens: int) -> int:
        """Choose anew until so many tokens are free, other sessions first; return the tokens freed."""
        before = self.user.cost
        freed = self._choose_user(before, before - tokens)
        before = self.own.cost
        return freed + self._choose(before, before - max(tokens - freed, 0))

    def _take_own(self, left: int, free: int, spares_turns: bool) -> int:
        limits = self._own.offer.limits
        if self._has_near:
            return left
        if spares_turns and limits.tokens * SPARED_SHARE <= free < limits.tokens:
            self.own = Recalled(cap=limits.tokens)
            return self._choose(left, free)
        self.own = Recalled(cap=min(limits.cap(left, free), left), roomy=free >= limits.tokens)
        return self._choose(left, self.own.cap)

    def _take_user(self, left: int, free: int, _spares_turns: bool) -> int:
        limits = self._user.offer.limits
        self.user = Recalled(cap=min(limits.share_of(left, free), left), roomy=free >= limits.tokens)
        return self._choose_user(left, self.user.cap)

    def _choose(self, left: int, most: int) -> int:
        self.own = self._own.choose(self.own, min(most, left), self._shown_from())
        return left - self.own.cost

    def _choose_user(self, left: int, most: int) -> int:
        self.user = self._user.choose(self.user, min(most, left))
        return left - self.user.cost


class ArtifactParts:
    """The artifacts of a window, and their changes while the window is filled."""

    def __init__(self, shelf: ArtifactCandidates | None, price: Callable[[Count], int]) -> None:
        """Show nothing yet.

        Args:
            shelf: The available artifacts; None for none.
            price: Bounds a count in the model's own tokens.
        """
        self.shown = ShownArtifacts()
        self._shelf, self._price, self._most = shelf, price, 0

    def take(self, left: int, needed: Callable[[], int]) -> int:
        """Show artifacts in the room that history does not need, and in a share of the room at least."""
        if self._shelf is None:
            return left
        self._most = int(left * self._shelf.most_share)
        room = max(int(left * self._shelf.room_share), left - needed())
        return left - self._fill(min(room, self._most))

    def take_more(self, left: int) -> int:
        """Show artifacts again in the room really left, if one had no room and the older turns took less."""
        before = self.shown
        if self._shelf is None or all(gone.why != NO_ROOM for gone in before.execution.excluded):
            return left
        return left + before.cost - self._fill(min(left + before.cost, self._most))

    def drop(self) -> int:
        """Show none, and return the tokens freed."""
        before = self.shown.cost
        self._fill(0)
        return before

    def _fill(self, room: int) -> int:
        self.shown = fill_shelf(self._shelf or ArtifactCandidates(), room, self._price)
        return self.shown.cost


MOST_COVERED = 8_000
"""Most stored tokens of the covered messages, since the notes are written within a request."""

MOST_TALK = 3_000
"""The same of talk, of which the notes tell the newest."""

FRAME_TOKENS = 85
"""About the tokens around the notes."""

_LIMITS = RenderLimits(result_chars=6_000)
_TRIES = 3
_MOST_LENGTHS = 16


@dataclass(frozen=True)
class BriefNotes:
    """Notes of messages with results of tools, for any room; no question asks for such data in words.

    Attributes:
        covered: The messages, oldest first.
        wire: The format of the window.
        price: Upper bound of a count in the model's own tokens.
        rate: Approximate price of a canonical token.
        asked: The words of the request.
        shown: The covered messages whose words the window shows; the notes tell their results alone.
    """

    covered: Sequence[Message]
    wire: Wire
    price: Callable[[Count], int]
    rate: float
    asked: str = ""
    shown: frozenset[int] = frozenset()

    @property
    def is_possible(self) -> bool:
        """Tell whether there are results to note, and not too much to read."""
        has_results = any(message.answer_ids for message in self.covered)
        return has_results and sum(message.tokens for message in self.covered) <= MOST_COVERED

    def of_talk(self) -> "BriefNotes":
        """Return the notes of the newest messages alone, for talk: as much as a request can read."""
        tokens, first = 0, len(self.covered)
        while first and tokens + self.covered[first - 1].tokens <= MOST_TALK:
            first -= 1
            tokens += self.covered[first].tokens
        return replace(self, covered=self.covered[first:], asked="")

    def write(self, most: int) -> tuple[ActiveSummary, Message] | None:
        """Write the notes at a cost of at most `most`; None without room for a line."""
        tokens = int(most / self.rate) - FRAME_TOKENS if self.covered else 0
        for _ in range(_TRIES):
            text = _notes_of(self.covered[-1], self._lines, self.asked).write(tokens) if tokens > 0 else ""
            if not text:
                return None
            first, last = self.covered[0].seq, self.covered[-1].seq
            notes = ActiveSummary(NOTE_ONLY, first, last, text, tainted=True)
            message = notes_message(notes, self.wire)
            over = self.price(count_of([message])) - most
            if over <= 0:
                return notes, message
            tokens -= int(over / self.rate) + 1
        return None

    @cached_property
    def _lines(self) -> tuple[RenderedLine, ...]:
        lines = render_transcript(self.covered, limits=_LIMITS)
        return tuple(line for line in lines if line.kind is not LineKind.TEXT or line.seq not in self.shown)


class _Notes:
    """Notes of some lines in any length; those of the last lengths are kept."""

    def __init__(self, lines: tuple[RenderedLine, ...], asked: str) -> None:
        request = SummaryInput(lines, budget_tokens=0, language=users_language(lines))
        self._writer = Summarizer(request, asked=asked)
        self._kept: dict[int, str] = {}

    def write(self, tokens: int) -> str:
        """Write the notes in so many tokens."""
        if tokens not in self._kept:
            if len(self._kept) >= _MOST_LENGTHS:
                self._kept.clear()
            self._kept[tokens] = self._writer.write(tokens)
        return self._kept[tokens]


@once_a_message
def _notes_of(_last: Message, lines: tuple[RenderedLine, ...], asked: str) -> _Notes:
    """Read the lines once: the steps of a turn need notes of the same lines for the same question."""
    return _Notes(lines, asked)

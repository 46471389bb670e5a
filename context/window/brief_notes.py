"""Notes for a single request: the data of turns without room in a narrowed window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from context.conversation.transcript import RenderedLine, RenderLimits, render_transcript
from context.summary.extractive.summarize import summarize
from context.summary.others_words import users_language
from context.summary.prompt import SummaryInput
from context.tokens import Count
from context.tokens.message import count_of
from context.types import Message, Wire
from context.window.types import NOTE_ONLY, ActiveSummary, notes_message

MOST_COVERED = 8_000
"""Most stored tokens of the covered messages, since the notes are written within a request."""

FRAME_TOKENS = 130
"""About the tokens around the notes."""

_LIMITS = RenderLimits(result_chars=6_000)
_TRIES = 3


@dataclass(frozen=True)
class BriefNotes:
    """Notes of messages with results of tools, for any room; no question asks for such data in words.

    Attributes:
        covered: The messages, oldest first.
        wire: The format of the window.
        price: Upper bound of a count in the model's own tokens.
        rate: Approximate price of a canonical token.
    """

    covered: Sequence[Message]
    wire: Wire
    price: Callable[[Count], int]
    rate: float

    @property
    def is_possible(self) -> bool:
        """Tell whether there are results to note, and not too much to read."""
        has_results = any(message.answer_ids for message in self.covered)
        return has_results and sum(message.tokens for message in self.covered) <= MOST_COVERED

    def write(self, most: int) -> tuple[ActiveSummary, Message] | None:
        """Write the notes at a cost of at most `most`; None without room for a line."""
        tokens = int(most / self.rate) - FRAME_TOKENS
        for _ in range(_TRIES):
            text = _notes_of(self._lines, tokens) if tokens > 0 else ""
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
        return render_transcript(self.covered, limits=_LIMITS)


@lru_cache(maxsize=64)
def _notes_of(lines: tuple[RenderedLine, ...], tokens: int) -> str:
    """Write the notes; kept, since the steps of a turn need the same."""
    return summarize(SummaryInput(lines=lines, budget_tokens=tokens, language=users_language(lines)))

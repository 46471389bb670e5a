"""Recall in a window: blocks for a given room, or the reason for none."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from context.recall.offer import RecallOffer, RecallStatus
from context.tokens import Count, count_text
from context.tokens.message import count_of
from context.types import Wire
from context.window.types import Recalled, recall_message

FRAME_TOKENS = 50
"""Upper bound of tokens of the label, the tags and the message around recalled blocks."""

_CHOICES = 3


@dataclass(frozen=True)
class RecallChooser:
    """Chooser of an offer's blocks for a window.

    Attributes:
        offer: The passages found.
        wire: The format of the window.
        price: Upper bound of a count in the model's own tokens.
        rate: Approximate price of a canonical token.
    """

    offer: RecallOffer
    wire: Wire
    price: Callable[[Count], int]
    rate: float

    def choose(self, kept: Recalled, most: int, shown_from: int | None = None) -> Recalled:
        """Choose blocks with a cost of at most `most`, including the frame.

        Args:
            kept: The earlier choice, with the cap and reach to keep.
            most: The most cost, in the model's own tokens.
            shown_from: The session's first raw message in the window; None if all passages are older.
        """
        offer = self.offer
        kept = replace(kept, not_indexed=offer.not_indexed(shown_from))
        tokens = int(most / self.rate) - FRAME_TOKENS
        for _ in range(_CHOICES):
            if tokens <= 0:
                break
            blocks = offer.choose(
                before_seq=shown_from,
                max_tokens=tokens,
                facts=offer.limits.facts_of(most),
                roomy=kept.roomy,
                count=count_text,
            )
            if not blocks:
                break
            message = recall_message(blocks, self.wire)
            cost = self.price(count_of([message]))
            if cost <= most:
                return replace(kept, blocks=blocks, message=message, cost=cost, status=RecallStatus.SHOWN)
            tokens -= int((cost - most) / self.rate) + 1
        why = self._why_nothing(most, is_behind=kept.not_indexed > 0)
        return replace(kept, blocks=(), message=None, cost=0, status=why)

    def _why_nothing(self, most: int, *, is_behind: bool) -> RecallStatus:
        """Return the reason for an empty recall, as far as known before any choice."""
        offer = self.offer
        if offer.status is not None or offer.limits.is_skipped:
            return offer.status or RecallStatus.SKIPPED
        if most < min(offer.limits.tokens, FRAME_TOKENS * 2) and offer.passages:
            return RecallStatus.DOES_NOT_FIT
        return RecallStatus.NOT_INDEXED_YET if is_behind else RecallStatus.NOTHING_FOUND

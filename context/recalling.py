"""Recall in a window: the blocks that are shown in a given room, or why there are none."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from context.message_counts import count_of
from context.recall.offer import RecallOffer, RecallStatus
from context.tokens import Count, count_text
from context.types import Wire
from context.window import Recalled, recall_message

FRAME_TOKENS = 50
"""The label and the tags around recalled blocks, and the message that holds them, at most."""

_CHOICES = 3


@dataclass(frozen=True)
class RecallChooser:
    """Chooses blocks of one offer for one window.

    Attributes:
        offer: The passages that were found.
        wire: The format of the window.
        price: Bounds a count in the model's own tokens.
        rate: The price of one canonical token, about.
    """

    offer: RecallOffer
    wire: Wire
    price: Callable[[Count], int]
    rate: float

    def choose(self, kept: Recalled, most: int, shown_from: int | None = None) -> Recalled:
        """Choose blocks that cost no more than `most`, their frame included.

        Args:
            kept: What was chosen before: its cap and its reach hold.
            most: The most that they may cost, in the model's own tokens.
            shown_from: The first message of the session that the window shows raw; None where all is older.
        """
        offer = self.offer
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
                return Recalled(blocks, message, cost, kept.cap, kept.roomy, RecallStatus.SHOWN)
            tokens -= int((cost - most) / self.rate) + 1
        why = self._why_nothing(most, shown_from)
        return replace(kept, blocks=(), message=None, cost=0, status=why)

    def _why_nothing(self, most: int, shown_from: int | None) -> RecallStatus:
        """Say why nothing is recalled, as far as that is known before anything is chosen."""
        offer = self.offer
        if offer.status is not None or offer.limits.is_skipped:
            return offer.status or RecallStatus.SKIPPED
        if most < min(offer.limits.tokens, FRAME_TOKENS * 2) and offer.passages:
            return RecallStatus.DOES_NOT_FIT
        shown_from = offer.hidden_through + 1 if shown_from is None else shown_from
        behind = offer.indexed_through < min(shown_from - 1, offer.hidden_through)
        return RecallStatus.NOT_INDEXED_YET if behind else RecallStatus.NOTHING_FOUND

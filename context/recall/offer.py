"""The offer of recall: passages found for a question, and how much room of a window they may take."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil

from context.recall.passages import Passage
from context.recall.ranking import RecallStats
from context.recall.selection import MIN_SHARE, RankedPassage, RecallBlock, choose_ranked, rank_passages

ROOMY_MIN_SHARE = 0.4
"""Where all else fits, a passage must be nearer to the best: no provider's cache ever holds recall."""

CLOSE_SCORE = 0.5
"""Least score of a passage close to the question: about seven in ten of the question's known words."""

NEAR_SCORE = 0.3
"""Least score of a passage near the question: about half of its known words."""


TOLD_SCORE = 0.15
"""Least score of a passage that tells something of the question; below, it shares a word by chance."""


SHORT_TERMS = 8
"""Most known words of a short question."""


class RecallStatus(StrEnum):
    """Why a window shows recalled passages, or none."""

    SHOWN = "shown"
    NOTHING_FOUND = "nothing-found"
    DOES_NOT_FIT = "does-not-fit"
    NOT_INDEXED_YET = "not-indexed-yet"
    SEARCH_FAILED = "search-failed"
    SKIPPED = "skipped"
    NO_USER = "no-user"
    OFF = "off"


UNTOLD = frozenset({None, RecallStatus.NOTHING_FOUND, RecallStatus.SEARCH_FAILED})
"""Statuses of an offer that may leave a question without an answer; others ask for nothing."""


@dataclass(frozen=True)
class RecallLimits:
    """How much of a window recall may take, in the model's tokens, its frame included.

    Attributes:
        tokens: The most in a window that history fills, >= 0; 0 recalls nothing.
        facts: The most blocks within `tokens`, >= 0; more room takes more of them in proportion.
        tight_share: The share of the room that recall takes where older turns do not fit, [0, 1].
        free_share: The share of the room that it takes where all else fits, [0, 1].
        rest_share: The share of the room that it takes once all else has its room, [0, 1].
        most_tokens: The most in any window, >= `tokens`.
        tight_most_tokens: The most where older turns do not fit, and of `rest_share`, >= `tokens`.
        least_score: What the best passage must score, by the share of the question that is known, >= 0.
    """

    tokens: int = 0
    facts: int = 0
    tight_share: float = 0.0
    free_share: float = 0.0
    rest_share: float = 0.0
    most_tokens: int = 0
    tight_most_tokens: int = 0
    least_score: float = 0.0

    @property
    def is_skipped(self) -> bool:
        """Whether the request wants nothing recalled."""
        return self.tokens <= 0 or self.facts <= 0

    def cap(self, room: int, free: int) -> int:
        """Say how many tokens recall may take of a window.

        Args:
            room: Tokens beside what must be sent and the newest turns.
            free: Tokens of it that older turns and the summary leave; negative where they do not fit.

        Returns:
            At least `tokens`, unless recall is skipped; more where there is more room.
        """
        return 0 if self.is_skipped else max(self.tokens, self._share(room, free))

    def rest_cap(self, rest: int) -> int:
        """Say how many tokens recall may take of a room that nothing else needs; 0 where that is small."""
        roomy = not self.is_skipped and rest >= self.tokens
        return min(int(rest * self.rest_share), self.tight_most_tokens) if roomy else 0

    def share_of(self, room: int, free: int) -> int:
        """Say the same for other sessions: no least in a full window, and the free room up to `tokens`."""
        if self.is_skipped or free >= self.tokens:
            return self.cap(room, free)
        return max(self._share(room, free), min(free, self.tokens))

    def _share(self, room: int, free: int) -> int:
        if free >= self.tokens:
            return min(int(free * self.free_share), self.most_tokens)
        return min(int(room * self.tight_share), self.tight_most_tokens)

    def facts_of(self, tokens: int) -> int:
        """The most blocks within so many tokens."""
        return 0 if self.is_skipped else max(self.facts, ceil(self.facts * tokens / self.tokens))


NOTHING_RECALLED = RecallLimits()


@dataclass(frozen=True)
class RecallOffer:
    """Passages found by a search; the choice among them waits until the room is known.

    Attributes:
        passages: Passages of older messages, in the order of the conversation.
        weights: The weights of the question's terms.
        limits: How much of a window they may take.
        indexed_through: The last message that the index knows, >= 0.
        hidden_through: The last message that the window leaves out in any case, >= 0.
        status: Why there are no passages to choose from; None where a search was made.
        stats: What the search counted; None where none was made.
        goes_first: Whether it has its share before the session's own recall: it covers more of the question.
        known: The share of the question that the session has ever spoken of, in [0, 1].
    """

    passages: Sequence[Passage] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    limits: RecallLimits = NOTHING_RECALLED
    indexed_through: int = 0
    hidden_through: int = 0
    status: RecallStatus | None = None
    stats: RecallStats | None = None
    goes_first: bool = False
    known: float = 1.0
    _ranked: dict[int, Sequence[RankedPassage]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _chosen: dict[Hashable, Sequence[RecallBlock]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def _ranked_before(self, before_seq: int | None) -> Sequence[RankedPassage]:
        """Rank the passages before a message; a window asks several times for the same ones."""
        passages = self.passages
        if before_seq is not None:
            passages = [passage for passage in passages if passage.seq < before_seq]
        found = self._ranked.get(len(passages))
        if found is None:  # in the order of the conversation, as many passages are the same passages
            found = self._ranked[len(passages)] = rank_passages(passages, self.weights)
        return found

    @property
    def may_be_untold(self) -> bool:
        """Whether it answers a question of few known words; of a long one many passages tell a little."""
        return self.status in UNTOLD and len(self.weights) <= SHORT_TERMS

    def is_near(self, before_seq: int | None, least: float) -> bool:
        """Tell whether a passage before a message scores so much for the whole question."""
        ranked = self._ranked_before(before_seq)
        least = max(least, self.limits.least_score)
        return bool(ranked) and not self.limits.is_skipped and ranked[0].score * self.known >= least

    def not_indexed(self, shown_from: int | None) -> int:
        """Count the hidden messages outside the index.

        Args:
            shown_from: The first raw message in the window; None if all passages are older.

        Returns:
            Their number at most, for erased ones count too; 0 without a search.
        """
        if self.status is not None:
            return 0
        hidden_through = min((shown_from or self.hidden_through + 1) - 1, self.hidden_through)
        return max(hidden_through - self.indexed_through, 0)

    def choose(
        self, *, before_seq: int | None, max_tokens: int, facts: int, roomy: bool, count: Callable[[str], int]
    ) -> Sequence[RecallBlock]:
        """Choose blocks of the messages that a window does not show otherwise; the same for the same room.

        Args:
            before_seq: The first message that the window shows raw; None where every passage is older.
            max_tokens: The most canonical tokens of all blocks with their labels.
            facts: The most blocks.
            roomy: Whether all else fits, so that only near matches are worth their price.
            count: Counts the tokens of a text.

        Returns:
            The blocks, in the order of the conversation.
        """
        ranked = self._ranked_before(before_seq)
        key = (len(ranked), max_tokens, facts, roomy, count)
        if key not in self._chosen:
            self._chosen[key] = choose_ranked(
                ranked,
                max_tokens=max_tokens,
                max_facts=facts,
                count=count,
                min_share=ROOMY_MIN_SHARE if roomy else MIN_SHARE,
                least_score=self.limits.least_score / self.known if self.known > 0 else 0.0,
            )
        return self._chosen[key]


NO_OFFER = RecallOffer(status=RecallStatus.OFF)

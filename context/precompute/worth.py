"""Decision whether to make something ahead, before any request."""

from dataclasses import dataclass, replace
from enum import StrEnum

from context.providers.prompt_cache import CacheRule

PRIOR_MADE = 10.0
"""Weight of the first guess, as a number of things made."""

MOST_UNUSED = 50
"""After so many in a row without a use, no guess counts any more."""


class SpeculationPurpose(StrEnum):
    """Purposes of things made ahead; stored, so a rename strands the counts."""

    READING = "reading"
    PLAN = "plan"
    SUMMARY = "summary"


class Worth(StrEnum):
    """Decision to make a thing or not, with the reason."""

    PAYS = "pays"
    EXPLORES = "explores"
    SAVES_TOO_LITTLE = "saves-too-little"
    NEVER_USED = "never-used"
    OVER_CEILING = "over-ceiling"

    @property
    def is_made(self) -> bool:
        """True if the thing is to be made."""
        return self in {Worth.PAYS, Worth.EXPLORES}


@dataclass(frozen=True)
class Guess:
    """Estimate for one thing that could be made.

    Attributes:
        uses: Expected number of requests with a use, before anything was counted, >= 0.
        saving: Tokens of the answering model saved by a use, free alternatives deducted; may be negative.
        tokens: Tokens of the making model, in and out, >= 0.
        price_share: Price of a making token, as a share of a token of the answering model, >= 0.
    """

    uses: float
    saving: float
    tokens: int
    price_share: float

    @property
    def cost(self) -> float:
        """Cost of making the thing, in tokens of the answering model."""
        return self.tokens * self.price_share


@dataclass(frozen=True)
class Record:
    """History of a tenant's things of one kind, over the days counted.

    Attributes:
        made: Number of things made, >= 0.
        used: Number of uses, all together, >= 0.
        saved: Tokens of the answering model saved by the uses; may be negative.
        unused: Number of things of the same purpose made in a row without any use since, >= 0.
    """

    made: int = 0
    used: int = 0
    saved: int = 0
    unused: int = 0


@dataclass(frozen=True)
class Account:
    """Spending and savings of a tenant's background.

    Attributes:
        background: Tokens of all background calls of the day, >= 0.
        spent_today: Tokens of the day for things made ahead, >= 0.
        spent: The same for today and the day before, >= 0.
        saved: Tokens of the answering model saved in the same two days; may be negative.
        spent_ever: Tokens for things made ahead over all days counted, >= 0.
    """

    background: int = 0
    spent_today: int = 0
    spent: int = 0
    saved: int = 0
    spent_ever: int = 0

    def with_more(self, tokens: int) -> "Account":
        """Return the account after further tokens spent on things made ahead."""
        more = {name: getattr(self, name) + tokens for name in ("spent_today", "spent", "spent_ever")}
        return replace(self, **more)


@dataclass(frozen=True)
class WorthLimits:
    """Limits of spending on things made ahead.

    Attributes:
        ceiling_share: The largest spending as a share of the savings, >= 0.
        explore_share: The share of a day's background for things that will probably not pay, [0, 1].
        allowance_tokens: The spending of a new tenant before the ceiling counts, >= 0.
    """

    ceiling_share: float = 0.3
    explore_share: float = 0.02
    allowance_tokens: int = 100_000


LATER_STEPS = 2.0
"""Expected further steps of a turn that goes on."""


def pays_at_once(saved_tokens: int, behind_tokens: int, rule: CacheRule) -> bool:
    """Decide whether to change a window in the middle of a turn, for a shorter part before the turn.

    The change takes all tokens behind out of the provider's cache once; each further step saves the cached
    price of the saved tokens.

    Args:
        saved_tokens: Tokens saved in each request; may be negative.
        behind_tokens: Tokens behind the changed part: the turn so far.
        rule: The cache rule of the answering model's provider.
    """
    saved = saved_tokens * rule.read_share * LATER_STEPS
    return saved > behind_tokens * max(rule.write_share - rule.read_share, 0.0)


def expected_uses(guess: Guess, record: Record) -> float:
    """Return the expected number of uses: the first guess, drawn to the counts as more things were made."""
    return (guess.uses * PRIOR_MADE + record.used) / (PRIOR_MADE + record.made)


def expected_saving(saving: float, record: Record) -> float:
    """Return the expected saving of a use if unknown ahead: a first guess, drawn to the counts."""
    return (saving * PRIOR_MADE + record.saved) / (PRIOR_MADE + record.used)


def worth_making(guess: Guess, record: Record, account: Account, limits: WorthLimits) -> Worth:
    """Decide whether to make a thing ahead.

    A thing pays if its uses save more than its cost, while recent things find uses, within the ceiling. A
    thing that does not pay is still made now and then, in a small share of the background, or nobody would
    ever learn of a change. A thing without a saving even when used is never made.

    Args:
        guess: The estimate.
        record: The history of other things of its kind.
        account: Spending and savings.
        limits: The limits of spending.
    """
    if guess.saving <= 0:
        return Worth.SAVES_TOO_LITTLE
    reason = _refusal(guess, record, account, limits)
    if reason is None:
        return Worth.PAYS
    return Worth.EXPLORES if _explores(guess, account, limits) else reason


def may_spend(guess: Guess, account: Account, limits: WorthLimits) -> bool:
    """Decide whether a call decided before still fits under the ceiling, or into exploration.

    Args:
        guess: The estimate of the call.
        account: Spending and savings, with the reservations of all calls under way.
        limits: The limits of spending.
    """
    return _is_under_ceiling(guess, account, limits) or _explores(guess, account, limits)


def _explores(guess: Guess, account: Account, limits: WorthLimits) -> bool:
    return account.spent_today + guess.tokens <= limits.explore_share * account.background


def _is_under_ceiling(guess: Guess, account: Account, limits: WorthLimits) -> bool:
    if guess.cost == 0 or account.spent_ever + guess.tokens <= limits.allowance_tokens:
        return True
    return account.spent * guess.price_share + guess.cost <= limits.ceiling_share * account.saved


def _refusal(guess: Guess, record: Record, account: Account, limits: WorthLimits) -> Worth | None:
    if expected_uses(guess, record) * guess.saving <= guess.cost:
        return Worth.SAVES_TOO_LITTLE
    if guess.cost == 0:
        return None
    if record.unused >= MOST_UNUSED:
        return Worth.NEVER_USED
    return None if _is_under_ceiling(guess, account, limits) else Worth.OVER_CEILING

"""Decide whether something is worth making before anybody asks for it."""

from dataclasses import dataclass, replace
from enum import StrEnum

PRIOR_MADE = 10.0
"""How many things made the first guess counts for, beside those that were really made."""

MOST_UNUSED = 50
"""After so many in a row without a use, no guess counts any more."""


class Purpose(StrEnum):
    """What is made ahead; stored, so renaming one strands its counts."""

    READING = "reading"
    PLAN = "plan"
    SUMMARY = "summary"


class Worth(StrEnum):
    """Whether it is made, and why."""

    PAYS = "pays"
    EXPLORES = "explores"
    SAVES_TOO_LITTLE = "saves-too-little"
    NEVER_USED = "never-used"
    OVER_CEILING = "over-ceiling"

    @property
    def is_made(self) -> bool:
        """Whether it is to be made."""
        return self in {Worth.PAYS, Worth.EXPLORES}


@dataclass(frozen=True)
class Guess:
    """One thing that could be made.

    Attributes:
        uses: How many requests will probably use it, before anything was counted, >= 0.
        saving: Tokens of the answering model that a use saves, beside what costs nothing; may be negative.
        tokens: Tokens of the model that makes it, in and out, >= 0.
        price_share: What one of these costs, as a share of a token of the answering model, >= 0.
    """

    uses: float
    saving: float
    tokens: int
    price_share: float

    @property
    def cost(self) -> float:
        """What it takes to make, in tokens of the answering model."""
        return self.tokens * self.price_share


@dataclass(frozen=True)
class Record:
    """What became of a tenant's things of this kind, over the days that are looked at.

    Attributes:
        made: How many were made, >= 0.
        used: How often they were used, all together, >= 0.
        saved: Tokens of the answering model that these uses saved; may be negative.
        unused: How many were made in a row, of the same purpose, without any use since, >= 0.
    """

    made: int = 0
    used: int = 0
    saved: int = 0
    unused: int = 0


@dataclass(frozen=True)
class Account:
    """What a tenant's background took and saved.

    Attributes:
        background: Tokens of all background calls of the day, >= 0.
        spent_today: Tokens of the day for what was made ahead, >= 0.
        spent: The same for this day and the one before, >= 0.
        saved: Tokens of the answering model that it saved in the same two days; may be negative.
        spent_ever: Tokens for it over all the days that are looked at, >= 0.
    """

    background: int = 0
    spent_today: int = 0
    spent: int = 0
    saved: int = 0
    spent_ever: int = 0

    def with_more(self, tokens: int) -> "Account":
        """The same after so many more tokens are spent on what is made ahead."""
        more = {name: getattr(self, name) + tokens for name in ("spent_today", "spent", "spent_ever")}
        return replace(self, **more)


@dataclass(frozen=True)
class WorthLimits:
    """How much may be spent on what is made ahead.

    Attributes:
        ceiling_share: The most of it as a share of what it saved, >= 0.
        explore_share: The share of a day's background that is spent on what will probably not pay, [0, 1].
        allowance_tokens: What a new tenant may spend before the ceiling counts, >= 0.
    """

    ceiling_share: float = 0.3
    explore_share: float = 0.02
    allowance_tokens: int = 100_000


def expected_uses(guess: Guess, record: Record) -> float:
    """Say how many requests will use it: the first guess, drawn to what was counted the more was made."""
    return (guess.uses * PRIOR_MADE + record.used) / (PRIOR_MADE + record.made)


def expected_saving(saving: float, record: Record) -> float:
    """Say what a use will save where nobody can tell ahead: a first guess, drawn to what was counted."""
    return (saving * PRIOR_MADE + record.saved) / (PRIOR_MADE + record.used)


def worth_making(guess: Guess, record: Record, account: Account, limits: WorthLimits) -> Worth:
    """Decide whether to make a thing ahead.

    It pays where its uses save more than it costs, as long as what was made lately has uses, within the
    ceiling. What does not pay is made now and then all the same, in a small share of the background: else
    nobody would ever learn that it does. What saves nothing even when it is used never is.

    Args:
        guess: The thing.
        record: What became of others of its kind.
        account: What was spent and saved.
        limits: How much may be spent.
    """
    if guess.saving <= 0:
        return Worth.SAVES_TOO_LITTLE
    reason = _refusal(guess, record, account, limits)
    if reason is None:
        return Worth.PAYS
    explored = account.spent_today + guess.tokens
    return Worth.EXPLORES if explored <= limits.explore_share * account.background else reason


def _refusal(guess: Guess, record: Record, account: Account, limits: WorthLimits) -> Worth | None:
    if expected_uses(guess, record) * guess.saving <= guess.cost:
        return Worth.SAVES_TOO_LITTLE
    if guess.cost == 0:
        return None
    if record.unused >= MOST_UNUSED:
        return Worth.NEVER_USED
    is_new = account.spent_ever + guess.tokens <= limits.allowance_tokens
    spent = account.spent * guess.price_share + guess.cost
    return None if is_new or spent <= limits.ceiling_share * account.saved else Worth.OVER_CEILING

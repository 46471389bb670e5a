"""The model that plans: what it can be given, and in which words it is asked."""

from dataclasses import dataclass, replace
from enum import StrEnum

from context.catalog.size import CatalogBudget
from context.profiles.find import catalog_budget
from context.profiles.types import FALLBACK, ModelProfile, Tier

REQUEST_SHARE = 0.25
MOST_REQUEST_TOKENS = 8_000
"""What is kept free for the request: fixed, so that the catalog's bytes do not depend on what is asked."""

INSTRUCTION_TOKENS = 700
"""What is kept free for our own words and the reply's overhead."""


class Variant(StrEnum):
    """How a model is asked: at length, briefly, or for the first step only."""

    FULL = "full"
    BRIEF = "brief"
    SINGLE = "single"


_VARIANTS = {Tier.A: Variant.FULL, Tier.B: Variant.BRIEF, Tier.C: Variant.SINGLE}


@dataclass(frozen=True)
class Planner:
    """A model, as planning sees it.

    Attributes:
        model: Its name.
        profile: What it takes and how reliable its answers are.
    """

    model: str
    profile: ModelProfile = FALLBACK

    @property
    def variant(self) -> Variant:
        """How it is asked."""
        return _VARIANTS[self.profile.tier]

    @property
    def request_tokens(self) -> int:
        """How much of its input the request may take, in canonical tokens."""
        room = catalog_budget(self.profile, self.model).tokens
        return min(int(room * REQUEST_SHARE), MOST_REQUEST_TOKENS)

    @property
    def catalog_budget(self) -> CatalogBudget:
        """How much of a catalog it is shown."""
        kept_free = self.request_tokens + INSTRUCTION_TOKENS
        return catalog_budget(self.profile, self.model, reserve_tokens=kept_free)

    def weakened(self) -> "Planner":
        """The same model for a second try: asked as an unknown one is, or shown half as much."""
        profile = self.profile
        shown = min(profile.catalog_bytes or FALLBACK.catalog_bytes, FALLBACK.catalog_bytes)
        weaker = replace(
            profile,
            tier=Tier.C,
            input_tokens=min(profile.input_tokens, FALLBACK.input_tokens),
            catalog_bytes=max(shown // 2, 1) if profile.tier is Tier.C else shown,
            strict_json=False,
            filter_pass=False,
            prefix_cache=False,
        )
        return Planner(self.model, weaker)

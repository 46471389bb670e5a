"""Planner model: its limits, and the variant of the prompt."""

from dataclasses import dataclass, replace
from enum import StrEnum

from context.catalog.size import CatalogBudget
from context.profiles.find import catalog_budget
from context.profiles.types import FALLBACK, ModelProfile, Tier

REQUEST_SHARE = 0.25
MOST_REQUEST_TOKENS = 8_000
"""Tokens reserved for the request; fixed, so that the catalog's bytes do not depend on the intent."""

INSTRUCTION_TOKENS = 700
"""Tokens reserved for the instructions and the reply's overhead."""


class Variant(StrEnum):
    """How a model is asked: at length, briefly, or for the first step only."""

    FULL = "full"
    BRIEF = "brief"
    SINGLE = "single"


_VARIANTS = {Tier.A: Variant.FULL, Tier.B: Variant.BRIEF, Tier.C: Variant.SINGLE}


@dataclass(frozen=True)
class Planner:
    """A model in the role of planner.

    Attributes:
        model: The model's name.
        profile: The model's limits and reliability.
    """

    model: str
    profile: ModelProfile = FALLBACK

    @property
    def variant(self) -> Variant:
        """Prompt variant for the model."""
        return _VARIANTS[self.profile.tier]

    @property
    def request_tokens(self) -> int:
        """Input tokens left for the request, in canonical tokens."""
        room = catalog_budget(self.profile, self.model).tokens
        return min(int(room * REQUEST_SHARE), MOST_REQUEST_TOKENS)

    @property
    def catalog_budget(self) -> CatalogBudget:
        """Size limit of the shown catalog."""
        kept_free = self.request_tokens + INSTRUCTION_TOKENS
        return catalog_budget(self.profile, self.model, reserve_tokens=kept_free)

    def weakened(self) -> "Planner":
        """Return the same model for a second try: prompted like an unknown model, or with half a catalog."""
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

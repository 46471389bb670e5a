"""Answers about catalogs, model budgets and preflight."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from api.answers.base import ApiAnswer
from api.answers.context import CompactionFigures
from context.types import JsonObject


class CatalogFigures(ApiAnswer):
    """A catalog in numbers."""

    name: str
    digest: str
    tools: int
    pipelines: int
    bytes: int
    tokens: int


class StoredCatalog(CatalogFigures):
    """A catalog that was stored."""

    changed: bool = Field(description="Whether it differs from the version before.")


class CatalogEntry(CatalogFigures):
    """A catalog in a list."""

    updated_at: datetime


class CatalogList(ApiAnswer):
    """The catalogs of a tenant."""

    catalogs: list[CatalogEntry]


class CatalogContent(ApiAnswer):
    """Tools and pipelines."""

    tools: list[JsonObject]
    pipelines: list[JsonObject]


class ShownCatalog(CatalogFigures):
    """A version of a catalog."""

    in_force: bool
    put_at: datetime
    catalog: CatalogContent


class CatalogReceipt(ApiAnswer):
    """Rows of a deleted catalog."""

    removed: dict[str, int]
    invalidated: dict[str, int]
    requeued: int


class RankedTool(ApiAnswer):
    """A tool in a ranking."""

    id: str
    kind: str
    score: float
    lexical: float
    prior: float
    reasons: list[str] = Field(default=[])


class RankingAnswer(ApiAnswer):
    """Tools ranked for an intent."""

    entries: list[RankedTool]
    prior_set: int | None = Field(default=None, description="The set that ranked; null for words alone.")
    hidden: int
    gap_warning: str | None
    digest: str


class WellShare(ApiAnswer):
    """A share of plans that went well, with its 95 % interval."""

    share: float
    low: float
    high: float


class WellDifference(ApiAnswer):
    """The share under the canary less the share under the set in force, with its 95 % interval."""

    difference: float
    low: float
    high: float


class CanaryArmEntry(ApiAnswer):
    """Outcomes of the plans that one set ranked."""

    sessions: int = Field(description="Sessions with outcomes.")
    plans: int = Field(description="Plans with outcomes.")
    well: int = Field(description="Plans none of whose steps failed.")
    share: WellShare | None


class PriorCanaryEntry(ApiAnswer):
    """A set served to a share of sessions, beside the set in force in the same days."""

    share: float = Field(description="Share of sessions served the set.")
    base: int | None = Field(description="The set in force beside it; null for words alone.")
    since: datetime
    until: datetime = Field(description="The last moment at which the canary serves.")
    end: Literal["promoted", "dropped"] | None = Field(
        description="The verdict by outcomes; null while it runs, and after an end by hand."
    )
    new: CanaryArmEntry
    in_force: CanaryArmEntry
    difference: WellDifference | None


class PriorSetEntry(ApiAnswer):
    """A set of priors."""

    version: int
    state: Literal["observing", "canary", "active", "superseded", "rejected"]
    reason: str = Field(description="The judgement in words.")
    evidence: float = Field(description="Plans behind the set; older ones count for less.")
    drift: float | None = Field(description="Distance of its rankings from the set before, from 0 to 1.")
    evaluation: dict[str, Any] = Field(description="Figures of `new`, of `in_force` and of `words` alone.")
    made_at: datetime
    activated_at: datetime | None
    ended_at: datetime | None
    canary: PriorCanaryEntry | None = Field(
        description="How the set is or was served to a share of sessions."
    )


class PriorSets(ApiAnswer):
    """The sets of priors of a catalog, newest first."""

    sets: list[PriorSetEntry]


class SetInForce(ApiAnswer):
    """The set of priors in force after a change."""

    in_force: int | None = Field(description="Its version; null where words alone rank.")


class CanaryShareAnswer(ApiAnswer):
    """Share of sessions to which a night's better set of priors is served first."""

    share: float = Field(description="At least 0 and below 1; with 0 a better set takes force at once.")
    source: str = Field(description="`tenant`, or `installation` for a tenant without a share of its own.")


class CompactCatalog(ApiAnswer):
    """A catalog that fits a model."""

    catalog: CatalogContent
    compaction: CompactionFigures
    gap_warning: str | None
    tier: str
    digest: str


class ModelBudget(ApiAnswer):
    """The budget of a model."""

    model: str
    profile: str | None = None
    tier: str
    input_tokens: int
    output_tokens: int
    catalog_bytes: int
    strict_json: bool
    hybrid_reasoning: bool
    filter_pass: bool
    prefix_cache: bool
    cache_ttl_s: float | None
    input_usd: float | None = Field(description="US dollars for a million tokens.")
    output_usd: float | None
    cached_usd: float | None
    context_window: int | None
    top_n: int | None


class ModelBudgets(ApiAnswer):
    """Budgets of models."""

    budgets: list[ModelBudget]
    policy: str
    resolved: ModelBudget | None = Field(default=None, description="The budget of the model asked for.")


class PreflightConfig(ApiAnswer):
    """The policy of preflight."""

    policy_version: int
    config: dict[str, Any]
    learned_factors: dict[str, Any]

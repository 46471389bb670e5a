"""Metadata of an answer about used artifacts: treatment, planner, cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from context.artifact_plans.needs_plan import PlanningReason
from context.artifacts.types import Artifact, ProcessingStrategy, ReadingForm
from context.types import JsonObject


@dataclass(frozen=True)
class ArtifactUsageRecord:
    """Use of an artifact; never its content, nor any text made of it.

    Attributes:
        artifact_id: The artifact.
        source: A source such as `step_1:web_search` or `history:msg_3:web_scraper`.
        artifact_type: `tool_result` or `document`.
        strategy: The treatment: `include_full`, `summarize`, `rag_extract` or `exclude`.
        original_size_chars: Length of the whole, >= 0.
        processed_size_chars: Length of the shown text; None if nothing is shown.
        cache_hit: True if an existing summary was used.
        planned: The planned treatment, perhaps not possible.
        how: The reading shown: `full`, `exact`, `near` or `extract`; None for nothing.
        tokens: The cost in the window, >= 0.
        similarity: Similarity between the focus of a near summary and the wanted focus; None for others.
        other_summarizer: True if the summary's model or prompt is no longer in force.
        reason: The reason for exclusion, or for another use than planned; empty if used as planned.
    """

    artifact_id: str
    source: str
    artifact_type: str
    strategy: str
    original_size_chars: int
    processed_size_chars: int | None = None
    cache_hit: bool = False
    planned: str = ""
    how: str | None = None
    tokens: int = 0
    similarity: float | None = None
    other_summarizer: bool = False
    reason: str = ""

    @property
    def is_outdated(self) -> bool:
        """True if another summarizer made the shown summary for the very focus: due to be made anew."""
        return self.other_summarizer and self.similarity == 1.0

    @classmethod
    def excluded(
        cls, artifact: Artifact, *, planned: ProcessingStrategy, reason: str
    ) -> "ArtifactUsageRecord":
        """Record an excluded artifact with the reason."""
        return cls(
            artifact_id=artifact.artifact_id,
            source=artifact.source,
            artifact_type=artifact.artifact_type.value,
            strategy=ProcessingStrategy.EXCLUDE.value,
            original_size_chars=artifact.size_chars,
            planned=planned.value,
            reason=reason,
        )

    def as_json(self) -> JsonObject:
        """Write the record as a JSON object."""
        return dict(vars(self))


@dataclass(frozen=True)
class ContextPlanningCost:
    """Cost of the models beside the primary, in US dollars; an unknown price is None and never 0.

    Attributes:
        planner_cost: Cost of the planning call; 0 without a call, None if the price is unknown.
        summarizer_cost: Cost of the used summaries; likewise.
        unpriced_calls: The number of calls without a known price, >= 0.
        call_ids: The calls in the ledger; each was paid once, for any number of answers.
    """

    planner_cost: Decimal | None = Decimal(0)
    summarizer_cost: Decimal | None = Decimal(0)
    unpriced_calls: int = 0
    call_ids: tuple[str, ...] = ()

    @classmethod
    def of_calls(
        cls, *, planner: Sequence[Decimal | None] = (), summarizer: Sequence[Decimal | None] = ()
    ) -> "ContextPlanningCost":
        """Add up the prices of calls, None for unknown prices.

        Args:
            planner: Prices of planning calls.
            summarizer: Prices of the calls behind the used summaries.
        """
        unpriced = sum(price is None for price in (*planner, *summarizer))
        return cls(_added(planner), _added(summarizer), unpriced)

    @property
    def total_cost(self) -> Decimal | None:
        """Both costs together; None if either is unknown."""
        return _added((self.planner_cost, self.summarizer_cost))

    def as_json(self) -> JsonObject:
        """Write the costs as a JSON object; money as decimal text, exactly."""
        return {
            "planner_cost": _money(self.planner_cost),
            "summarizer_cost": _money(self.summarizer_cost),
            "total_cost": _money(self.total_cost),
            "unpriced_calls": self.unpriced_calls,
            "call_ids": list(self.call_ids),
        }


@dataclass(frozen=True)
class ContextUtilizationMetadata:
    """Content of a window.

    Attributes:
        model_name: The answering model.
        strategy: The method used to build the window.
        tokens: Tokens by category, such as `input` and `budget`.
        messages: The number of messages in the window.
        breakdown: Tokens by region.
        goal: The purpose of the answer.
        artifacts_processed: One record an artifact, in the order of priority.
        llm_planning_used: True if a model's plan was carried out.
        planning_reason: The reason to ask for a model's plan, or not.
        planning_fallback: The reason for the plan by rule in place of a wanted model's plan; else empty.
        planning_cost: Cost of planning and summaries; None if no model was asked.
        cache_stats: The counts of `cache_stats`; None without artifacts.
    """

    model_name: str
    strategy: str
    tokens: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0
    breakdown: Mapping[str, int] = field(default_factory=dict)
    goal: str | None = None
    artifacts_processed: Sequence[ArtifactUsageRecord] = ()
    llm_planning_used: bool = False
    planning_reason: PlanningReason = PlanningReason.NO_ARTIFACTS
    planning_fallback: str = ""
    planning_cost: ContextPlanningCost | None = None
    cache_stats: Mapping[str, int] | None = None

    def artifact_members(self) -> JsonObject:
        """Write the members about artifacts and planning."""
        return {
            "artifacts_processed": [record.as_json() for record in self.artifacts_processed],
            "llm_planning_used": self.llm_planning_used,
            "planning_reason": self.planning_reason.value,
            "planning_fallback": self.planning_fallback or None,
            "planning_cost": self.planning_cost.as_json() if self.planning_cost else None,
            "cache_stats": dict(self.cache_stats) if self.cache_stats is not None else None,
        }

    def as_json(self) -> JsonObject:
        """Write all members as a JSON object."""
        return {
            "model_name": self.model_name,
            "strategy": self.strategy,
            "tokens": dict(self.tokens),
            "messages": self.messages,
            "breakdown": dict(self.breakdown),
            "goal": self.goal,
            **self.artifact_members(),
        }


def cache_stats(records: Iterable[ArtifactUsageRecord]) -> dict[str, int]:
    """Count hits and misses of wanted summaries.

    Args:
        records: The uses of artifacts.

    Returns:
        `hits`: summaries for the very focus; `near`: for a near focus; `misses`: a summary was wanted, and
        the window shows something else or nothing.
    """
    counted = Counter({"hits": 0, "near": 0, "misses": 0})
    for record in records:
        if record.how == ReadingForm.EXACT.value:
            counted["hits"] += 1
        elif record.how == ReadingForm.NEAR.value:
            counted["near"] += 1
        elif record.planned == ProcessingStrategy.SUMMARIZE.value:
            counted["misses"] += 1
    return dict(counted)


def _added(prices: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for price in prices:
        if price is None:
            return None
        total += price
    return total


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:f}"

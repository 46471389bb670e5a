"""What an answer says of the artifacts that it used: which, how, by whose plan, at what cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal

from context.artifacts.reading import How
from context.artifacts.types import Artifact, ProcessingStrategy
from context.planning.decision import PlanningReason
from context.types import JsonObject


@dataclass(frozen=True)
class ArtifactUsageRecord:
    """How an artifact was used; never its content, nor any text made of it.

    Attributes:
        artifact_id: Which one.
        source: Such as `step_1:web_search` or `history:msg_3:web_scraper`.
        artifact_type: `tool_result` or `document`.
        strategy: What was done: `include_full`, `summarize`, `rag_extract` or `exclude`.
        original_size_chars: Length of the whole, >= 0.
        processed_size_chars: Length of what the window shows; None where it shows nothing.
        cache_hit: Whether a summary that was there already was used.
        planned: What the plan wanted, which may not have been possible.
        how: What the window shows: `full`, `exact`, `near` or `extract`; None for nothing.
        tokens: What it costs there, >= 0.
        similarity: How near a summary's focus is to the wanted one; None for everything but a near one.
        other_summarizer: Whether another model or prompt made the summary than is in force.
        reason: Why it was excluded, or not used as planned; empty where it was used as planned.
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
        """Whether it shows what another summarizer made for the very focus: due to be made anew."""
        return self.other_summarizer and self.similarity == 1.0

    @classmethod
    def excluded(
        cls, artifact: Artifact, *, planned: ProcessingStrategy, reason: str
    ) -> "ArtifactUsageRecord":
        """Write down that an artifact is not shown, and why."""
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
        """Write it as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class ContextPlanningCost:
    """What the models beside the primary one cost, in US dollars; an unknown price is None and never 0.

    Attributes:
        planner_cost: Of the planning call; 0 where none was made, None where its price is not known.
        summarizer_cost: Of the summaries that were used; likewise.
        unpriced_calls: How many of these calls have no known price, >= 0.
        call_ids: These calls in the ledger; each was paid once, whatever the number of answers that use it.
    """

    planner_cost: Decimal | None = Decimal(0)
    summarizer_cost: Decimal | None = Decimal(0)
    unpriced_calls: int = 0
    call_ids: tuple[str, ...] = ()

    @classmethod
    def of_calls(
        cls, *, planner: Sequence[Decimal | None] = (), summarizer: Sequence[Decimal | None] = ()
    ) -> "ContextPlanningCost":
        """Add up the prices of calls, each None where it is not known.

        Args:
            planner: Prices of planning calls.
            summarizer: Prices of the calls that made the summaries that were used.
        """
        unpriced = sum(price is None for price in (*planner, *summarizer))
        return cls(_added(planner), _added(summarizer), unpriced)

    @property
    def total_cost(self) -> Decimal | None:
        """Both together; None where one of them is not known."""
        return _added((self.planner_cost, self.summarizer_cost))

    def as_json(self) -> JsonObject:
        """Write it as a JSON object; money as decimal text, exactly."""
        return {
            "planner_cost": _money(self.planner_cost),
            "summarizer_cost": _money(self.summarizer_cost),
            "total_cost": _money(self.total_cost),
            "unpriced_calls": self.unpriced_calls,
            "call_ids": list(self.call_ids),
        }


@dataclass(frozen=True)
class ContextUtilizationMetadata:
    """What a window was made of.

    Attributes:
        model_name: The model that answers.
        strategy: How the window was built.
        tokens: Tokens by what they are, such as `input` and `budget`.
        messages: How many messages it holds.
        breakdown: Tokens by region.
        goal: What the answer is for.
        artifacts_processed: One record an artifact, in the order of priority.
        llm_planning_used: Whether a model's plan was carried out.
        planning_reason: Why a model's plan was asked for, or not.
        planning_fallback: Why the plan by rule answered although a model's was wanted; empty where none was.
        planning_cost: What planning and summaries cost; None where no model was asked for anything.
        cache_stats: What `cache_stats` counts; None where there are no artifacts.
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
        """Write the members that are about artifacts and planning."""
        return {
            "artifacts_processed": [record.as_json() for record in self.artifacts_processed],
            "llm_planning_used": self.llm_planning_used,
            "planning_reason": self.planning_reason.value,
            "planning_fallback": self.planning_fallback or None,
            "planning_cost": self.planning_cost.as_json() if self.planning_cost else None,
            "cache_stats": dict(self.cache_stats) if self.cache_stats is not None else None,
        }

    def as_json(self) -> JsonObject:
        """Write it whole as a JSON object."""
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
    """Count how the wish for summaries was met.

    Args:
        records: How artifacts were used.

    Returns:
        `hits`: summaries for the very focus; `near`: for a near one; `misses`: a summary was wanted, and the
        window shows something else or nothing.
    """
    counted = Counter({"hits": 0, "near": 0, "misses": 0})
    for record in records:
        if record.how == How.EXACT.value:
            counted["hits"] += 1
        elif record.how == How.NEAR.value:
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

"""The answer to a context request."""

from datetime import datetime
from typing import Any

from pydantic import Field

from api.answers.base import ApiAnswer
from context.types import JsonObject


class SentBlock(ApiAnswer):
    """A part of the window."""

    source: str
    tokens: int
    origin: str
    trust: str


class ExcludedPart(ApiAnswer):
    """A part that the window does not hold."""

    what: str
    why: str
    tokens: int | None


class ShapeCheck(ApiAnswer):
    """Whether the provider takes the messages as they are."""

    accepted: bool
    rules: list[str]
    faults: list[Any]


class WindowProof(ApiAnswer):
    """The certificate: proof that the window fits and is whole."""

    fits: bool
    input_tokens: int
    budget: int
    context_window: int
    max_tokens: int
    summary_covers: list[int] | None = Field(description="First and last message behind the summary.")
    tail: list[int] | None = Field(description="First and last raw message.")
    tail_contiguous: bool
    tool_pairs_intact: bool
    blocks: list[SentBlock]
    excluded: list[ExcludedPart]
    repairs: list[Any]
    losses: list[Any]
    accepted_shape: ShapeCheck
    history_tokens: int
    history_limit: int | None


class MemoryRoom(ApiAnswer):
    """Room for recalled passages."""

    max_facts: int
    max_tokens: int


class PreflightDecision(ApiAnswer):
    """Categories of the new message, and the parts of the window chosen by category."""

    categories: list[str]
    scores: dict[str, float]
    confidence: float
    inherited: bool
    tool_allowlist: list[str] | None
    hidden: int
    memory: MemoryRoom
    thinking_level: str
    hint: str | None
    policy_version: int
    reasons: list[str]


class TokenFigures(ApiAnswer):
    """Tokens of the window."""

    input: int = Field(description="The bound of all that is sent.")
    estimated: int
    budget: int
    available: int
    raw_history: int


class RecallFigures(ApiAnswer):
    """Passages of older turns."""

    status: str
    tokens: int
    max_tokens: int
    not_indexed: int


class CompactionFigures(ApiAnswer):
    """Sizes of tools before and after shortening."""

    before_bytes: int
    after_bytes: int
    before_tokens: int
    after_tokens: int
    dropped: list[Any]
    hidden: int
    trimmed: int


class ToolFigures(ApiAnswer):
    """Tools that are sent and left out."""

    sent: int
    filtered: list[Any] = Field(
        description="Tools not wanted by preflight: the first, or all with `explain`."
    )
    filtered_count: int
    hidden: list[Any] = Field(description="Tools without room: the first, or all with `explain`.")
    hidden_count: int
    compaction: CompactionFigures | None
    hint: str | None
    gap_warning: str | None
    entry_ids: dict[str, str]


class LimitFigures(ApiAnswer):
    """Windows asked for, learned and in force."""

    asked: int | None
    learned: int | None
    in_force: int
    history: Any = None


class CacheFigures(ApiAnswer):
    """Expected cache hits of the provider, and the reasons."""

    expected_tokens: int
    found_share: float = Field(description="Share of expected tokens that the provider was seen to find.")
    stable_prefix_tokens: int
    changed_tokens: int
    idle_s: float | None
    ttl_s: float | None
    activation: Any
    prepared_through: int | None
    in_place: list[str]
    behind_history: list[str]


class WindowFigures(ApiAnswer):
    """How the window is used."""

    model_name: str
    model_family: str
    strategy: str
    tokens: TokenFigures
    messages: int
    breakdown: dict[str, int]
    calibration: dict[str, float]
    recall: RecallFigures
    user_recall: RecallFigures | None = None
    goal: Any = None
    assumed: list[str]
    artifacts_processed: list[dict[str, Any]]
    llm_planning_used: bool
    planning_reason: str | None
    planning_fallback: str | None
    planning_cost: dict[str, Any] | None
    cache_stats: dict[str, int] | None
    tools: ToolFigures | None
    cache: CacheFigures
    limits: LimitFigures


class HistoryFreshness(ApiAnswer):
    """How far the background is."""

    last_seq: int
    summarized_through: int
    pending: int
    oldest_due_age_s: float | None
    summary_by: str | None
    stands_in: bool


class ContextWindow(ApiAnswer):
    """The messages of the next request, with proof that they fit."""

    messages: list[JsonObject] = Field(description="The messages to send, in the format of the request.")
    system: str | list[JsonObject] | None = Field(
        default=None, description="The system prompt where the format has it apart."
    )
    tools: list[JsonObject] | None = Field(description="The tools to send; null to send none.")
    preflight: PreflightDecision | None
    utilization: WindowFigures
    certificate: WindowProof
    freshness: HistoryFreshness


class BatchedContext(ApiAnswer):
    """The answer to a line of a batch: a context, or an error."""

    line: int = Field(description="The number of the line, from 1; empty lines do not count.")
    session_id: str | None = Field(default=None, description="The session; missing if the line names none.")
    status: int = Field(description="The status that the call alone would have.")
    context: ContextWindow | None = None
    error: dict[str, Any] | None = Field(default=None, description="A problem, if the line was refused.")


class BatchedContexts(ApiAnswer):
    """The contexts of a batch, line by line."""

    results: list[BatchedContext]


class LearnedLimit(ApiAnswer):
    """A window learned from refusals, or set by an operator."""

    model: str
    limit_tokens: int
    source: str
    session_id: str | None = Field(description="The session it holds for; null for the whole tenant.")
    seen_at: datetime | None
    expires_at: datetime | None


class LearnedLimits(ApiAnswer):
    """Limits in force."""

    limits: list[LearnedLimit]
    expire_after_hours: float

"""Answers about sessions, turns, summaries, served windows, and erasure."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from api.answers.base import ApiAnswer
from api.answers.context import ContextWindow, HistoryFreshness


class SessionTokens(ApiAnswer):
    """Tokens of a session."""

    history: int
    raw: int
    summarized: int
    summary: int
    raw_with_prepared: int
    system_prompt: int
    tools: int


class PendingWork(ApiAnswer):
    """A piece of work for the session."""

    kind: str
    state: str
    due_at: datetime | None
    attempts: int
    crashes: int
    last_error: str | None
    last_outcome: str | None
    finished_at: datetime | None


class RefusalPause(ApiAnswer):
    """A pause after refused summaries."""

    open_until: datetime | None
    reason: str | None
    refusals: int


class SessionStanding(ApiAnswer):
    """The state of a session."""

    session_id: str
    generation: int
    turns: int
    last_turn_at: datetime | None
    model: str | None
    context_window: int | None
    history_limit: Any = None
    tokens: SessionTokens
    left_out: dict[str, int | None] | None = Field(description="Messages left out by an emergency.")
    freshness: HistoryFreshness
    due_work: list[PendingWork]
    breaker: RefusalPause
    last_errors: list[str]


class SummaryVersion(ApiAnswer):
    """A version of the summary."""

    version: int
    generation: int
    state: str
    from_seq: int
    to_seq: int
    base_version: int | None
    text: str
    tokens: int
    covered_tokens: int
    model: str
    method: str
    prompt_version: str
    language: str
    created_at: datetime
    activated_at: datetime | None
    rejected_because: str | None
    tainted: bool
    adds: list[int] | None = Field(description="First and last message that it adds to its base.")


class SummaryVersions(ApiAnswer):
    """Every version, newest first."""

    summaries: list[SummaryVersion]


class ResetAnswer(ApiAnswer):
    """A session that started over."""

    session_id: str
    generation: int
    starts_after: int = Field(description="The last message before the reset.")
    repeated: bool = Field(default=False, description="Whether the reset was done before.")


class ErasureReceipt(ApiAnswer):
    """Rows that are gone."""

    removed: dict[str, int] = Field(description="Rows of what was said and sent, by table.")
    invalidated: dict[str, int] = Field(description="Rows that were made of it, by table.")
    requeued: int = Field(description="Pieces of work that were asked for again.")
    repeated: bool = Field(default=False, description="Whether it was done before.")
    erased_at: datetime | None = Field(default=None, description="When it was done before.")


class ChangedMessages(ApiAnswer):
    """Numbers of changed messages."""

    removed: list[int]
    rewritten: list[int]


class MessageReceipt(ErasureReceipt):
    """The receipt of a changed message."""

    generation: int
    messages: ChangedMessages
    notes: list[str] = Field(default=[])


class UserReceipt(ErasureReceipt):
    """The receipt of an erased user."""

    remaining_sessions: int = Field(description="Sessions left for the next call.")


class HistoryLimitAnswer(ApiAnswer):
    """The limit of history in force."""

    max_history_tokens: int | None
    source: str | None = Field(description="`session` or `tenant`; null without a limit.")


class UserRecallAnswer(ApiAnswer):
    """The switch of recall across a user's sessions."""

    enabled: bool
    status: str = Field(
        description="`settled`: every stored session follows the switch; `working`: workers are at it; "
        "`failed`: some work was given up, and a new call of the switch tries it again."
    )
    sessions_waiting: int = Field(
        description="Stored sessions known to wait; more may follow while `status` is `working`."
    )


class RetentionAges(ApiAnswer):
    """Ages and numbers of retention."""

    session_days: float | None
    plan_days: float | None
    ledger_days: float | None
    summary_versions: int | None


class RetentionAnswer(ApiAnswer):
    """Wishes of the tenant, the ages in force, and what is gone."""

    wished: RetentionAges
    in_force: RetentionAges
    gone: list[dict[str, Any]]


class ShadowAnswer(ApiAnswer):
    """Parts in shadow, and their measures."""

    days: int
    in_shadow: list[str]
    parts: list[dict[str, Any]]


class TriedWindow(ApiAnswer):
    """A window of a trial."""

    tools: int
    hidden_tools: int
    certificate: dict[str, Any]
    held: list[bool]


class TrialAnswer(ApiAnswer):
    """Windows with and without parts."""

    tried: list[str]
    served: TriedWindow
    would_be: dict[str, TriedWindow]


class UsageTotals(ApiAnswer):
    """Sums of calls to models."""

    calls: int
    failed: int
    lost: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    known_price_usd: float
    unpriced_calls: int


class UsageAnswer(ApiAnswer):
    """Costs by day, and the caps."""

    first: str = Field(alias="from")
    last: str = Field(alias="to")
    usage: list[dict[str, Any]]
    total: UsageTotals
    made_ahead: list[dict[str, Any]]
    cache: list[dict[str, Any]]
    caps: dict[str, Any]


class ReadyEvent(ApiAnswer):
    """The data of an event: the names of what is ready, without any text."""

    at: datetime = Field(description="When it became ready; `Last-Event-ID` goes on from there.")
    session_id: str | None = Field(default=None, description="The session, if it belongs to one.")
    version: int | None = Field(default=None, description="`summary_ready`: the version in force.")
    artifact_id: str | None = Field(default=None, description="`artifact_summary_ready`: the artifact.")
    plan_id: str | None = Field(default=None, description="`plan_ready` and `plan_failed`: the plan.")


class AliveAnswer(ApiAnswer):
    """A process that is alive."""

    status: str
    release: str


class ReadyAnswer(ApiAnswer):
    """Whether requests can be served, and why not."""

    status: str
    checks: dict[str, Any]
    last_seen: dict[str, Any]
    models: dict[str, Any]


class ServiceAnswer(ApiAnswer):
    """The service and its pages."""

    name: str
    version: str
    release: str
    docs: str
    openapi: str
    inspector: str | None = Field(default=None, description="Missing where the page is switched off.")
    mcp: str
    ready: str


class TurnReceipt(ApiAnswer):
    """The place of a recorded turn."""

    session_id: str
    turn_id: str
    turn_index: int = Field(description="Its place in the session, from 1.")
    first_seq: int = Field(description="The number of its first message.")
    last_seq: int = Field(description="The number of its last message.")
    duplicate: bool = Field(description="Whether the turn was stored already.")
    erased: bool = Field(default=False, description="Whether any of its messages was erased since.")
    notes: list[str] = Field(default=[], description="Remarks about unusual content.")


class LineResult(ApiAnswer):
    """The result of a line of a batch: a receipt, or an error."""

    line: int = Field(description="The number of the line, from 1; empty lines do not count.")
    error: dict[str, Any] | None = Field(default=None, description="A problem, if the line was refused.")
    session_id: str | None = None
    turn_id: str | None = None
    turn_index: int | None = None
    first_seq: int | None = None
    last_seq: int | None = None
    duplicate: bool | None = None
    erased: bool | None = None
    notes: list[str] = Field(default=[])


class BatchResults(ApiAnswer):
    """The results of a batch, line by line."""

    results: list[LineResult]


class ServedWindowFacts(ApiAnswer):
    """A window in numbers."""

    window_id: UUID
    call: Literal["context", "compress"]
    served_at: datetime
    user_id: str | None = Field(description="The asking user, if the request named one.")
    model: str
    wire: str
    after_seq: int = Field(description="The newest stored message at that time.")
    input_tokens: int
    budget: int
    size_bytes: int
    is_whole: bool = Field(description="False for a window too large to keep with its messages.")


class ServedWindows(ApiAnswer):
    """The kept windows of a session, newest first."""

    windows: list[ServedWindowFacts]
    share: float = Field(description="The share of requests that are kept now; 0 keeps none.")


class ServedWindowAnswer(ServedWindowFacts):
    """A window as it was served."""

    answer: ContextWindow | None = Field(description="The whole answer; null where `is_whole` is false.")

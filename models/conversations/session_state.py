"""A session's row as a value, derived figures (raw messages, load, window), and the settings of summaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from pydantic import Field, model_validator
from sqlalchemy.dialects.postgresql import Range

from context.providers.model_windows import UsualBudget, UsualWindow, known_window
from context.summary.trigger import Load, Thresholds, cool_down_s
from context.tokens.budget import Budget, HistoryLimit, LimitSource, choose_budget
from context.window.activation import ActivationMode, ActivationSettings, calls_for_work
from context.window.emergency import LeftOut
from models.settings import Settings


class CompressionSettings(Settings):
    """When history is summarized and how much of it stays raw; checked against each other at start."""

    summarize_message_count: int = Field(
        60, description="Number of raw messages above which a summary is due."
    )
    summarize_window_share: float = Field(
        0.75, description="Share of the window above which a summary is due."
    )
    summarize_keep_messages: int = Field(20, description="Newest messages kept raw.")
    summarize_keep_share: float = Field(0.3, description="Largest share of the window kept raw.")
    summarize_min_progress: float = Field(0.1, description="Smallest share of tokens a summary must save.")
    summarize_least_share: float = Field(
        0.75,
        description="Share of the window below which the message count alone makes no summary due.",
    )
    summarize_least_tokens: int = Field(
        4_000,
        description="Tokens below which the message count alone makes no summary due; short messages stay "
        "raw up to this many tokens. In turns of steps and in a usual budget the growth after a cut below "
        "which no summary is due; half as many tokens stay raw there.",
    )
    summarize_price_share: float = Field(
        0.2,
        description="Share of the window up to which the price of history makes no summary due, in turns "
        "of steps and in a usual budget; behind a summary half of it.",
    )
    summarize_debounce_s: float = Field(
        1.0, ge=0, description="Merge turns within this many seconds into one job."
    )
    activation: ActivationMode = Field(
        ActivationMode.CACHE_AWARE,
        description="When a prepared summary takes effect: `cache-aware` waits for a cold prompt cache or "
        "for pressure, `immediate` does not wait.",
    )
    summarize_prepare_at: float = Field(
        0.5,
        description="Point between the raw share (0) and the due threshold (1) from which a summary is "
        "prepared ahead.",
    )
    prompt_cache_ttl_s: dict[str, float] = Field(
        default_factory=dict,
        description="Seconds a provider caches a prefix, as JSON by family or start of the model name.",
    )
    summarize_rest_s: float = Field(
        60,
        ge=0,
        description="Seconds a session waits after two refused summaries; doubles after each further "
        "refusal.",
    )
    summarize_rest_max_s: float = Field(
        86_400, ge=0, description="Longest wait of a session after refused summaries, in seconds."
    )

    @property
    def thresholds(self) -> Thresholds:
        """The same numbers as the pure functions take them."""
        return Thresholds(
            self.summarize_message_count,
            self.summarize_window_share,
            self.summarize_keep_messages,
            self.summarize_keep_share,
            self.summarize_min_progress,
            self.summarize_least_share,
            self.summarize_least_tokens,
            self.summarize_price_share,
        )

    @property
    def activation_settings(self) -> ActivationSettings:
        """When summaries are prepared and take effect, as the pure functions take it."""
        return ActivationSettings(self.activation, self.summarize_prepare_at, self.prompt_cache_ttl_s)

    def rest_s(self, refusals: int) -> float:
        """How long a session rests after so many refused summaries in a row, in seconds.

        One alone is no reason: the next turn may change the answer.
        """
        in_a_row = max(refusals - 1, 0)
        return cool_down_s(in_a_row, first_s=self.summarize_rest_s, most_s=self.summarize_rest_max_s)

    @model_validator(mode="after")
    def _thresholds_agree(self) -> "CompressionSettings":
        _ = self.thresholds, self.activation_settings, self.rest_s(2)
        return self


compression_settings = lru_cache(CompressionSettings)
"""Read the settings once; later changes have no effect."""


NOTHING_IN_FORCE: Mapping[str, Any] = {"summarized_seq": 0, "summarized_tokens": 0, "summary_tokens": 0}
"""A session's counters without a summary in force."""
NOTHING_PREPARED: Mapping[str, Any] = {"prepared_seq": 0, "prepared_tokens": 0, "prepared_summary_tokens": 0}
"""A session's counters without a prepared summary."""
NOTHING_SUMMARIZED: Mapping[str, Any] = {**NOTHING_IN_FORCE, **NOTHING_PREPARED}
"""A session's counters without any summary: all shown messages are raw."""


COUNTS_REVISION = 2
"""Present revision of token counting; the sweep corrects sessions of an earlier revision."""


LEAST_TURNS, MESSAGES_OF_STEPS, MESSAGES_OF_TOOLS = 2, 3, 2.5
"""Turns that tell of the next one, and their mean messages where a half or a quarter of them call tools: a
call and a result beside the question and the answer.
"""


@dataclass(frozen=True)
class SessionState:
    """A session's row as a value; a fresh session has counted nothing."""

    session_id: str
    generation: int = 1
    start_seq: int = 0
    last_seq: int = 0
    last_turn_index: int = 0
    history_tokens: int = 0
    summarized_tokens: int = 0
    summarized_seq: int = 0
    summary_tokens: int = 0
    model: str | None = None
    context_window: int | None = None
    max_tokens: int | None = None
    system_tokens: int = 0
    tools_tokens: int = 0
    last_turn_at: datetime | None = None
    prepared_seq: int = 0
    prepared_tokens: int = 0
    prepared_summary_tokens: int = 0
    cut_seq: int = 0
    kept_seq: int | None = None
    unsigned_seq: int = 0
    most_images: int | None = None
    counts_revision: int = COUNTS_REVISION
    max_history_tokens: int | None = None
    narrow_window: int | None = None
    narrow_reads: int = 0
    cache_after_seq: int | None = None
    turn_as_of: datetime | None = None
    removed_seqs: Sequence[Range[int]] = ()
    asked_model: str | None = None
    hidden_seqs: Range[int] | None = None
    bare_from: int | None = None
    budget_tokens: int | None = None
    narrow_budget: int | None = None
    narrow_turns: int = 0
    narrow_seq: int | None = None
    tenant_history_tokens: int | None = None

    @property
    def history_limit(self) -> HistoryLimit | None:
        """Limit of history in a request: the session's own limit, or else the tenant's."""
        return history_limit(self.max_history_tokens, self.tenant_history_tokens)

    @property
    def asked_since(self) -> datetime | None:
        """Time of the open turn's first request, or of a later one that took in new artifact summaries."""
        return self.turn_as_of if self.cache_after_seq == self.last_seq else None

    @property
    def raw_from(self) -> int:
        """The seq after which messages are neither summarized nor left behind by a reset."""
        return max(self.start_seq, self.summarized_seq)

    @property
    def left_out(self) -> LeftOut | None:
        """Messages left out by an emergency and not covered by a summary yet."""
        first = self.raw_from + 1
        if self.cut_seq < first:
            return None
        kept = self.kept_seq if self.kept_seq and self.kept_seq >= first else None
        return LeftOut(first, self.cut_seq, kept)

    @property
    def tail_from(self) -> int:
        """The seq after which messages are shown raw."""
        return max(self.raw_from, self.cut_seq)

    @property
    def shown_from(self) -> int:
        """First raw message of the newest window with this summary; 0 if the window hid no raw message."""
        hidden = self.hidden_seqs
        return (hidden.upper or 0) if hidden and hidden.lower == self.tail_from + 1 else 0

    @property
    def recall_through(self) -> int:
        """Last message to index for recall: a prepared summary may cover the message at any read."""
        return max(self.tail_from, self.prepared_seq)

    @property
    def raw_messages(self) -> int:
        """Number of messages without a summary."""
        return self._messages_after(self.raw_from)

    def _messages_after(self, seq: int) -> int:
        removed = ((max(each.lower or 0, seq + 1), each.upper or 0) for each in self.removed_seqs)
        return self.last_seq - seq - sum(max(upper - lower, 0) for lower, upper in removed)

    @property
    def raw_tokens(self) -> int:
        """Tokens of the messages without a summary."""
        return max(self.history_tokens - self.summarized_tokens, 0)

    @property
    def load(self) -> Load:
        """Load of the next request, built like the last request."""
        return Load(
            raw_messages=self.raw_messages,
            raw_tokens=self.raw_tokens,
            summary_tokens=self.summary_tokens,
            system_tokens=self.system_tokens,
            tools_tokens=self.tools_tokens,
            left_out=max(self.cut_seq - self.raw_from, 0),
            model=self.model,
            has_steps=self.tools_tokens > 0 and self._has_turns_of(MESSAGES_OF_TOOLS),
        )

    @property
    def expects_steps(self) -> bool:
        """Expect a turn of steps in a session whose turns have as many messages."""
        return self._has_turns_of(MESSAGES_OF_STEPS)

    def _has_turns_of(self, messages: float) -> bool:
        turns = self.last_turn_index
        return turns >= LEAST_TURNS and self.last_seq >= messages * turns

    @property
    def unsummarized(self) -> "SessionState":
        """The same session without any summary."""
        return replace(self, **NOTHING_SUMMARIZED)

    @property
    def has_prepared(self) -> bool:
        """True when a prepared summary waits for a good moment to take effect."""
        return self.prepared_seq > self.raw_from

    @property
    def prepared_load(self) -> Load:
        """Load of the next request with the prepared summary; the same load without a prepared summary."""
        if not self.has_prepared:
            return self.load
        return replace(
            self.load,
            raw_messages=self._messages_after(self.prepared_seq),
            raw_tokens=max(self.history_tokens - self.prepared_tokens, 0),
            summary_tokens=self.prepared_summary_tokens,
            left_out=max(self.cut_seq - self.prepared_seq, 0),
        )

    @property
    def usual_window(self) -> UsualWindow:
        """Window of the session's requests, or else the model's known window."""
        named = self.context_window or (known_window(self.model) if self.model else None)
        return UsualWindow(named, self.narrow_window, self.narrow_reads)

    @property
    def usual_budget(self) -> UsualBudget:
        """Budget of the session's requests."""
        return UsualBudget(self.budget_tokens, self.narrow_budget, self.narrow_turns, self.narrow_seq)

    @property
    def budget(self) -> Budget:
        """Usual window of the requests, or else the model's known window, with the output limit.

        An output limit that fills a window named later does not count.
        """
        return self.budget_within(None)

    def budget_within(self, ceiling: int | None) -> Budget:
        """Choose the budget in a window no larger than the model's real window."""
        named = self.usual_window.tokens
        window = min((tokens for tokens in (named, ceiling) if tokens), default=None)
        output = None if self.max_tokens and window and self.max_tokens >= window else self.max_tokens
        return choose_budget(
            named,
            output,
            ceiling=ceiling,
            input_limit=self.budget_tokens,
            history_limit=self.history_limit,
            is_usual=self.budget_tokens is not None,
        )


def history_limit(of_session: int | None, of_tenant: int | None) -> HistoryLimit | None:
    """Choose the limit of history in force: a session's, or else the tenant's, in tokens."""
    if of_session is not None:
        return HistoryLimit(of_session, LimitSource.SESSION)
    return None if of_tenant is None else HistoryLimit(of_tenant, LimitSource.TENANT)


def is_due(session: SessionState) -> bool:
    """Tell whether the next request is under pressure, or a summary should be prepared for later."""
    settings = compression_settings()
    return calls_for_work(
        session.load,
        session.prepared_load,
        session.budget,
        settings.thresholds,
        settings.activation_settings,
    )

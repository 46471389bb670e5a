"""A session's row as a value, and derived figures (raw messages, load, window)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy.dialects.postgresql import Range

from context.providers.model_windows import UsualBudget, UsualWindow, known_window
from context.summary.trigger import Load
from context.tokens.budget import Budget, HistoryLimit, LimitSource, choose_budget
from context.window.activation import calls_for_work
from context.window.emergency import LeftOut
from models.conversations.settings import compression_settings

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

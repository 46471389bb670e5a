"""Typed answers of the API. Members that a newer service adds are kept."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from afterturn_client.errors import refusal

Json = dict[str, Any]


class ApiAnswer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)


class Recorded(ApiAnswer):
    """A turn after its end.

    Attributes:
        session_id: The conversation.
        turn_id: The turn.
        turn_index: The turn's number, from 1; None while queued.
        first_seq: Place of the first message in the log; None while queued.
        last_seq: Place of the last message; None while queued.
        duplicate: True if the turn was stored before.
        notes: Remarks of the service, such as a call without a result.
        queued: True if the service is away and the turn waits in the outbox.
    """

    session_id: str
    turn_id: str
    turn_index: int | None = None
    first_seq: int | None = None
    last_seq: int | None = None
    duplicate: bool = False
    notes: list[str] = Field(default_factory=list)
    queued: bool = False


class Freshness(ApiAnswer):
    """Progress of the background.

    Attributes:
        last_seq: The last stored message.
        summarized_through: The last message that the summary in force covers.
        pending: Units of work under way.
        oldest_due_age_s: Age of the oldest unit that is due, in seconds; None if none is.
    """

    last_seq: int = 0
    summarized_through: int = 0
    pending: int = 0
    oldest_due_age_s: float | None = None


class Certificate(ApiAnswer):
    """The proof of a window: counts, limits, parts, and everything left out.

    Attributes:
        fits: True if the window is within its budget.
        input_tokens: A bound of all tokens that are sent.
        budget: The most input tokens.
        context_window: The model's window, in tokens.
        max_tokens: The output limit, in tokens.
        summary_covers: First and last message of the summary; None without a summary.
        tail: First and last raw message; None without any.
        tool_pairs_intact: True if each call has its result.
        blocks: Parts with tokens and origin, in order.
        excluded: Parts that were left out, with reasons.
        repairs: Mended messages.
        losses: Parts that the format could not carry.
    """

    fits: bool
    input_tokens: int
    budget: int
    context_window: int
    max_tokens: int
    summary_covers: list[int] | None = None
    tail: list[int] | None = None
    tool_pairs_intact: bool = True
    blocks: list[Json] = Field(default_factory=list)
    excluded: list[Json] = Field(default_factory=list)
    repairs: list[Any] = Field(default_factory=list)
    losses: list[Any] = Field(default_factory=list)


class Preflight(ApiAnswer):
    """A classified message.

    Attributes:
        categories: Categories, the best first.
        confidence: From 0 to 1.
        tool_allowlist: Names of the tools to offer; None for all.
        thinking_level: How much thought the message needs.
        hint: A line for the model.
        reasons: Rules that led here.
    """

    categories: list[str] = Field(default_factory=list)
    confidence: float = 0.0
    tool_allowlist: list[str] | None = None
    thinking_level: str | None = None
    hint: str | None = None
    reasons: list[str] = Field(default_factory=list)


class Context(ApiAnswer):
    """The window of the next model request.

    Attributes:
        messages: Messages to send, in the format that was asked for.
        tools: Tools to send; None to leave the field out.
        system: The system prompt in the format of Anthropic; else part of `messages`.
        certificate: The proof.
        freshness: Progress of the background.
        preflight: The classification of the message; None if switched off.
        utilization: Counts for people and dashboards.
    """

    messages: list[Json]
    tools: list[Json] | None = None
    system: Any = None
    certificate: Certificate
    freshness: Freshness
    preflight: Preflight | None = None
    utilization: Json = Field(default_factory=dict)


class BatchedContext(ApiAnswer):
    """The result of one request of a batch.

    Attributes:
        status: The status that the call alone would have.
        session_id: The conversation; None if the request names none.
        context: The window; None if the request was refused.
        error: The problem document of a refusal.
    """

    status: int
    session_id: str | None = None
    context: Context | None = None
    error: Json | None = None

    def get(self) -> Context:
        """Return the window.

        Raises:
            RefusedError: The request was refused.
        """
        if self.context is None:
            raise refusal(self.status, self.error or {})
        return self.context


class BatchedContexts(ApiAnswer):
    """The results of a batch."""

    results: list[BatchedContext]


class SessionState(ApiAnswer):
    """The state of a session.

    Attributes:
        session_id: The conversation.
        turns: The number of stored turns.
        model: The model that answered last.
        freshness: Progress of the background.
    """

    session_id: str
    turns: int
    model: str | None = None
    freshness: Freshness


class StoredTurn(ApiAnswer):
    """A stored turn.

    Attributes:
        turn_id: The turn.
        turn_index: Its number, from 1.
        wire: The format of the messages; None where all are erased.
        seqs: The place of each message in the log.
        messages: The messages, as sent.
    """

    turn_id: str
    turn_index: int
    wire: str | None = None
    seqs: list[int]
    messages: list[Json]


class TurnPage(ApiAnswer):
    """A page of stored turns.

    Attributes:
        turns: The turns, in order.
        next: The first turn of the next page; None at the end.
    """

    turns: list[StoredTurn]
    next: int | None = None


class SummaryVersion(ApiAnswer):
    """A version of a session's summary.

    Attributes:
        version: Its number, from 1.
        state: Whether the version is in force.
        from_seq: First covered message.
        to_seq: Last covered message.
    """

    version: int
    state: str
    from_seq: int
    to_seq: int


class SummaryList(ApiAnswer):
    """All versions of a summary."""

    summaries: list[SummaryVersion]


class Attachment(ApiAnswer):
    """A stored document.

    Attributes:
        attachment_id: The id for `attachments` of a turn.
        title: The document's title.
        kind: The kind of its content.
        size_chars: Characters of its text.
        tokens: Tokens of its text.
        duplicate: True if stored before.
    """

    attachment_id: str
    title: str | None = None
    kind: str | None = None
    size_chars: int = 0
    tokens: int = 0
    duplicate: bool = False


class Catalog(ApiAnswer):
    """A stored catalog of tools.

    Attributes:
        name: The catalog's name.
        digest: The version by content.
        tools: The number of tools.
        pipelines: The number of pipelines.
        catalog: The content, where asked for.
    """

    name: str
    digest: str
    tools: int
    pipelines: int
    catalog: Json | None = None


class CatalogList(ApiAnswer):
    """The catalogs of a tenant."""

    catalogs: list[Catalog]


class RankedEntry(ApiAnswer):
    """A catalog's entry with its score."""

    id: str
    score: float


class Ranking(ApiAnswer):
    """Entries of a catalog, the best first.

    Attributes:
        entries: The entries.
        prior_set: The set of priors that ranked, for `plan` of the turn; None for words alone.
        gap_warning: Set where no entry may fit.
    """

    entries: list[RankedEntry]
    prior_set: int | None = None
    gap_warning: str | None = None


class PlanStep(ApiAnswer):
    """A step of a plan."""

    order: int
    tool: str
    args: Json = Field(default_factory=dict)
    rationale: str | None = None
    outcome: str | None = None


class Plan(ApiAnswer):
    """A plan of tool calls.

    Attributes:
        plan_id: The plan.
        status: For example `ready`; steps come with it.
        intent: The intent that was planned for.
        steps: The steps, in order.
    """

    plan_id: str
    status: str
    intent: str | None = None
    steps: list[PlanStep] | None = None


class Usage(ApiAnswer):
    """Cost of the background's models.

    Attributes:
        from_: First day.
        to: Last day.
        usage: Counts by day, purpose and model.
        total: The sum.
        caps: Caps, and the rest of the day.
    """

    from_: str = Field(alias="from")
    to: str
    usage: list[Json]
    total: Json
    caps: Json | None = None


class UserRecall(ApiAnswer):
    """The switch of recall across a user's sessions.

    Attributes:
        enabled: Whether a request may ask for passages of the user's other sessions.
        status: `settled` when every stored session follows the switch, `working`, or `failed`.
        sessions_waiting: Stored sessions known to wait.
    """

    enabled: bool
    status: str
    sessions_waiting: int


class Receipt(ApiAnswer):
    """The receipt of an erasure.

    Attributes:
        removed: Removed rows by table.
        invalidated: Rows that no longer serve, by table.
        requeued: Units of work that begin anew.
    """

    removed: dict[str, int] = Field(default_factory=dict)
    invalidated: dict[str, int] = Field(default_factory=dict)
    requeued: int = 0


class Key(ApiAnswer):
    """A key of the tenant, without its secret.

    Attributes:
        key_id: The id, for `revoke`.
        label: The purpose.
        scopes: What the key may do.
        state: `in_force`, `expired` or `revoked`.
        expires_at: The end of the key; None without an end.
    """

    key_id: str
    label: str
    scopes: list[str]
    state: str
    expires_at: str | None = None


class NewKey(Key):
    """A new key; `key` is shown once."""

    key: str


class KeyPage(ApiAnswer):
    """A page of keys; `next` is the cursor of the next page, None at the end."""

    keys: list[Key]
    next: str | None = None

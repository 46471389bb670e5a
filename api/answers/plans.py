"""Answers about plans, artifacts and attachments."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from api.answers.base import ApiAnswer
from context.types import JsonObject


class SummaryOfFocus(ApiAnswer):
    """A summary of an artifact for a focus."""

    focus: str = Field(description="The question; empty for the general summary.")
    origin: str = Field(description="Where the wish came from, such as `request` or `asked`.")
    state: Literal["wanted", "ready", "rejected"]
    language: str
    model: str = Field(description="The model that wrote it; empty as long as none is chosen.")
    method: str | None
    text: str | None
    tokens: int | None
    rejected_because: str | None
    ready_at: datetime | None
    uses: int


class ArtifactOfSession(ApiAnswer):
    """An artifact of a session."""

    artifact_id: str
    artifact_type: str
    kind: str
    title: str
    size_chars: int
    tokens: int
    preview: str
    uses: int = Field(description="Messages of the session with it; 0 for an upload.")
    last_seq: int | None = Field(description="The newest of these messages.")
    created_at: datetime
    last_used_at: datetime
    summaries: list[SummaryOfFocus] = Field(description="The newest first.")


class SessionArtifacts(ApiAnswer):
    """The artifacts of a session, the newest use first."""

    artifacts: list[ArtifactOfSession]
    more: bool = Field(description="Whether there are older artifacts that are not listed.")


class PlanStep(ApiAnswer):
    """A step of a plan."""

    order: int
    tool: str
    args: JsonObject | None = None
    rationale: str | None = None
    outcome: str | None = None
    error: str | None = None


class PlanWork(ApiAnswer):
    """The work at a plan."""

    state: str
    due_at: datetime | None
    last_error: str | None


class PlanAnswer(ApiAnswer):
    """A plan, wanted or ready."""

    plan_id: str
    source: str
    status: str
    mode: str
    intent: str
    complexity: float | None
    features: dict[str, Any]
    catalog: str | None
    catalog_digest: str | None
    model: str | None
    method: str | None
    steps: list[PlanStep]
    compaction: dict[str, Any] | None
    usage: dict[str, Any] | None
    call_ids: list[str]
    duration_ms: int | None
    created_at: datetime
    ready_at: datetime | None
    session_id: str | None = None
    turn_id: str | None = None
    user_id: str | None = None
    outcome_at: datetime | None = None
    prior_set: int | None = Field(
        default=None, description="The set of priors that ranked the catalog; 0 for words alone."
    )
    gap_warning: str | None = None
    more_steps_likely: bool | None = None
    failure: dict[str, Any] | None = Field(default=None, description="Why there is no plan.")
    due_work: PlanWork | None = None


class PlanList(ApiAnswer):
    """A page of plans, newest first."""

    plans: list[PlanAnswer]
    next: str | None = Field(description="The `cursor` of the next page; null at the end.")


class OutcomeAnswer(ApiAnswer):
    """The steps of a plan with their outcomes."""

    plan_id: str
    steps: list[PlanStep]
    joined: int = Field(description="The number of outcomes that were new.")


class ToolRecord(ApiAnswer):
    """How a tool did in plans."""

    tool: str
    planned: int
    ok: int
    error: int
    unknown: int


class PlanGroup(ApiAnswer):
    """Plans with the same intent."""

    intent_sha: str
    intent: str
    times: int
    last_at: datetime
    mode: str
    catalogs: list[str]
    last_steps: list[str]
    gaps: int
    tools: list[ToolRecord]


class PastPlansAnswer(ApiAnswer):
    """Past plans, grouped by intent."""

    plans: list[PlanGroup]
    tools: list[ToolRecord]
    considered: int
    groups: int


class TextSlice(ApiAnswer):
    """A part of a text."""

    start: int = Field(alias="from")
    end: int = Field(alias="to")
    text: str
    next_from: int | None = Field(description="Where to read on; null where the text is shown to its end.")


class ShownArtifact(ApiAnswer):
    """An artifact."""

    artifact_id: str
    artifact_type: str
    kind: str
    title: str
    media_type: str
    size_chars: int
    size_bytes: int
    tokens: int
    language: str | None
    preview: str
    indexed: bool
    created_at: datetime
    last_used_at: datetime
    slice: TextSlice | None = None


class SummaryRequested(ApiAnswer):
    """A summary of an artifact that is wanted or ready."""

    artifact_id: str
    focus: str
    focus_key: str
    state: str
    reason: str | None = Field(default=None, description="Why a summary was rejected.")


class ArtifactSummaryAnswer(ApiAnswer):
    """A summary of an artifact for a focus."""

    artifact_id: str
    match: str = Field(description="`exact`, or `near` for a summary of a similar focus.")
    similarity: float
    other_summarizer: bool
    asked_focus: str
    focus: str
    focus_key: str
    text: str
    tokens: int
    language: str
    size_class: str
    model: str
    prompt_version: str
    method: str | None
    ready_at: datetime | None


class UploadedAttachment(ApiAnswer):
    """An uploaded document."""

    attachment_id: str
    artifact_id: str
    title: str
    kind: str
    media_type: str
    size_chars: int
    tokens: int
    duplicate: bool = Field(description="Whether the document was there already.")


class AttachmentAnswer(ApiAnswer):
    """A document."""

    attachment_id: str
    artifact_id: str
    title: str
    kind: str
    media_type: str
    size_chars: int
    tokens: int
    source: str
    attachment_type: str
    size_bytes: int
    language: str | None
    preview: str
    indexed: bool
    uploaded_at: datetime
    last_used_at: datetime
    content: str | None = Field(default=None, description="The beginning of its text, if asked for.")
    truncated: bool | None = None
    next_from: int | None = None

"""Answers about the artifacts of a session."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from api.answers.base import ApiAnswer


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

"""Answers about work that is not done."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from api.answers.base import ApiAnswer


class WorkOfKind(ApiAnswer):
    """The work of a kind."""

    kind: str
    due: int = Field(description="Pieces whose time has come.")
    later: int = Field(description="Pieces whose time has not come yet.")
    running: int
    dead: int = Field(description="Pieces given up after repeated failures.")
    oldest_due_age_s: float | None = Field(description="Seconds since the oldest due piece came due.")


class UnfinishedWork(ApiAnswer):
    """A piece of work."""

    kind: str
    key: str = Field(description="The session, artifact or plan that it is for.")
    session_id: str | None = Field(description="The session, where the key is one.")
    state: Literal["ready", "running", "dead"]
    due_at: datetime
    attempts: int
    crashes: int
    waits_for: str | None = Field(description="`cap` or `model`, where it waits for one.")
    last_error: str | None
    last_outcome: str | None


class WorkAnswer(ApiAnswer):
    """The tenant's work: counts by kind, and the pieces themselves."""

    kinds: list[WorkOfKind]
    work: list[UnfinishedWork] = Field(description="Given up first, then the longest due first.")
    more: bool = Field(description="Whether there is more than is counted and listed here.")

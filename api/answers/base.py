"""The base of answers, options of a route with a described answer, and answers about keys and work."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class ApiAnswer(BaseModel):
    """An answer; a field without a value may be missing where it has a default."""

    model_config = ConfigDict(populate_by_name=True)


def answers(model: type[BaseModel], operation_id: str, summary: str, **also: str) -> dict[str, Any]:
    """Describe the answer of a route.

    Args:
        model: The shape of the answer.
        operation_id: The name of the call in generated clients.
        summary: The call in a few words, beginning with a verb.
        also: Descriptions of other statuses with the same shape, such as `s200`.
    """
    others = {int(status[1:]): {"model": model, "description": said} for status, said in also.items()}
    return {"response_model": model, "operation_id": operation_id, "summary": summary, "responses": others}


class KeyEntry(ApiAnswer):
    """A key, without its secret."""

    key_id: str = Field(description="The second part of the key, which is no secret.")
    label: str
    scopes: list[Literal["read", "write", "admin"]]
    state: Literal["in_force", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class NewKey(KeyEntry):
    """A new key."""

    key: str = Field(description="The key. It is shown here alone: only a hash is stored.")


class KeyList(ApiAnswer):
    """A page of keys, by id."""

    keys: list[KeyEntry]
    next: str | None = Field(description="The `cursor` of the next page; null at the end.")


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

"""Answers about API keys."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from api.answers.base import ApiAnswer


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

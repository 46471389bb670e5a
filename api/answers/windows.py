"""Answers about windows as they were served."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from api.answers.base import ApiAnswer
from api.answers.context import ContextWindow


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

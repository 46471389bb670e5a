"""Answers about turns."""

from typing import Any

from pydantic import Field

from api.answers.base import ApiAnswer


class TurnReceipt(ApiAnswer):
    """The place of a recorded turn."""

    session_id: str
    turn_id: str
    turn_index: int = Field(description="Its place in the session, from 1.")
    first_seq: int = Field(description="The number of its first message.")
    last_seq: int = Field(description="The number of its last message.")
    duplicate: bool = Field(description="Whether the turn was stored already.")
    erased: bool = Field(default=False, description="Whether its messages were erased since.")
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

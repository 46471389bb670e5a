"""Answers of the tools: the guaranteed fields; answers may have more."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from context.types import JsonObject


class Answer(BaseModel):
    """An answer open to further fields."""

    model_config = ConfigDict(extra="allow")


class RankedEntry(Answer):
    """An entry of a ranking."""

    id: str = Field(description="The entry's id: what a tool is called by.")
    kind: str = Field(description="pack (a tool) or pipeline (a fixed sequence of tools).")
    score: float = Field(description="What the order goes by; 0 where nothing speaks for the entry.")


class RankAnswer(Answer):
    """A catalog ranked for an intent."""

    entries: list[RankedEntry] = Field(description="Best first.")
    hidden: int = Field(description="How many entries are not in this answer.")
    gap_warning: str | None = Field(description="Says that nothing in the catalog serves the intent.")


class FoundTool(Answer):
    """A tool, with its call syntax."""

    name: str = Field(description="What it is called by.")
    kind: str = Field(description="pack (a tool) or pipeline (a fixed sequence of tools).")
    does: str = Field(description="What it does, in a sentence.")
    arguments: JsonObject = Field(description="JSON schema of what it is called with.")


class FindAnswer(Answer):
    """Tools for a query."""

    tools: list[FoundTool] = Field(description="Best first; only what something speaks for.")
    hidden: int = Field(description="How many entries of the catalog are not in this answer.")
    gap_warning: str | None = Field(description="Says that nothing in the catalog serves the query.")


class ContextAnswer(Answer):
    """A fitting context window."""

    messages: list[JsonObject] = Field(description="Send these to the model, in this order.")
    certificate: JsonObject = Field(description="Proof that they fit: tokens, what is in, what was left out.")
    utilization: JsonObject = Field(description="Where the tokens go.")
    freshness: JsonObject = Field(description="How far summaries have come.")


class ExpandAnswer(Answer):
    """Turns as sent."""

    session_id: str
    turns: list[JsonObject] = Field(description="Whole turns that touch the range, oldest first.")
    next: int | None = Field(description="Where to read on: the next call's `from`; null at the end.")


class ArtifactAnswer(Answer):
    """Facts of an artifact, a part of its text, or a summary."""

    artifact_id: str
    slice: JsonObject | None = Field(
        None, description="The characters of the range: {from, to, text, next_from}."
    )
    match: str | None = Field(None, description="exact; or near: of another focus or summarizer.")
    text: Any = Field(None, description="The summary.")

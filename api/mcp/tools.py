"""Tools and their arguments: the purpose of each, and the answering endpoint."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from api.artifacts import routes as artifacts
from api.artifacts.routes import MOST_FOCUS_CHARS
from api.catalogs import routes as catalogs
from api.catalogs.catalog_cache import catalogs as loaded_catalogs
from api.context import routes as contexts
from api.http.call import Body
from api.http.errors import ProblemError, not_found, validation_error
from api.http.values import check_id, encode, refuse_unclean_ids
from api.mcp.visit import Visit
from api.sessions import history
from api.sessions.history import MAX_SEQ
from api.settings import api_settings
from api.turns.intake import MAX_WINDOW, MIN_WINDOW
from context.artifacts.content import is_artifact_id
from context.catalog.argument_schema import NO_ARGUMENTS
from context.catalog.compact import short_description
from context.catalog.convert import tool_definition
from context.catalog.types import Entry
from context.text.sanitize import clean_json
from context.types import JsonObject, Wire

MAX_INTENT_CHARS = 100_000
CATALOG = Field(min_length=1, max_length=200, description="The name of a stored catalog.")
SESSION = Field(min_length=1, max_length=200, description="The id of the conversation.")

Arguments = TypeVar("Arguments", bound=Body)


class RankArguments(Body):
    """Catalog to rank, with an intent."""

    catalog: str = CATALOG
    intent: str = Field(
        min_length=1,
        max_length=MAX_INTENT_CHARS,
        description="What the user wants, in their own words and language.",
    )
    top_n: int = Field(20, ge=1, le=1_000, description="The most entries to answer.")


class FindArguments(Body):
    """Description of the tool to find."""

    catalog: str = CATALOG
    query: str = Field(
        min_length=1,
        max_length=MAX_INTENT_CHARS,
        description="What the tool should do, in any language; a sentence works better than a keyword.",
    )
    limit: int = Field(5, ge=1, le=50, description="The most tools to answer.")


class ContextArguments(Body):
    """The next request of a conversation."""

    session_id: str = SESSION
    model: str = Field(min_length=1, max_length=200, description="The model that will answer the user.")
    message: str = Field(min_length=1, description="The user's new message, which is not stored yet.")
    context_window: int | None = Field(
        None,
        ge=MIN_WINDOW,
        le=MAX_WINDOW,
        description="The model's window in tokens; without it, four times `max_tokens` is assumed.",
    )
    max_tokens: int | None = Field(
        None, ge=1, le=MAX_WINDOW, description="How many tokens to keep free for the answer."
    )
    focus: str | None = Field(
        None,
        max_length=MOST_FOCUS_CHARS,
        description="What long tool results and documents of the conversation are read for.",
    )


class ExpandArguments(Body):
    """Range of messages behind a summary."""

    session_id: str = SESSION
    from_seq: int = Field(
        alias="from",
        ge=0,
        le=MAX_SEQ,
        description="The number of the first message, as the summary cites it.",
    )
    to_seq: int = Field(alias="to", ge=0, le=MAX_SEQ, description="The number of the last message.")


class ArtifactArguments(Body):
    """Artifact to read: facts, a range of text, or a summary."""

    artifact_id: str = Field(
        min_length=1, max_length=200, description="The id, as a pointer in a message names it."
    )
    from_char: int | None = Field(
        None,
        alias="from",
        ge=0,
        le=999_999_999,
        description="The first character of its text to read, from 0.",
    )
    to_char: int | None = Field(
        None, alias="to", ge=0, le=999_999_999, description="The character before which to stop."
    )
    focus: str | None = Field(
        None,
        max_length=MOST_FOCUS_CHARS,
        description="A question: answers the summary prepared for it, or for one near it. Not with a range.",
    )


def read_arguments(model: type[Arguments], given: JsonObject | None) -> Arguments:
    """Read a tool's arguments, cleaned once on entry.

    Args:
        model: The tool's argument model.
        given: The arguments as sent.

    Raises:
        AfterturnError: The arguments are invalid; the error names the field.
    """
    clean: Any
    clean, cleaned = clean_json(given or {}, max_depth=api_settings().max_depth)
    try:
        read = model.model_validate(clean)
    except ValidationError as error:
        raise validation_error(error) from None
    refuse_unclean_ids(model, given)
    if cleaned:
        read.mark_cleaned()
    return read


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


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: The tool's name.
        title: Display title.
        description: The tool's purpose, read by models.
        arguments: Argument model.
        answer: Answer model.
        run: Function to answer a call; runs in a thread, since the database blocks.
    """

    name: str
    title: str
    description: str
    arguments: type[Body]
    answer: type[BaseModel]
    run: Callable[[Visit, Any], Response]


def rank_catalog(visit: Visit, wanted: RankArguments) -> Response:
    """Rank a stored catalog."""
    body = {"intent": wanted.intent, "top_n": wanted.top_n}
    return catalogs.rank_entries(check_id(wanted.catalog, "catalog"), visit.call(body))


def find_tools(visit: Visit, wanted: FindArguments) -> Response:
    """Rank a stored catalog, and describe the calls of the best tools."""
    name = check_id(wanted.catalog, "catalog")
    call = visit.call({"intent": wanted.query, "top_n": wanted.limit})
    ranking = json.loads(bytes(catalogs.rank_entries(name, call).body))
    catalog = loaded_catalogs.find(call.caller("read").tenant_id, name).catalog
    speaking = [ranked for ranked in ranking["entries"] if ranked["score"] > 0]
    # A version put in force meanwhile may lack some.
    found = [ranked for ranked in speaking if ranked["id"] in catalog.places]
    answer = {
        "tools": [_how_to_call(catalog.entries[catalog.places[ranked["id"]]]) for ranked in found],
        "hidden": len(catalog.entries) - len(found),
        "gap_warning": ranking["gap_warning"],
    }
    return Response(encode(answer), media_type="application/json")


def _how_to_call(entry: Entry) -> JsonObject:
    known: JsonObject = {
        "name": entry.entry_id,
        "kind": entry.kind.value,
        "does": short_description(entry.description or entry.name),
        "arguments": tool_definition(entry, Wire.ANTHROPIC).get("input_schema", NO_ARGUMENTS),
    }
    return {**known, "steps": list(entry.steps)} if entry.steps else known


def read_context(visit: Visit, wanted: ContextArguments) -> Response:
    """Answer with the window for a new message."""
    given = wanted.model_dump(exclude={"session_id", "message"}, exclude_none=True)
    body = {**given, "messages": [{"role": "user", "content": wanted.message}]}
    call = visit.call(body, was_cleaned=wanted.was_cleaned)
    return contexts.read_context(check_id(wanted.session_id, "session_id"), call)


def expand_summary(visit: Visit, wanted: ExpandArguments) -> Response:
    """Answer with the turns of a range of messages."""
    asked = history.SeqRange.model_validate({"from": wanted.from_seq, "to": wanted.to_seq})
    return history.show_turns(check_id(wanted.session_id, "session_id"), visit.call(), asked)


def read_artifact(visit: Visit, wanted: ArtifactArguments) -> Response:
    """Answer with an artifact's facts, a part of its text, or a summary."""
    if not is_artifact_id(wanted.artifact_id):
        raise not_found("artifact")
    path = f"/v1/artifacts/{wanted.artifact_id}"
    if wanted.focus is None:
        request = visit.read(path, {"from": wanted.from_char, "to": wanted.to_char})
        return artifacts.show_artifact(wanted.artifact_id, request, visit.call())
    if wanted.from_char is not None or wanted.to_char is not None:
        raise ProblemError("invalid-input", "focus: not together with from or to", field="focus")
    request = visit.read(f"{path}/summaries", {"focus": wanted.focus})
    return artifacts.show_summary(wanted.artifact_id, request, visit.call())


_ALL = (
    Tool(
        "rank_catalog",
        "Rank a catalog",
        "Put the tools and pipelines of a stored catalog in the order in which they serve what a user wants. "
        "Use it to choose which tools to offer or plan with. A gap_warning says that none of them fits.",
        RankArguments,
        RankAnswer,
        rank_catalog,
    ),
    Tool(
        "find_tools",
        "Find tools",
        "Find tools in a stored catalog by what they should do, and learn how each is called. Use it when "
        "the tools at hand do not do what is asked: of a large catalog most may be hidden.",
        FindArguments,
        FindAnswer,
        find_tools,
    ),
    Tool(
        "read_context",
        "Read a session's context",
        "Get the messages to send to a model for the next request of a conversation: the summary in force, "
        "the latest turns and what else matters for the new message, within the model's window, with a "
        "certificate that they fit. The message itself is not stored, and no model is called.",
        ContextArguments,
        ContextAnswer,
        read_context,
    ),
    Tool(
        "expand_summary",
        "Expand a summary",
        "Read the original turns behind a summary, word for word, tool results included. Use it when a "
        "summary lacks a detail: it names the messages that it covers, and cites messages by number. "
        "A long range comes in parts: call again with `from` set to `next`.",
        ExpandArguments,
        ExpandAnswer,
        expand_summary,
    ),
    Tool(
        "read_artifact",
        "Read an artifact",
        "Read a document or a large tool result that a message only points to. With `from` and `to`: those "
        "characters of its text. With `focus`: the summary prepared for a question. With neither: what it "
        "is, how long it is and how it begins.",
        ArtifactArguments,
        ArtifactAnswer,
        read_artifact,
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}

"""Arguments of the tools. Every word is read by a model before a call."""

from typing import Any, TypeVar

from pydantic import Field, ValidationError

from api.artifacts.routes import MOST_FOCUS_CHARS
from api.http.call import Body
from api.http.ids import refuse_unclean_ids
from api.http.validation import validation_error
from api.sessions.history import MAX_SEQ
from api.settings import api_settings
from api.turns.intake import MAX_WINDOW, MIN_WINDOW
from context.text.sanitize import clean_json
from context.types import JsonObject

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
    clean: Any = clean_json(given or {}, max_depth=api_settings().max_depth)[0]
    try:
        read = model.model_validate(clean)
    except ValidationError as error:
        raise validation_error(error) from None
    refuse_unclean_ids(model, given)
    return read

"""The schemas of tools: what a model reads of them, and that they take what the tools take."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Field

from api.http.call import Body
from api.mcp.server import answer_schema, arguments_schema
from api.mcp.tools import TOOLS, FindArguments, RankArguments, read_arguments
from context.errors import InvalidInputError


class Wish(Body):
    """A wish."""

    what: str = Field(alias="class", min_length=1, description="What.")
    many: int | None = Field(None, ge=1, description="How many.")


def members(schema: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        for name, value in schema.items():
            yield name, value
            yield from members(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from members(value)


def test_what_may_be_left_out_is_neither_required_nor_null() -> None:
    assert arguments_schema(Wish) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["class"],
        "properties": {
            "class": {"type": "string", "minLength": 1, "description": "What."},
            "many": {"type": "integer", "minimum": 1, "description": "How many."},
        },
    }


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_schemas_are_valid_and_hold_no_titles(tool: Any) -> None:
    for schema in (arguments_schema(tool.arguments), answer_schema(tool.answer)):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "title" not in {name for name, value in members(schema) if isinstance(value, str)}


@given(
    st.fixed_dictionaries(
        {"catalog": st.text("a漢", max_size=3), "query": st.text("a漢", max_size=3)},
        optional={"limit": st.integers(-1, 60), "more": st.none()},
    )
)
def test_the_schema_allows_just_what_is_read(given_arguments: dict[str, Any]) -> None:
    allowed = Draft202012Validator(arguments_schema(FindArguments)).is_valid(given_arguments)
    try:
        read_arguments(FindArguments, given_arguments)
    except InvalidInputError:
        assert not allowed
    else:
        assert allowed


def test_arguments_are_cleaned_before_they_are_read() -> None:
    read = read_arguments(RankArguments, {"catalog": "main", "intent": "a\ud800\0b"})
    assert (read.catalog, read.intent) == ("main", "a\ufffdb")


def test_no_arguments_at_all_are_arguments_that_miss_something() -> None:
    with pytest.raises(InvalidInputError, match="catalog: is missing"):
        read_arguments(RankArguments, None)

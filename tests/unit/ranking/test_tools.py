"""Tool definitions of one request are ranked in whatever shape they come."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from context.ranking.index import index_tools
from context.ranking.rank import rank
from context.ranking.types import Ranking
from context.types import JsonObject

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
OTHER = {"type": "function", "function": {"name": "send_email", "description": "Send an email."}}


def rank_tools(
    tools: Sequence[JsonObject], intent: str, *, priors: Mapping[str, float] | None = None
) -> Ranking:
    return rank(index_tools(tools), intent, priors=priors)


@pytest.mark.parametrize(
    "tool",
    [
        {
            "type": "function",
            "function": {"name": "look_up", "description": "Weather.", "parameters": SCHEMA},
        },
        {"type": "function", "name": "look_up", "description": "Weather.", "parameters": SCHEMA},
        {"name": "look_up", "description": "Weather.", "input_schema": SCHEMA},
        {"name": "look_up", "description": "Weather.", "inputSchema": SCHEMA},
    ],
)
@pytest.mark.parametrize("intent", ["the weather", "for this city"])
def test_every_shape_of_definition_is_ranked(tool: dict[str, Any], intent: str) -> None:
    assert rank_tools([OTHER, tool], intent).entries[0].entry_id == "look_up"


@pytest.mark.parametrize("tool", [{}, {"type": "web_search"}, {"function": {"name": 3}}, {"function": None}])
def test_a_definition_without_a_name_is_left_out(tool: dict[str, Any]) -> None:
    assert [entry.entry_id for entry in rank_tools([tool, OTHER], "email").entries] == ["send_email"]


def test_a_prior_is_looked_up_by_the_name_of_the_tool() -> None:
    tools: list[dict[str, Any]] = [OTHER, {"name": "look_up", "description": "Weather."}]
    assert rank_tools(tools, "hello", priors={"look_up": 0.9}).entries[0].entry_id == "look_up"

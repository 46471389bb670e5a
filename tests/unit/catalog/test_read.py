"""Reading catalogs of every shape: what is kept, what is one and the same, what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.whole_catalog import project_catalog
from context.catalog.compact import Ladder, short_description
from context.catalog.read import CatalogLimits, read_catalog, read_version
from context.catalog.types import Catalog, Entry, EntryKind, canonical_json
from context.errors import InvalidInputError
from tests.data import data_dir, read_jsonl
from tests.unit.catalog.catalogs import documents

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def read_one(tool: dict[str, Any]) -> Entry:
    [entry] = read_catalog([tool]).entries
    return entry


def refused(document: object, **limits: int) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        read_catalog(document, CatalogLimits(**limits))
    return caught.value


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "find", "description": "Finds.", "input_schema": SCHEMA},
        {"name": "find", "description": "Finds.", "inputSchema": SCHEMA},
        {"name": "find", "summary": "Finds.", "parameters": SCHEMA},
        {"type": "function", "name": "find", "description": "Finds.", "parameters": SCHEMA},
        {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": SCHEMA}},
        {
            "name": "find",
            "description": "Finds.",
            "input_fields": [{"name": "q", "type": "string", "required": True}],
        },
    ],
    ids=["anthropic", "mcp", "plain", "responses", "openai", "parameters as a list"],
)
def test_every_shape_of_a_tool_is_the_same_entry(tool: dict[str, Any]) -> None:
    assert read_one(tool) == Entry("find", EntryKind.PACK, "find", "Finds.", input_schema=SCHEMA)


def test_a_routing_guide_keeps_what_it_says_of_an_entry() -> None:
    sent = {
        "packs": [
            {
                "name": "a",
                "metadata": {"intent_keywords": ["do a"], "accepts": "text", "typical_use": "Often."},
            }
        ],
        "pipelines": [
            {
                "id": "p",
                "name": "P",
                "steps": ["a", {"pack": "b"}],
                "inputs": ["x"],
                "metadata": {"supersedes": ["a"]},
            }
        ],
    }
    catalog = read_catalog(sent)
    pack, pipeline = catalog.entries
    assert (pack.intent_keywords, pack.accepts, pack.typical_use) == (("do a",), ("text",), "Often.")
    assert (pipeline.entry_id, pipeline.name, pipeline.supersedes) == ("p", "P", ("a",))
    assert (pipeline.steps, pipeline.input_schema) == (({"name": "a"}, {"pack": "b"}), ("x",))
    assert (catalog.packs_key, catalog.packs, catalog.pipelines) == ("packs", 1, 1)


def test_fields_of_no_known_meaning_stay_with_their_entry() -> None:
    tool = {
        "name": "a",
        "annotations": {"readOnlyHint": True},
        "id": 7,
        "_meta": {"x": [1]},
        "metadata": {"tags": ["t"]},
    }
    assert read_one(tool).extra == {
        "annotations": {"readOnlyHint": True},
        "id": 7,
        "_meta": {"x": [1]},
        "tags": ["t"],
    }


def test_a_providers_own_tool_is_called_by_its_type() -> None:
    assert read_one({"type": "web_search", "max_uses": 3}).entry_id == "web_search"


@given(documents())
def test_a_catalog_written_and_read_again_is_the_same(document: dict[str, Any]) -> None:
    catalog = read_catalog(document)
    assert read_catalog(json.loads(canonical_json(project_catalog(catalog)))) == catalog


@given(documents(), st.randoms(use_true_random=False))
def test_neither_the_order_of_keys_nor_of_entries_changes_the_digest(
    document: dict[str, Any], random: Any
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in random.sample(sorted(value), len(value))}
        return value

    mixed = {
        key: [shuffled(entry) for entry in random.sample(entries, len(entries))]
        for key, entries in document.items()
    }
    assert read_catalog(mixed) == read_catalog(document)


def test_one_changed_word_is_another_version() -> None:
    assert read_catalog([{"name": "a"}]).digest != read_catalog([{"name": "a", "description": "x"}]).digest
    assert (
        read_catalog({"pipelines": [{"id": "a"}]}).digest != read_catalog({"tools": [{"name": "a"}]}).digest
    )


def test_the_same_name_on_two_servers_is_told_apart_by_the_server() -> None:
    tools = [
        {"name": "find", "server": "mail"},
        {"name": "find", "server": "web"},
        {"name": "send", "server": "mail"},
    ]
    entries = read_catalog(tools).entries
    assert [(entry.entry_id, entry.name) for entry in entries] == [
        ("mail.find", "find"),
        ("send", "send"),
        ("web.find", "find"),
    ]


def test_ids_that_stand_twice_are_refused_by_name() -> None:
    error = refused({"tools": [{"name": "b"}, {"name": "a"}, {"name": "b"}], "pipelines": [{"id": "a"}]})
    assert error.numbers["duplicates"] == ["a", "b"]
    assert "a, b" in error.message


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ("text", "body"),
        ({}, "tools"),
        ({"tools": {}}, "tools"),
        ({"tools": [], "note": 1}, "note"),
        ({"tools": [], "nextCursor": "2"}, "nextCursor"),
        ({"tools": [None]}, "tools[0]"),
        ({"tools": [{"description": "x"}]}, "tools[0].name"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"packs": [{"name": " "}]}, "packs[0].name"),
        ({"packs": [{"name": "a\nb"}]}, "packs[0].name"),
        ({"packs": [{"name": "a" * 257}]}, "packs[0].name"),
        ({"packs": [{"name": "a", "description": 4}]}, "packs[0].description"),
        ({"packs": [{"name": "a", "metadata": {"accepts": [1]}}]}, "packs[0].metadata.accepts"),
        ({"tools": [{"name": "a", "inputSchema": "x"}]}, "tools[0].inputSchema"),
        ({"tools": [{"name": "a", "params": ["x", 1]}]}, "tools[0].params"),
        ({"tools": [{"name": "a", "params": [{"type": "x"}]}]}, "tools[0].params[0].name"),
        ({"tools": [{"type": "function", "function": {"name": 3}}]}, "tools[0].function.name"),
        ({"pipelines": [{"id": "a", "steps": 3}]}, "pipelines[0].steps"),
        ({"pipelines": [{"id": "a", "steps": [3]}]}, "pipelines[0].steps[0]"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(document: object, field: str) -> None:
    assert refused(document).field == field


@pytest.mark.parametrize("field", ["description", "summary"])
def test_a_description_is_taken_up_to_its_limit(field: str) -> None:
    for length in (4, 5):
        assert read_catalog([{"name": "a", field: "x" * length}], CatalogLimits(description_chars=5)).entries
    error = refused([{"name": "a", field: "x" * 6}], description_chars=5)
    assert (error.numbers["field"], error.numbers["limit"]) == (f"tools[0].{field}", 5)
    assert refused([{"name": "a", field: ["xxx", "xx"]}], description_chars=5).numbers["limit"] == 5


def test_a_first_sentence_is_looked_for_in_the_beginning_of_a_description() -> None:
    assert short_description("a. " * 100_000 + "B. C.").startswith("a. a. ")
    assert short_description("Weighs it. Then " + "b " * 100_000) == "Weighs it."


def test_more_entries_than_allowed_are_refused_with_the_limit() -> None:
    assert refused([{"name": "a"}, {"name": "b"}], entries=1).numbers["limit"] == 1


def test_what_an_mcp_answer_says_beside_its_tools_is_no_field_of_the_catalog() -> None:
    catalog = read_catalog({"tools": [{"name": "a"}], "nextCursor": None, "_meta": {}})
    assert catalog == read_catalog([{"name": "a"}])


def test_an_empty_catalog_is_a_catalog() -> None:
    assert read_catalog({"tools": []}).entries == ()


@pytest.mark.data
@pytest.mark.parametrize(
    "path",
    [
        "livemcp/catalog.jsonl",
        "docker_mcp/tools.jsonl",
        "bfcl_live/catalog.jsonl",
        "stabletoolbench/catalog.jsonl",
    ],
)
def test_real_lists_of_tools_keep_every_tool(path: str) -> None:
    folder, _, file = path.partition("/")
    tools = read_jsonl(data_dir(folder) / file)
    catalog = read_catalog(tools)
    assert len(catalog.entries) == len(tools)
    assert read_catalog(project_catalog(catalog)) == catalog


def stored(document: Any) -> Catalog:
    """The catalog of a document, and what its stored text is read as."""
    catalog = read_catalog(document)
    ladder = Ladder(catalog)
    body = ladder.text(range(ladder.entries), 0, "")
    assert read_version(body, catalog.digest, {}) == catalog
    return catalog


@given(documents())
def test_a_stored_version_is_the_catalog_that_was_put(document: Any) -> None:
    stored(document)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
        {"type": "computer_use_preview", "display_width": 1024, "user_location": None},
        {"name": "a", "title": "An A", "steps": ["no pipeline"], "id": 7, "strict": False},
        {"name": "a", "inputs": ["q"], "outputs": ["r"], "group": "g"},
        {"name": "a", "input_schema": {}, "metadata": {"accepts": "text", "cost": 3}},
    ],
)
def test_a_stored_tool_of_an_unusual_shape_is_the_tool_that_was_put(tool: dict[str, Any]) -> None:
    stored([tool])


def test_tools_of_two_servers_with_one_name_are_stored_apart() -> None:
    twice = stored([{"name": "find", "server": "a"}, {"name": "find", "server": "b"}])
    assert [entry.entry_id for entry in twice.entries] == ["a.find", "b.find"]

"""The prepared form of a catalog: read back it is the same, and damaged bytes are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.catalog.convert import define_tools
from context.catalog.read import read_catalog
from context.catalog.tools import ToolLadder
from context.catalog.types import Catalog
from context.ranking.prepared import (
    CorruptCatalogFormError,
    pack_prepared,
    prepare_catalog,
    unpack_prepared,
)
from context.ranking.rank import find_former, rank
from context.tokens.tools import ToolCount
from context.types import JsonObject, Wire
from tests.data import data_dir, read_jsonl
from tests.unit.catalog.catalogs import documents

INTENTS = ("search the web", "Ищет письма", "検索する", "serch teh web", "no such thing at all")
FILES = read_catalog(
    [
        {"name": "file.list", "description": "List the files of a directory.", "server": "files"},
        {"name": "file.move", "description": "Move a file to another directory.", "server": "files"},
        {"name": "mail.send", "description": "Send a mail.", "metadata": {"intent_keywords": ["write to"]}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
)
SORT = read_catalog([{"name": "file.sort", "description": "Sort the lines of a file.", "server": "files"}])
FORM = pack_prepared(FILES, prepare_catalog(FILES, SORT.entries))


def assert_read_back(catalog: Catalog, *former: Catalog) -> None:
    """Compare a form that was stored with a catalog without one."""
    lost = [entry for one in former for entry in one.entries]
    made = prepare_catalog(catalog, lost)
    read = unpack_prepared(pack_prepared(catalog, made), catalog)
    assert read.index.postings == made.index.postings
    for intent in INTENTS:
        assert rank(read.index, intent, explain=True) == rank(made.index, intent, explain=True)
        assert (read.former is None) == (made.former is None)
        if read.former and made.former:
            assert find_former(read.former, intent) == find_former(made.former, intent)
    for wire in Wire:
        tools = define_tools(catalog.entries, wire).tools
        known, counted = ToolLadder(tools, read.sizes[wire]), ToolLadder(tools)
        for level in range(ToolLadder.levels):
            for places in (range(len(tools)), range(0, len(tools), 2)):
                assert known.size(places, level) == counted.size(places, level)
            every = range(len(tools))
            told = [ToolCount.of(tool) for tool in known.at(every, level)]
            assert known.counts(every, level, ToolCount.of) == told
            assert counted.counts(every, level, ToolCount.of) == told


@given(documents(), st.booleans())
def test_a_form_read_back_ranks_and_measures_as_the_catalog_does(document: Any, has_former: bool) -> None:
    assert_read_back(read_catalog(document), *([SORT] if has_former else []))


def test_a_form_knows_groups_phrases_removed_tools_and_a_provider_s_own_tools() -> None:
    assert_read_back(FILES, SORT)
    read = unpack_prepared(FORM, FILES)
    assert read.former
    assert find_former(read.former, "sort the lines of a file") == "file.sort"


def test_a_form_of_a_large_catalog_read_back_ranks_and_measures_as_the_catalog_does() -> None:
    tools = read_jsonl(data_dir("bfcl_live") / "catalog.jsonl")
    assert_read_back(read_catalog([{k: v for k, v in tool.items() if k != "id"} for tool in tools[:60]]))


def test_a_tool_that_was_not_measured_is_counted_once() -> None:
    tools = define_tools(FILES.entries, Wire.OPENAI).tools
    measured = ToolLadder(tools, unpack_prepared(FORM, FILES).sizes[Wire.OPENAI])
    counted: list[JsonObject] = []

    def count(tool: JsonObject) -> ToolCount:
        counted.append(tool)
        return ToolCount.of(tool)

    ladder = ToolLadder(tools)
    assert ladder.counts([1, 0], 0, count) == [ToolCount.of(tools[1]), ToolCount.of(tools[0])]
    assert ladder.counts([0, 2], 0, count)[0] == ToolCount.of(tools[0])
    assert counted == [tools[1], tools[0], tools[2]]
    assert measured.counts([0, 2], 0, count) == ladder.counts([0, 2], 0, count)
    assert len(counted) == 3


@given(st.data())
def test_a_damaged_form_is_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(FORM) - 1))
    damaged = bytearray(FORM)
    damaged[at] ^= data.draw(st.integers(1, 255))
    for form in (bytes(damaged), FORM[:at]):
        with pytest.raises(CorruptCatalogFormError):
            unpack_prepared(form, FILES)


def test_the_form_of_another_catalog_is_refused() -> None:
    with pytest.raises(CorruptCatalogFormError, match="another catalog"):
        unpack_prepared(FORM, SORT)


def test_a_form_whose_parts_do_not_fit_the_catalog_is_refused() -> None:
    pretending = Catalog(FILES.entries[:2], FILES.digest)
    with pytest.raises(CorruptCatalogFormError, match="do not fit"):
        unpack_prepared(FORM, pretending)

"""The packs of a catalog as tools of a request: names that providers take, one tool a pack."""

import re

from hypothesis import given
from hypothesis import strategies as st

from context.catalog.convert import MAX_NAME_CHARS, define_tools
from context.catalog.tools import tool_name
from context.catalog.types import Entry, EntryKind
from context.types import Wire

FIT = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def entry(entry_id: str, **fields: object) -> Entry:
    return Entry(entry_id, EntryKind.PACK, entry_id, **fields)  # type: ignore[arg-type]


@given(st.lists(st.text(min_size=1, max_size=90), unique=True, max_size=12), st.sampled_from(Wire))
def test_every_entry_gets_a_name_of_its_own_that_providers_take(ids: list[str], wire: Wire) -> None:
    defined = define_tools([entry(one) for one in ids], wire)
    names = [tool_name(tool) for tool in defined.tools]
    assert all(FIT.fullmatch(name) for name in names)
    assert [defined.entry_ids[name] for name in names] == ids


def test_a_name_that_fits_stays() -> None:
    assert define_tools([entry("fetch_page")], Wire.OPENAI).tools[0]["function"]["name"] == "fetch_page"


def test_two_ids_that_differ_in_dots_alone_get_two_names() -> None:
    defined = define_tools([entry("fs.write"), entry("fs_write")], Wire.OPENAI)
    assert len(defined.entry_ids) == 2


def test_a_pipeline_is_no_tool() -> None:
    pipeline = Entry("weekly", EntryKind.PIPELINE, "weekly")
    assert define_tools([pipeline], Wire.OPENAI).tools == ()


def test_a_name_is_never_longer_than_providers_take() -> None:
    (tool,) = define_tools([entry("x" * 300)], Wire.RESPONSES).tools
    assert len(tool["name"]) == MAX_NAME_CHARS

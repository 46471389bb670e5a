"""A tool that was taken away is missed where it would have served, and nowhere else."""

from hypothesis import given
from hypothesis import strategies as st

from context.catalog.types import Catalog
from context.ranking.rank import build_former, find_former
from tests.unit.ranking.shelves import pack

SORT = pack("file.sort", "Sort the lines of a file by their content.")
LIST = pack("file.list", "List the files of a directory.")
MOVE = pack("file.move", "Move a file to another directory.")
PAGE = pack("page.fetch", "Fetch a page of the web.")
PRESENT = Catalog((LIST, MOVE, PAGE))


def missed(intent: str, *, catalog: Catalog = PRESENT, priors: dict[str, float] | None = None) -> str | None:
    former = build_former(catalog, [SORT, LIST, MOVE])
    return find_former(former, intent, priors=priors) if former else None


def test_a_tool_that_was_taken_away_is_missed_where_it_is_asked_for() -> None:
    assert missed("sort the lines of the report") == "file.sort"


def test_a_tool_that_was_taken_away_is_not_missed_where_another_serves() -> None:
    assert missed("move the report to the archive directory") is None
    assert missed("fetch the page of the museum") is None


def test_words_that_no_entry_has_miss_nothing() -> None:
    assert missed("tell me about elephants") is None
    assert missed("") is None


def test_nothing_is_missed_where_nothing_was_taken_away() -> None:
    assert build_former(Catalog((SORT, LIST, MOVE)), [SORT, LIST]) is None
    assert build_former(PRESENT, []) is None


def test_a_renamed_tool_is_not_missed() -> None:
    renamed = pack("lines.order", "sort the lines of a  file by their content.")
    assert missed("sort the lines of the report", catalog=Catalog((renamed, LIST))) is None


def test_what_history_has_found_to_serve_is_not_passed_over_for_a_former_tool() -> None:
    assert missed("sort the lines of the report", priors={"file.list": 0.9, "page.fetch": 0.8}) is None


def test_the_first_definition_of_a_former_tool_counts() -> None:
    older = pack("file.sort", "Paint a picture of a lighthouse.")
    former = build_former(PRESENT, [SORT, older])
    assert former is not None
    assert find_former(former, "paint a lighthouse") is None


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_only_former_tools_are_missed(intent: str) -> None:
    former = build_former(PRESENT, [SORT, LIST])
    assert former is not None
    assert former.gone == {"file.sort"}
    assert find_former(former, intent) in {None, "file.sort"}

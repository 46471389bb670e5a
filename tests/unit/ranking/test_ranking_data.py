"""Ranking on catalogs and requests of others: the right tools are among the first."""

import pytest

from benchmarks.ranking import IN_FORCE, bm25_ranker, measure_former, measure_gaps, our_ranker, recall
from benchmarks.ranking_data import read_shelf, single_cases, taken_cases, turn_cases
from tests.data import data_dir

pytestmark = pytest.mark.data
SAMPLE = 150


@pytest.mark.parametrize(
    ("name", "folder", "cut", "wanted"),
    [
        ("metatool", "metatool", 1, 0.62),
        ("bfcl_live", "bfcl_live", 1, 0.78),
        ("stabletoolbench", "stabletoolbench", 1, 0.68),
        ("livemcp + docker_mcp", "livemcp", 2, 0.55),
    ],
)
def test_the_tools_of_a_request_are_among_the_first(name: str, folder: str, cut: int, wanted: float) -> None:
    data_dir(folder)
    shelf = read_shelf(name)
    requests = shelf.requests[:SAMPLE]
    ours = recall(our_ranker(shelf.catalog), shelf.names, requests)
    assert ours[cut] >= wanted
    assert ours[cut] > recall(bm25_ranker(shelf.texts), shelf.names, requests)[cut]


def test_a_request_that_no_candidate_serves_is_mostly_seen_and_rarely_by_mistake() -> None:
    data_dir("bfcl_live")
    rows = measure_gaps("bfcl_live", list(single_cases()))
    grade = next(row["all"] for row in rows if row["bound"] == IN_FORCE)
    assert grade["precision"] >= 0.9
    assert grade["recall"] >= 0.7


@pytest.mark.parametrize(
    ("name", "folder", "wanted"),
    [("metatool", "metatool", 0.8), ("bfcl_multi_turn", "bfcl_multi_turn", 0.65)],
)
def test_a_tool_taken_away_from_a_catalog_of_others_is_mostly_missed(
    name: str, folder: str, wanted: float
) -> None:
    data_dir(folder)
    rows = measure_gaps(name, list(taken_cases(name)))
    grade = next(row["all"] for row in rows if row["bound"] == IN_FORCE)
    assert grade["precision"] >= 0.7
    assert grade["recall"] >= wanted


def test_a_tool_that_an_earlier_version_had_is_mostly_missed_and_rarely_by_mistake() -> None:
    data_dir("bfcl_multi_turn")
    grade = measure_former("bfcl_multi_turn", list(turn_cases()))["all"]
    assert grade["precision"] >= 0.9
    assert grade["recall"] >= 0.6

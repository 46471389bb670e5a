"""Recall on conversations of others finds what their questions need."""

from statistics import fmean

import pytest

from benchmarks.recall import by_bm25, by_recall, by_search, meetings, memories
from tests.data import data_dir

pytestmark = pytest.mark.data


def test_a_told_fact_is_in_the_window_when_it_is_asked_for() -> None:
    data_dir("bfcl_memory")
    questions = list(memories())
    assert fmean(by_search(question, 500) for question in questions) >= 0.93
    assert fmean(by_recall(question, 150) for question in questions) >= 0.88


def test_more_of_what_a_meeting_said_is_shown_than_by_plain_ranking() -> None:
    data_dir("qmsum")
    questions = list(meetings())[::3]
    served = fmean(by_search(question, 2000) for question in questions)
    assert served >= 0.5
    assert served >= fmean(by_bm25(question, 2000) for question in questions) + 0.15

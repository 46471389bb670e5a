"""The benchmark of designs grades what is really shown, and counts what it costs."""

from itertools import pairwise

import pytest

from benchmarks.focus_data import DOCUMENT, Text
from benchmarks.focus_designs import Outcome, choose, gold_at, replay, row_of, size_for
from benchmarks.focus_prepared import Design, Segments, find_borders, segments_of
from benchmarks.focus_reads import Read, Shown, cut_out
from context.artifacts.types import ContentKind
from context.tokens.text import count_text

_TOPICS = ("harbour crane winch", "tax ledger invoice", "orchard apple harvest", "radio antenna signal")
_CONTENT = "\n".join(
    f"Speaker {number % 3}: about the {topic} we say remark {number}, and {topic.split()[number % 3]} again."
    for topic in _TOPICS
    for number in range(60)
)
_TEXT = Text("t", DOCUMENT, ContentKind.TEXT, _CONTENT, count_text(_CONTENT))
_QUESTION = "What was said about the apple harvest in the orchard?"


def gold(shown: Shown) -> float:
    """Say whether the orchard's last remark is shown."""
    return float("apple harvest we say remark 59" in shown.text)


_READ = Read("talks", 0, "s", _TEXT, _QUESTION, grade=gold)
_GENERAL = Read("talks", 0, "s", _TEXT, "Summarize the whole text.")


def test_segments_hold_the_whole_text_once_and_end_where_topics_do() -> None:
    segments = segments_of(_TEXT, 1_500)
    assert segments[0].span[0] == 0
    assert all(one.span[1] <= other.span[0] for one, other in pairwise(segments))
    assert sum(end - start for start, end in (segment.span for segment in segments)) >= len(_CONTENT) * 0.99
    pieces = _TEXT.index.pieces
    starts = {_CONTENT[pieces[at].start :].split("about the ")[1][:7] for at in find_borders(_TEXT, 1_500)}
    assert starts & {"tax led", "orchard", "radio a"}


def test_the_segments_that_cover_a_question_are_shown_and_paid_for_once() -> None:
    design = Segments({}, size=1_500)
    first, second = design.read(_READ), design.read(_READ)
    assert first == second
    assert first.is_hit
    assert first.shown is not None
    assert "orchard" in first.shown.text
    assert first.shown.tokens < _TEXT.tokens / 4
    assert design.made == len(segments_of(_TEXT, 1_500))


def test_a_summary_for_another_question_is_no_hit_unless_it_is_filled_up() -> None:
    assert Design({}, limit=1).read(_READ).shown is None
    assert Design({}, limit=1).read(_GENERAL).how == "exact"
    filled = Design({}, limit=1, fills=True).read(_READ)
    assert not filled.is_hit
    assert filled.shown is not None
    assert filled.shown.text.startswith(cut_out(_TEXT, "", 500).text)
    assert "orchard" in filled.shown.text.removeprefix(cut_out(_TEXT, "", 500).text)


def test_what_was_asked_once_is_ready_when_it_comes_again() -> None:
    design = Design({}, limit=1, asked=True)
    assert [design.read(_READ).how for _ in range(2)] == ["other", "exact"]


def test_gold_counts_in_what_is_shown_and_extracts_of_the_same_size_stand_beside() -> None:
    outcome = replay(Segments({}, size=1_500), [_READ])
    row = row_of("B", "talks", outcome)
    assert row["exact_or_near"] == 1.0
    assert row["gold"] == gold(outcome.answers[0][1].shown or Shown())
    assert row["gold_of_sources"] == 1.0
    assert row["made_tokens_a_hit"] == outcome.tokens > _TEXT.tokens


def test_sizes_and_gold_of_extracts_are_read_off_one_curve() -> None:
    curve = [(0.0, 0.0), (100.0, 0.2), (200.0, 0.6)]
    assert size_for(curve, 0.4) == pytest.approx(150)
    assert gold_at(curve, 150) == pytest.approx(0.4)
    assert (size_for(curve, 0.9), gold_at(curve, 900)) == (200, 0.6)


def test_the_choice_of_segments_is_made_by_what_they_cost_beside_extracts() -> None:
    outcomes = {(size, 0.5): replay(Segments({}, size=size), [_READ]) for size in (400, 1_500)}
    best = max(outcomes, key=lambda choice: row_of("", "", outcomes[choice])["net"][0])
    assert choose(outcomes | {(1, 0.5): Outcome()}) == best

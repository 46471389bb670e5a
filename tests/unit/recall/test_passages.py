"""Passages: all of a message, in pieces that a reader can follow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.conversation.transcript import LineKind, RenderedLine
from context.recall.passages import MAX_PASSAGES, PASSAGE_TOKENS, make_passages, split_passages
from context.tokens.text import count_text
from context.types import Role
from tests.unit.recall.talk import passages_of

SENTENCE = "The depot in the north opens at six and closes at nine on every day but Sunday. "


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=2000))
def test_passages_join_to_the_text(text: str) -> None:
    assert "".join(split_passages(text, count=count_text)) == (text if text.strip() else "")


@pytest.mark.parametrize(
    "text", [SENTENCE * 40, "x" * 20_000, "word " * 3000, "東京で会議があります。" * 300]
)
def test_passages_are_of_about_one_size(text: str) -> None:
    sizes = [count_text(piece) for piece in split_passages(text, count=count_text)]
    assert max(sizes) <= 2.5 * PASSAGE_TOKENS


def test_passages_end_where_sentences_end() -> None:
    pieces = split_passages(SENTENCE * 20, count=count_text)
    assert len(pieces) > 1
    assert all(piece.strip().endswith(".") for piece in pieces)


def test_a_short_message_stays_whole() -> None:
    assert split_passages(SENTENCE * 3, count=count_text) == [SENTENCE * 3]


def test_places_follow_each_other_without_a_gap() -> None:
    passages = passages_of(SENTENCE * 30, "Yes.", SENTENCE * 9)
    assert [passage.start for passage in passages[1:]] == [passage.end for passage in passages[:-1]]


def test_every_passage_of_a_message_is_found_by_its_speaker() -> None:
    passages = passages_of(SENTENCE * 30, speaker="Ana Lima")
    assert len(passages) > 2
    assert all({"ana", "lima"} <= passage.terms for passage in passages)


def test_a_passage_is_counted_as_it_is_shown_the_first_with_its_speaker() -> None:
    line = RenderedLine(1, LineKind.TEXT, Role.USER, "Ana Lima (user)", SENTENCE * 30, 1)
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return count_text(text)

    passages = make_passages([line], turn_of=lambda seq: seq, count=count)
    first, second = passages[:2]
    assert first.tokens == count_text(f"Ana Lima: {first.text}") > count_text(first.text)
    assert second.tokens == count_text(second.text)
    assert f"Ana Lima: {first.text}" in counted


def test_a_role_is_not_a_name() -> None:
    assert "user" not in passages_of("The depot opens at six.")[0].terms


def test_a_call_is_found_by_the_name_of_its_tool() -> None:
    line = RenderedLine(1, LineKind.CALL, Role.ASSISTANT, "assistant", 'find_truck(plate="B-42")', 1)
    passage = make_passages([line], turn_of=lambda seq: seq, count=count_text)[0]
    assert "truck" in passage.terms
    assert passage.speaker == "assistant calls"


def test_a_huge_message_has_a_bounded_number_of_passages() -> None:
    assert len(passages_of(SENTENCE * 3000)) == MAX_PASSAGES

"""An extract: within its budget, word for word, and about what is asked."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.artifacts.types import ContentKind
from context.errors import InvalidInputError
from context.extract import Extract, PassageIndex, choose, extract
from context.tokens.text import count_text
from tests.unit.extract import texts

WORDS = st.lists(
    st.sampled_from(
        [
            "depot",
            "motor",
            "noon",
            "17",
            "a.b",
            "\n",
            "\n\n",
            "# ",
            "{",
            "}",
            ",",
            '"',
            "Ada: ",
            "|",
            "  ",
            "東京",
            ".",
        ]
    ),
    max_size=300,
).map(" ".join)
INDEXES = {kind: PassageIndex.build(text, kind) for kind, text in texts.BY_KIND.items()}


def take(kind: ContentKind, query: str, budget: int = 150) -> Extract:
    return extract(texts.BY_KIND[kind], INDEXES[kind], query, budget_tokens=budget)


def foreign_lines(made: Extract, text: str) -> list[str]:
    """The lines that are neither of the text nor marks."""
    bare = (line.removeprefix("\u2026 ").removesuffix(" \u2026") for line in made.text.split("\n"))
    return [line for line in bare if line not in text and not (line.startswith("[") and line.endswith("]"))]


@pytest.mark.parametrize(
    ("kind", "query", "wanted", "label"),
    [
        (ContentKind.MARKDOWN, "admin rights on windows", "### Windows\n\nThe installer", "lines"),
        (ContentKind.JSON, "price of Widget 17", '"name": "Widget 17"', "$.items[17]"),
        (ContentKind.TABLE, "City57", "57,City57,741", "rows"),
        (ContentKind.LOG, "why did request 99 fail", "ValueError: bad value 99", "lines"),
        (ContentKind.CODE, "what does part_41 return", "def part_41(", "lines"),
        (ContentKind.DIFF, "change of step_4_7", "def step_4_7()", "lines"),
        (ContentKind.TEXT, "keeper of lighthouse 41", "lighthouse number 41", "line"),
        (ContentKind.HTML, "overheating shutter motor", "The shutter motor overheats", "line"),
    ],
)
def test_an_extract_shows_what_is_asked_and_where_it_stands(
    kind: ContentKind, query: str, wanted: str, label: str
) -> None:
    made = take(kind, query)
    assert wanted in made.text
    assert any(str(place).startswith(label) for place in made.places)


def test_rows_are_shown_under_their_header_once() -> None:
    made = take(ContentKind.TABLE, "City57 City211")
    assert made.text.count("id,city,amount") == 1
    assert "57,City57,741" in made.text
    assert "211,City211,2743" in made.text


def test_a_hunk_is_shown_under_its_file() -> None:
    made = take(ContentKind.DIFF, "step_4_7")
    assert made.text.index("diff --git a/part4.py") < made.text.index("def step_4_7()")


def test_a_folded_entry_says_how_often_it_comes() -> None:
    assert "[the same 132 times more, to L" in take(ContentKind.LOG, "heartbeat").text


def test_every_aspect_of_a_question_is_shown() -> None:
    made = take(ContentKind.JSON, "compare Widget 3 with Widget 21", 400)
    assert {"$.items[3]", "$.items[21]"} <= {str(place) for place in made.places}


def test_a_row_of_no_use_is_not_shown_to_fill_the_budget() -> None:
    made = take(ContentKind.TABLE, "City57", 1_000)
    assert "City250" not in made.text


def test_a_word_is_found_by_its_beginning() -> None:
    index = PassageIndex.build(f"{texts.STORY}\n\nThe authentication failed.", ContentKind.TEXT)
    made = extract(f"{texts.STORY}\n\nThe authentication failed.", index, "auth", budget_tokens=60)
    assert "authentication" in made.text


@pytest.mark.parametrize("query", ["", "?", "the of and", "zeppelin"])
def test_without_a_question_an_extract_is_spread_over_the_text(query: str) -> None:
    made = take(ContentKind.TEXT, query, 300)
    thirds = {place.start * 3 // len(texts.STORY) for place in made.places}
    assert made.places[0].start == 0
    assert thirds == {0, 1, 2}


def test_a_text_that_fits_is_shown_whole() -> None:
    index = PassageIndex.build("One line.\nAnother.", ContentKind.TEXT)
    made = extract("One line.\nAnother.", index, "line", budget_tokens=100)
    assert made.text == "One line.\nAnother."
    assert [str(place) for place in made.places] == ["lines 1-2"]


def test_where_no_piece_fits_a_part_of_the_best_is_shown() -> None:
    made = take(ContentKind.JSON, "Widget 17", 20)
    assert 0 < made.tokens <= 20
    assert made.text.endswith("\u2026")
    assert '"id": 17' in made.text


@pytest.mark.parametrize("budget", [0, 1, 5])
def test_a_budget_without_room_gives_nothing_or_less_than_it(budget: int) -> None:
    assert take(ContentKind.CODE, "part_41", budget).tokens <= budget


def test_a_text_on_one_line_is_placed_by_characters() -> None:
    text = " ".join(f"word{n} and some more of it." for n in range(2_000))
    made = extract(text, PassageIndex.build(text, ContentKind.TEXT), "word777", budget_tokens=80)
    assert "word777" in made.text
    assert str(made.places[0]).startswith("characters ")


def test_places_are_true() -> None:
    made = take(ContentKind.TEXT, "keeper of lighthouse 41")
    assert made.places
    for place in made.places:
        assert texts.STORY[place.start : place.end] in made.text
        assert texts.STORY.count("\n", 0, place.start) + 1 == place.first


def test_the_index_of_another_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="another text"):
        extract(texts.STORY + " ", INDEXES[ContentKind.TEXT], "sea", budget_tokens=50)


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="negative"):
        take(ContentKind.TEXT, "sea", -1)


def test_a_dearer_count_is_kept_too() -> None:
    text = texts.BY_KIND[ContentKind.CODE]
    made = extract(
        text, INDEXES[ContentKind.CODE], "part_41", budget_tokens=200, count=lambda part: 2 * len(part)
    )
    assert made.tokens == 2 * len(made.text) <= 200


def test_what_is_most_valuable_is_chosen_first() -> None:
    first = choose(INDEXES[ContentKind.TABLE], "City57", budget_tokens=100)[0]
    piece = INDEXES[ContentKind.TABLE].pieces[first]
    assert "City57," in texts.CSV[piece.start : piece.end]


@settings(max_examples=60)
@given(
    st.sampled_from(list(texts.BY_KIND)),
    st.sampled_from(["", "depot", "widget 3 price", "request 99", "shutter motor at noon", "東京 17"]),
    st.integers(0, 900),
)
def test_an_extract_keeps_its_budget_and_its_words(kind: ContentKind, query: str, budget: int) -> None:
    made = take(kind, query, budget)
    assert made.tokens == count_text(made.text) <= budget
    assert foreign_lines(made, texts.BY_KIND[kind]) == []
    assert made == take(kind, query, budget)


@settings(max_examples=150)
@given(
    WORDS, st.sampled_from(list(ContentKind)), st.sampled_from(["", "depot 17", "東京"]), st.integers(0, 200)
)
def test_any_text_as_any_kind_keeps_the_budget_and_the_words(
    text: str, kind: ContentKind, query: str, budget: int
) -> None:
    index = PassageIndex.from_bytes(PassageIndex.build(text, kind).to_bytes())
    made = extract(text, index, query, budget_tokens=budget)
    assert made.tokens == count_text(made.text) <= budget
    assert foreign_lines(made, text) == []
    assert [place.start for place in made.places] == sorted(place.start for place in made.places)


@given(st.text(max_size=400), st.sampled_from(list(ContentKind)), st.text(max_size=20))
def test_no_text_breaks_an_extract(text: str, kind: ContentKind, query: str) -> None:
    made = extract(text, PassageIndex.build(text, kind), query, budget_tokens=30)
    assert made.tokens <= 30

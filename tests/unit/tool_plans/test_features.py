# ruff: noqa: RUF001 - intents in several scripts
"""Intents: what they ask for, in any language, and how alike two of them are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.tool_plans.features import MOST_ASKS, intent_sha, normal_form, read_features, split_asks
from tests.unit.tool_plans.catalogs import MULTI_INTENT


@pytest.mark.parametrize(
    ("intent", "asks"),
    [
        ("Remember this, draft a blog and generate an illustration.", 3),
        ("What's the weather in Paris?", 1),
        ("Please can you help me plan a trip to Rome?", 1),
        ("Search the web for kestrels, then email the summary to Bob.", 2),
        ("Merk dir das, schreib einen Blog und erstelle ein Bild", 3),
        ("Écris un article puis traduis le texte", 2),
        ("Escribe un artículo y genera una imagen", 2),
        ("запомни это, напиши статью и нарисуй картинку", 3),
        ("记住这个，写一篇博客，然后生成一张插图", 3),
        ("ブログを書いて、イラストを描いてください", 2),
        ("اكتب مقالا ثم ترجم النص", 2),
        ("- clone the repo\n- list the files\n- count them", 3),
        ("bread, butter and jam", 1),
        ("", 0),
        ("😀 !!!", 0),
    ],
)
def test_an_intent_is_split_into_what_it_asks_for(intent: str, asks: int) -> None:
    assert len(split_asks(intent)) == asks


def test_what_is_pasted_before_a_request_asks_for_nothing() -> None:
    asks = split_asks(MULTI_INTENT)
    assert [ask.split()[-1] for ask in asks] == ["note", "it", "it."]
    assert not any("Kestrel" in ask for ask in asks)


def test_more_asks_need_more_planning() -> None:
    one = read_features("draft a blog")
    three = read_features("draft a blog, remember it and generate an image")
    assert 0 < one.complexity < three.complexity <= 1


def test_features_name_the_language() -> None:
    assert read_features("запомни это, напиши статью и нарисуй картинку").language == "ru"


@pytest.mark.parametrize(
    "other",
    [
        "draft  a blog",
        "Draft a BLOG!",
        "draft a blog.",
        "draft, a blog",
        "ｄｒａｆｔ a blog",
        "\ndraft a\tblog ",
    ],
)
def test_spelling_alone_makes_no_other_intent(other: str) -> None:
    assert intent_sha(other) == intent_sha("draft a blog")


def test_other_words_make_another_intent() -> None:
    assert intent_sha("draft a blog") != intent_sha("draft the blog")
    assert intent_sha("写博客") != intent_sha("画插图")


@given(st.text())
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.text(max_size=500))
def test_features_stay_in_their_ranges(text: str) -> None:
    features = read_features(text)
    assert 0 <= features.complexity <= 1
    assert 0 <= features.asks <= MOST_ASKS
    assert features == read_features(text)

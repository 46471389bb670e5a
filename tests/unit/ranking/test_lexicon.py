"""The lexicon: words of the same meaning reach each other, in many languages, and nothing else is reached."""

import pytest

from context.ranking.intent import asking_terms, tool_terms
from context.ranking.lexicon import TRANSLATIONS, FittedLexicon, load_lexicon
from context.ranking.rank import rank
from context.ranking.synonyms import FILE_KINDS, SYNONYMS, TOPICS
from context.text.terms import index_terms
from tests.unit.ranking.shelves import OFFICE, index_of, matched, order_of, pack


@pytest.mark.parametrize(
    ("intent", "tool"),
    [
        ("make me a picture of a lighthouse", "generate_image"),
        ("put a meetup on my schedule", "create_event"),
        ("what is the climate like there", "get_forecast"),
        ("which airlines go to Oslo", "search_flights"),
        ("play the tune again", "play_song"),
        ("select from a sql table", "run_query"),
        ("will I need an umbrella", "get_forecast"),
        ("dollars to euros, the exchange rate", "convert_currency"),
        ("keep it as notes.md", "write_file"),
    ],
)
def test_another_word_for_it_finds_the_tool(intent: str, tool: str) -> None:
    assert order_of(OFFICE, intent)[0] == tool


@pytest.mark.parametrize(
    ("intent", "tool"),
    [
        ("明天北京的天气怎么样", "get_forecast"),
        ("明日の天気を教えてください", "get_forecast"),
        ("내일 날씨 알려줘", "get_forecast"),
        ("какая завтра погода", "get_forecast"),
        ("ما هو الطقس غدا", "get_forecast"),
        ("¿cuál es el pronóstico para mañana?", "get_forecast"),
        ("quelle est la météo de demain ?", "get_forecast"),
        ("wie wird das Wetter morgen?", "get_forecast"),
        ("कल मौसम कैसा रहेगा", "get_forecast"),
        ("把这段文字翻译成英文", "translate_text"),
        ("переведи этот текст", "translate_text"),
        ("ترجم هذا النص", "translate_text"),
        ("traduce este documento", "translate_text"),
        ("画像を生成して", "generate_image"),
        ("generiere ein Bild vom Meer", "generate_image"),
        ("أرسل بريد إلى أحمد", "send_email"),
        ("отправь электронное письмо Анне", "send_email"),
        ("搜索去东京的航班", "search_flights"),
        ("buscar un vuelo a Lima", "search_flights"),
        ("カレンダーに会議を追加", "create_event"),
        ("노래 틀어줘", "play_song"),
    ],
)
def test_an_intent_in_another_language_finds_an_english_tool(intent: str, tool: str) -> None:
    assert order_of(OFFICE, intent)[0] == tool


STUDIO = index_of(
    pack("generate_image", "Generate an image from a description."),
    pack("write_blog", "Write a blog post."),
    pack("take_screenshot", "Take a screenshot of a page."),
    pack("read_page", "Read a web page."),
    pack("play_song", "Play a song."),
)


@pytest.mark.parametrize(
    ("intent", "tool"),
    [
        ("写一篇博客", "write_blog"),
        ("寫一篇部落格", "write_blog"),
        ("ブログを書いて", "write_blog"),
        ("블로그를 써줘", "write_blog"),
        ("给网页截图", "take_screenshot"),
        ("幫我截圖", "take_screenshot"),
        ("スクリーンショットを撮って", "take_screenshot"),
        ("스크린샷 찍어줘", "take_screenshot"),
        ("生成图片", "generate_image"),
        ("生成圖片", "generate_image"),
        ("画像生成", "generate_image"),
        ("이미지 생성", "generate_image"),
    ],
)
def test_everyday_words_of_east_asia_find_an_english_tool(intent: str, tool: str) -> None:
    ranking = rank(STUDIO, intent)
    assert ranking.entries[0].entry_id == tool
    assert not ranking.gap.is_gap


@pytest.mark.parametrize(
    ("intent", "description"),
    [
        ("the latest news", "获取最新新闻资讯"),
        ("weather in Kazan", "Показывает погоду в городе"),
        ("translate it", "テキストを翻訳する"),
        ("find a recipe", "Busca una receta"),
    ],
)
def test_an_english_intent_finds_a_tool_that_is_described_in_another_language(
    intent: str, description: str
) -> None:
    index = index_of(pack("first", "Grind beans."), pack("wanted", description), pack("last", "Fold paper."))
    assert matched(index, intent) == ["wanted"]


def test_the_word_itself_comes_before_another_word_for_it() -> None:
    index = index_of(
        pack("first", "Show a photo."), pack("second", "Show a picture."), pack("third", "Sing.")
    )
    assert order_of(index, "a picture")[0] == "second"


def test_one_half_of_a_longer_word_does_not_stand_for_it() -> None:
    index = index_of(pack("calendar", "Dates."), pack("cook", "Meals."))
    assert matched(index, "カレー") == []


def test_a_fitted_lexicon_leads_to_terms_of_the_catalog_only() -> None:
    fitted = FittedLexicon({"imag", "forecast"})
    reached = {term for expansions in fitted.values() for each in expansions for term, _ in each.terms}
    assert reached == {"imag", "forecast"}


def test_every_expansion_counts_less_than_the_word_itself_and_leads_elsewhere() -> None:
    for first, expansions in load_lexicon().items():
        for expansion in expansions:
            assert first in expansion.needs
            assert expansion.terms
            assert all(0.0 < share <= 1.0 and term not in expansion.needs for term, share in expansion.terms)


@pytest.mark.parametrize("table", [TOPICS, FILE_KINDS, TRANSLATIONS])
def test_every_line_of_a_table_has_both_sides(table: str) -> None:
    for line in table.strip().splitlines():
        left, colon, right = line.partition(":")
        assert left.split()
        assert colon
        assert right.split(), line


def test_every_line_of_synonyms_has_a_second_word() -> None:
    assert all(len(line.split()) > 1 for line in SYNONYMS.strip().splitlines())


def test_every_word_of_the_tables_has_terms() -> None:
    words = f"{SYNONYMS} {TOPICS} {FILE_KINDS} {TRANSLATIONS}".replace(":", " ").split()
    assert [word for word in words if not index_terms(word)] == []


def test_words_of_asking_are_not_what_tools_do() -> None:
    assert not asking_terms() & set(index_terms("weather translate image email search send delete map file"))
    assert "get" in tool_terms()

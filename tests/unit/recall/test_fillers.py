"""Words that fill a question, and pairs of characters across the seam of two words."""

# ruff: noqa: E501, RUF001 - questions in several scripts

import pytest

from benchmarks.selecting import stats_of
from context.recall.ranking import known_share, score_passages, weigh_terms
from context.text.terms import FILLERS, query_terms
from models.recall.settings import RecallSettings
from tests.unit.recall.talk import passages_of

ASIDES = [f"Nothing to tell of day {n}, it rained." for n in range(20)]


@pytest.mark.parametrize(
    ("question", "answer", "chance"),
    [
        ("What do we need to pay for the tent in the end?", "The tent comes to 465.", "I need a break, in the end I slept."),
        ("Muss ich am Ende die Spedition wirklich zahlen?", "Die Spedition rechnet 1.550.", "Am Ende war es wirklich schön."),
        ("¿Quiero saber al final algo del banquete?", "El banquete sube a 4.400.", "Al final quiero algo dulce."),
        ("Je veux vraiment savoir quelque chose des cadres ?", "Les cadres passent à 820.", "Je veux vraiment quelque chose."),
        ("书柜最后到底多少钱？", "书柜改为9300元。", "最后还是下雨了，到底不知多少。"),
    ],
)  # fmt: skip
def test_the_words_that_name_the_subject_win(question: str, answer: str, chance: str) -> None:
    passages = passages_of(answer, *ASIDES, chance)
    terms = query_terms(question)
    scores = score_passages(passages, weigh_terms(terms, stats_of(passages, terms)))
    assert max(range(len(scores)), key=scores.__getitem__) == 0


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("装修现在一共要多少钱？", "装修队说全部做完大概六万八千元。"),
        ("改装全部で結局いくらですか", "改装の見積もりは三百万円です。"),
        ("ค่าห้องน้ำสุดท้ายเท่าไหร่", "ห้องน้ำราคาสามหมื่นบาท"),
    ],
)
def test_a_question_without_blanks_is_found_by_its_one_known_word(question: str, said: str) -> None:
    passages = passages_of(said, *ASIDES)
    terms = query_terms(question)
    stats = stats_of(passages, terms)
    weights = weigh_terms(terms, stats)
    best = max(score_passages(passages, weights))
    assert best * known_share(stats, weights) >= RecallSettings().recall_least_score * 2


def test_the_seam_of_two_known_words_is_no_unknown_word() -> None:
    passages = passages_of("客厅的地板", "颜色是白的", *ASIDES)
    shares = []
    for question in ("客厅颜色", "客厅颜色鲸鱼"):
        terms = query_terms(question)
        stats = stats_of(passages, terms)
        shares.append(known_share(stats, weigh_terms(terms, stats)))
    assert shares[0] == 1.0
    assert shares[1] < 0.8


def test_a_short_question_loses_the_little_words_of_its_language() -> None:
    assert query_terms("¿Cuándo se mide la ropa de la novia?") == ["mide", "ropa", "novia"]
    assert "zum" not in query_terms("Wann bekomme ich Zutritt zum neuen Zuhause?")
    assert {"need", "end", "avoid"} <= FILLERS

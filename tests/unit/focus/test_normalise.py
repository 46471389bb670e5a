"""A focus: the same key for the same question, and never for two."""

import unicodedata
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context.focus import GENERAL_KEY, NEAR_THRESHOLD, focus_key, normalise, similarity
from context.focus.reading import EVERY, SOME
from tests.data import data_dir, read_jsonl

LITTLE = ["the", "a", "of", "in", "is", "are", "what", "which", "please", "about", "this", "and", "do"]
SUBJECTS = [
    "error",
    "deploy",
    "invoice",
    "budget",
    "login",
    "schema",
    "customer",
    "retry",
    "latency",
    "depot",
]
QUESTIONS = st.lists(st.sampled_from(SUBJECTS), min_size=1, max_size=6)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What are the errors in the log?", "ERRORS, log"),
        ("failed payments", "failing payment"),
        ("summaries of invoices", "the invoice summary"),
        ("Why stop caching?", "stop the cache, why"),
        ("Cafés", "cafe"),
        ("\uff25\uff52\uff52\uff4f\uff52\uff53 \uff12\uff10\uff12\uff13", "errors 2023"),
        ("\uff76\uff9e\uff72\uff84\uff9e", "ガイド"),
        ("what doesn't work", "what does not work"),
        ("what cannot be paid", "what can't be paid"),
        ("Welche Fehler gibt es bei den Zahlungen?", "Was ist der Fehler bei der Zahlung?"),
        ("Какие ошибки были в журнале?", "ошибка в журнале, какая"),
        ("revenue (by region) — 'Q3'", "Revenue by region: q3"),
    ],
)
def test_one_question_has_one_key(one: str, other: str) -> None:
    assert focus_key(one) == focus_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("errors in 2023", "errors in 2024"),
        ("what works", "what does not work"),
        ("tests with failures", "tests without failures"),
        ("price before the discount", "price after the discount"),
        ("emails from Alice", "emails to Alice"),
        ("convert dollars to euros", "convert euros to dollars"),
        ("C++ errors", "C errors"),
        ("-5 degrees", "5 degrees"),
        ("$10 fee", "€10 fee"),
        ("config.default", "default config"),
        ("v1.2", "v12"),
        ("operator errors", "operation errors"),
        ("the university", "the universe"),
        ("plane costs", "plan costs"),
        ("who decided", "when decided"),
        ("it works but does not scale", "it scales but does not work"),
        ("sales in May", "sales"),
        ("sales in the US", "sales"),
        ("my name", "your name"),
        ("我们做了什么", "我们没做什么"),
        ("was geht", "was geht nicht"),
        ("more than 5", "less than 5"),
        ("rows where status=5", "rows where status!=5"),
        ("rows where status = 5", "rows where status <> 5"),
        ("rows where status = 5", "rows where status \u2260 5"),
        ("rows with status in (5, 6)", "rows with status not in (5, 6)"),
        ("where flag is set", "where !flag is set"),
        ("all users", "some users"),
        ("every user", "any user"),
        ("alle Nutzer von uns", "einige Nutzer von uns"),
        ("do all users have some role", "do some users have all roles"),
        ("did Alice pay Bob", "did Bob pay Alice"),
        ("who knows Alice", "who does Alice know"),
        ("what is to be done", "what has been done"),
        ("what is done", "what is to be done"),
        ("look in main.c", "look in main.C"),
        ("it draws 5 mW", "it draws 5 MW"),
        ("it draws 5mW", "it draws 5MW"),
        ("is GW-3 down", "was GW-3 down"),
        ("summarize IT", "summarize it"),
        ("x" * 60 + "a", "x" * 60 + "b"),
    ],
)
def test_two_questions_have_two_keys(one: str, other: str) -> None:
    assert focus_key(one) != focus_key(other)


@pytest.mark.parametrize(
    "text", ["", " \n", "???", "\u0640", "What is this about?", "the", "Please summarize it for me.", "TL;DR"]
)
def test_a_text_of_little_words_asks_for_everything(text: str) -> None:
    assert focus_key(text) == GENERAL_KEY


@pytest.mark.parametrize("word", sorted(EVERY | SOME))
def test_a_quantity_without_a_subject_asks_for_everything_and_is_no_focus_of_its_own(word: str) -> None:
    focus = normalise(word)
    assert focus.is_general is (focus.key == GENERAL_KEY) is (focus.terms == ())
    assert not (focus.is_general and focus.marks)


def test_a_bare_denial_does_not_ask_for_everything() -> None:
    assert focus_key("why not?") != GENERAL_KEY


def test_a_focus_knows_its_language_and_keeps_its_words() -> None:
    focus = normalise("Warum ist das Lager in Hamburg für die Kunden nicht geöffnet?")
    assert focus.language == "de"
    assert focus.original.startswith("Warum")
    assert focus.denies


def test_terms_are_sorted_and_distinct() -> None:
    terms = normalise("retry the retries of the login, then login again").terms
    assert list(terms) == sorted(set(terms))


@given(QUESTIONS, st.lists(st.sampled_from(LITTLE), max_size=8), st.randoms())
def test_little_words_do_not_change_a_key(subjects: list[str], little: list[str], random: Random) -> None:
    mixed = list(subjects)
    for word in little:
        mixed.insert(random.randint(0, len(mixed)), word)
    assert focus_key(" ".join(mixed)) == focus_key(" ".join(subjects))


@given(QUESTIONS, st.randoms())
def test_the_same_words_in_another_order_are_near_and_never_the_same(
    subjects: list[str], random: Random
) -> None:
    subjects = list(dict.fromkeys(subjects))
    mixed = random.sample(subjects, len(subjects))
    one, other = normalise(" ".join(subjects)), normalise(" ".join(mixed))
    assert (one.key == other.key) is (subjects == mixed)
    assert one.terms == other.terms
    assert similarity(one, other) >= NEAR_THRESHOLD


_TURNS = [
    ("{} = 5", "{} != 5"),
    ("all {}", "some {}"),
    ("what is to be done with {}", "what has been done with {}"),
]


@given(QUESTIONS, st.sampled_from(_TURNS))
def test_the_opposite_of_a_question_is_never_served_for_it(
    subjects: list[str], turn: tuple[str, str]
) -> None:
    one, other = (normalise(form.format(" ".join(subjects))) for form in turn)
    assert not one.is_general
    assert similarity(one, other) < NEAR_THRESHOLD


@given(QUESTIONS, st.sampled_from(["?", "!", "...", ",", " \u2013 ", "; ", "“”", "()"]))
def test_case_and_punctuation_do_not_change_a_key(subjects: list[str], mark: str) -> None:
    key = focus_key(" ".join(subjects))
    assert focus_key(f"{mark} ".join(subjects).upper() + mark) == key
    assert focus_key(" ".join(subjects).title()) == key


@given(TEXT)
def test_a_key_is_the_same_in_every_normal_form(text: str) -> None:
    assert focus_key(unicodedata.normalize("NFD", text)) == focus_key(text)
    assert focus_key(unicodedata.normalize("NFKC", text)) == focus_key(text)


@given(QUESTIONS, QUESTIONS)
def test_other_subjects_have_other_keys(one: list[str], other: list[str]) -> None:
    assume(set(one) != set(other))
    assert focus_key(" ".join(one)) != focus_key(" ".join(other))


@given(TEXT, st.sampled_from(["not", "2024", "never", "zephyr", "without", "#7"]))
def test_a_word_that_matters_changes_every_key(text: str, word: str) -> None:
    known = normalise(text).terms
    assume(not any(word.strip("#") in term for term in known))
    assert focus_key(f"{text} {word}") != focus_key(text)


@pytest.mark.data
def test_real_messages_that_share_a_key_say_the_same() -> None:
    texts: dict[str, set[str]] = {}
    for row in read_jsonl(data_dir("preflight") / "messages.jsonl"):
        texts.setdefault(focus_key(row["text"]), set()).add(row["text"])
    shared = [sorted(group) for group in texts.values() if len(group) > 1]
    assert len(texts) > 2200
    assert len(shared) < 30
    assert ["increase the volume", "Increase volume please"] in [
        sorted(group, key=str.swapcase) for group in shared
    ]

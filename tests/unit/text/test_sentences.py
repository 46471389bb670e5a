# ruff: noqa: RUF001 - full stops of several scripts
"""Sentences, cut at their ends and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.text.cut import first_sentence, split_sentences
from context.text.marker_words import Cue, find_cues, is_question, is_strong_rule


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Use Postgres. Not MySQL!", ["Use Postgres.", "Not MySQL!"]),
        ("Use a store, e.g. Postgres. Not MySQL.", ["Use a store, e.g. Postgres.", "Not MySQL."]),
        (
            "Ask Dr. Smith, i.e. J. Smith, at 5 p.m. today.",
            ["Ask Dr. Smith, i.e. J. Smith, at 5 p.m. today."],
        ),
        ("Is v1.2.3 out? See app.py now.", ["Is v1.2.3 out?", "See app.py now."]),
        ("Am 3. Mai kommen z.B. Gäste. Dann nicht.", ["Am 3. Mai kommen z.B. Gäste.", "Dann nicht."]),
        ("Это т.е. так. И не иначе.", ["Это т.е. так.", "И не иначе."]),
        ("请重试。不要发送两次！好吗？", ["请重试。", "不要发送两次！", "好吗？"]),
        ("再試行してください。二回送らないで。", ["再試行してください。", "二回送らないで。"]),
        ("هل انتهى؟ نعم. شكرا.", ["هل انتهى؟", "نعم.", "شكرا."]),
        ("यह ठीक है। अब रुको।", ["यह ठीक है।", "अब रुको।"]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("Wait... what? Yes.", ["Wait...", "what?", "Yes."]),
        ("- first\n2. second\n# Third", ["first", "second", "Third"]),
        ("Before\n```py\nx = 1. if y\n```\nAfter", ["Before", "After"]),
        ("", []),
    ],
)
def test_text_is_cut_at_the_ends_of_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_the_first_sentence_of_nothing_is_nothing() -> None:
    assert first_sentence("  \n ") == ""
    assert first_sentence("One, e.g. this. Two.") == "One, e.g. this."


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        (
            "By passing in the appropriate options, you can search for\nbooks and films. It is fast.",
            "By passing in the appropriate options, you can search for books and films.",
        ),
        ("<br />\nGets a user.<br/>More of it.", "Gets a user."),
        ("<p>Gets a user. All of it.</p>", "Gets a user."),
        ("Returns:\n  the list of users. Sorted.", "the list of users."),
        ("Description:\nFind a book.", "Find a book."),
        ("---\nFind a book.", "Find a book."),
        ("Find a book\nid: which one", "Find a book"),
        ("Find a book\nlimit (int): how many", "Find a book"),
        ("Find a book\n\nby its title", "Find a book"),
        ("Find a book\nBy its title.", "Find a book"),
        ("Get the item <id> of\nthe list.", "Get the item <id> of the list."),
        ("Search.", "Search."),
        ("Returns:", ""),
        ("<br />", ""),
        ("Use it, e.g. for\nsearch. Then more.", "Use it, e.g. for search."),
    ],
)
def test_the_first_sentence_of_a_description_says_something_and_is_whole(
    description: str, sentence: str
) -> None:
    assert first_sentence(description) == sentence


@given(st.text(alphabet=st.characters(blacklist_characters="`~#-*+>•·–"), max_size=200))
def test_no_letter_is_lost(text: str) -> None:
    assume_plain = [char for char in text if char.isalpha()]
    kept = [char for char in "".join(split_sentences(text)) if char.isalpha()]
    assert len(kept) >= len(assume_plain) - text.count("\n") - 1


@pytest.mark.parametrize(
    "rule",
    [
        "You must never push to main.",
        "Please don't touch the billing table.",
        "Never email her again.",
        "Du darfst die Datei nicht löschen.",
        "Nunca borres los registros.",
        "Никогда не удаляй файлы.",
        "绝不要推送到主分支。",
        "必ず確認してください。",
        "절대 삭제하지 마세요.",
        "يجب ألا تحذف الملفات أبدا.",
        "אסור למחוק את הקובץ.",
        "इसे कभी न हटाएँ।",
    ],
)
def test_a_rule_is_heard_in_many_languages(rule: str) -> None:
    assert Cue.RULE in find_cues(rule)
    assert is_strong_rule(rule)


@pytest.mark.parametrize(
    "sentence", ["I don't remember my reservation ID.", "It is a nice day.", "We flew to Oslo."]
)
def test_a_statement_is_no_rule(sentence: str) -> None:
    assert Cue.RULE not in find_cues(sentence)


@pytest.mark.parametrize(
    "question", ["Is it done?", "¿Está listo?", "好了吗", "終わりましたか。", "هل انتهى؟", "Готово?"]
)
def test_a_question_is_heard_in_many_languages(question: str) -> None:
    assert is_question(question)


def test_decisions_and_finished_work_are_heard() -> None:
    assert Cue.DECISION in find_cues("Let's go with Postgres because it is durable.")
    assert Cue.DONE in find_cues("I created the branch.")


def test_a_paragraph_of_many_wrapped_lines_is_one_sentence() -> None:
    assert first_sentence("the a\n" + "b\n" * 3 + "c. Then d.") == "the a b b b c."


@pytest.mark.parametrize("word", ["c.-à-d", "a" * 40, "x" * 9, "u.s.w"])
def test_the_word_before_a_full_stop_is_known_whatever_its_length(word: str) -> None:
    whole = f"One {word}. Two."
    is_short = word in {"c.-à-d", "u.s.w"}
    assert split_sentences(whole) == ([whole] if is_short else [f"One {word}.", "Two."])

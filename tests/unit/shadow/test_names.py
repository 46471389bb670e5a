# ruff: noqa: RUF001 - scripts other than Latin
"""Names by capitals and quotes, whatever the language: none is a common word that begins a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.shadow.facts import compare_facts, names_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "We meet Anna Schmidt in Gdańsk, near the Blue Lantern.",
            ["Anna Schmidt", "Gdańsk", "Blue Lantern"],
        ),
        ("Anna Schmidt called. Then I saw Anna.", ["Anna Schmidt", "Anna"]),
        ("Please wait. Thanks! Where is it? I'll ask.", []),
        ("Мы встретим Анну Петрову у Невы.", ["Анну Петрову", "Невы"]),
        ("Θα δούμε τη Μαρία στην Πάτρα.", ["Μαρία", "Πάτρα"]),
        (
            "The file is “red folder”, says „mein alter freund“ and ‹le chat›.",
            ["red folder", "mein alter freund", "le chat"],
        ),
        ("请打开「蓝灯」。", ["蓝灯"]),
        ("- Order\n- Invoice\n# Heading", []),
        ("see /Users/Anna and Client(x) and a.Berlin", []),
        ("STOP NOW, PLEASE", []),
    ],
)
def test_names_are_found_by_capitals_and_quotes(text: str, names: list[str]) -> None:
    assert list(names_of(text)) == names


def test_where_common_words_have_capitals_only_runs_are_names() -> None:
    german = "Wir haben die Rechnung und den Vertrag an Frau Petra Vogel im neuen Büro geschickt. "
    assert names_of(german * 4) == ("Frau Petra Vogel",)
    assert "Rechnung" in names_of(german[:60])


@given(st.text())
def test_every_name_stands_in_its_text(text: str) -> None:
    joined = " ".join(text.split())
    assert all(" ".join(name.split()) in joined for name in names_of(text))


def test_a_name_within_another_word_is_not_held() -> None:
    found = compare_facts(["We went to Rom."], ["It came from there."])
    assert found.lacking == {"rom"}


def test_a_name_with_another_ending_is_held() -> None:
    assert compare_facts(["We saw Anna."], ["annas letter"]).lacking == set()

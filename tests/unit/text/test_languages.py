"""Every language is one module, and says of each list of words whether it has the list."""

from dataclasses import MISSING, fields

import pytest

from context.languages import LANGUAGES, Language
from context.preflight.lexicon import find_signs
from context.summary.sections import Section, section_titles
from context.text.language import detect_language, language_name
from context.text.marker_words import markers_of
from tests.unit.sources import python_files

LISTS = [one.name for one in fields(Language) if one.name not in {"code", "name", "script"}]
WRITTEN = set("en de fr es pt it nl pl tr ru uk zh ja ko ar he hi".split())  # noqa: SIM905
"""Languages in which summaries are written and replies are judged."""

LACKS = {
    "stop_words": set("zh ja ko he".split()),  # noqa: SIM905
    "section_titles": LANGUAGES.keys() - WRITTEN,
    "unproven": LANGUAGES.keys() - WRITTEN,
    "refusals": LANGUAGES.keys() - WRITTEN,
    "input_requests": LANGUAGES.keys() - WRITTEN,
    "mail": LANGUAGES.keys()
    - set(
        "en de fr es pt it nl pl tr ru uk cs sv da fi hu ro id vi zh ja ko ar he hi".split()  # noqa: SIM905
    ),
    "markers": LANGUAGES.keys()
    - set(
        "ar cs da de en es fi fr he hi hu id it ja ko nl pl pt ro ru sv tr uk vi zh".split()  # noqa: SIM905
    ),
    "signs": LANGUAGES.keys() - set("en de fr es pt ru ar zh ja ko".split()),  # noqa: SIM905
    "negations": set("cs et fi he hr hu ja ko lt lv sq sr sw tl zh".split()),  # noqa: SIM905
    "actions": LANGUAGES.keys() - set("en de fr es pt it nl pl ru ar zh ja ko".split()),  # noqa: SIM905
    "every_words": set("bg cs et fa fi he hr hu id ja ko lt lv mr pt ro sq sr sw tl vi".split()),  # noqa: SIM905
    "some_words": set("bg cs et fa fi he hr hu id ja ko lt lv mr ro sq sr sw tl tr vi zh".split()),  # noqa: SIM905
}
"""Lists that languages lack; of endings, telling letters and "which" a language may have none."""


@pytest.mark.parametrize("name", sorted(LACKS))
def test_each_list_is_lacked_by_these_languages_alone(name: str) -> None:
    lacking = {code for code, language in LANGUAGES.items() if getattr(language, name) is None}
    assert lacking == LACKS[name]


MARKERS_LACKED: dict[str, set[str]] = {
    **{kind: set() for kind in "rule strong wish decision open done ended unsure".split()},  # noqa: SIM905
    **{kind: set() for kind in ("failed", "worked", "tried", "decides", "agrees", "refuses")},
    "joint": set("ar he ja ko zh".split()),  # noqa: SIM905
    **{kind: {"en"} for kind in ("duty", "weak", "address", "story")},
    "always": set("en ja ko zh".split()),  # noqa: SIM905
    "limit": set("ar en he hi ja ko zh".split()),  # noqa: SIM905
    **{kind: {"ar", "he", "hi"} for kind in ("filler", "smalltalk")},
    **{kind: {"ar", "he", "hi", "tr"} for kind in ("anew", "order", "frame")},
    **{kind: set() for kind in ("changed", "deadline", "announced", "urgent", "ban")},
    "called_rule": WRITTEN - set("en de es fr pt it ru zh".split()),  # noqa: SIM905
    "instead": set("ar he hi tr zh".split()),  # noqa: SIM905
    "moved": set("ar he hi ja ko".split()),  # noqa: SIM905
    "moved_to": set("ar he hi ja ko zh".split()),  # noqa: SIM905
}
"""Kinds of markers that languages of summaries lack. Patterns of their own stand for some of them."""


@pytest.mark.parametrize("kind", sorted(MARKERS_LACKED))
def test_each_kind_of_marker_is_lacked_by_these_languages_alone(kind: str) -> None:
    assert WRITTEN - markers_of(kind).keys() == MARKERS_LACKED[kind]


def test_no_marker_is_of_an_unknown_kind() -> None:
    kinds = {kind for language in LANGUAGES.values() for kind in language.markers or ()}
    assert kinds == MARKERS_LACKED.keys()


def test_no_language_is_silent_about_a_list() -> None:
    assert all(one.default is MISSING and one.default_factory is MISSING for one in fields(Language))
    assert all(getattr(language, name) != "" for language in LANGUAGES.values() for name in LISTS)


def test_a_module_is_a_language() -> None:
    modules = [file for file in python_files("context/languages") if file.name != "__init__.py"]
    assert {file.stem for file in modules} == {language.name.lower() for language in LANGUAGES.values()}
    assert len(modules) == len(LANGUAGES)


@pytest.mark.parametrize("code", sorted(WRITTEN))
def test_every_section_has_a_title_in_a_language_of_summaries(code: str) -> None:
    assert list(section_titles(code)) == list(Section)
    assert language_name(code) == LANGUAGES[code].name


def test_words_of_a_module_reach_detection_and_preflight() -> None:
    assert detect_language("Können wir das nicht morgen noch einmal mit der Bahn und dem Bus prüfen?") == "de"
    assert find_signs("buenas tardes").has("casual.greeting")

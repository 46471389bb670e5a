"""A summary's sections, written and read back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.summary.sections import (
    Section,
    SummaryDocument,
    is_placeholder,
    section_titles,
    write_sections,
)

LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "pt",
    "it",
    "nl",
    "pl",
    "tr",
    "ru",
    "uk",
    "zh",
    "ja",
    "ko",
    "ar",
    "he",
    "hi",
]
ITEMS = st.dictionaries(
    st.sampled_from(list(Section)),
    st.lists(
        st.from_regex(r"\[[0-9]{1,3}\] [a-z]{2,9}: [a-z]{3,12}( [a-z]{3,12}){1,4}", fullmatch=True),
        min_size=1,
        max_size=4,
    ),
)


@settings(max_examples=40)
@given(ITEMS, st.sampled_from([*LANGUAGES, "und", "xx"]))
def test_what_is_written_is_read_back(items: dict[Section, list[str]], language: str) -> None:
    assert SummaryDocument(write_sections(items, language)).sections == items


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_names_every_section_differently(language: str) -> None:
    assert len(set(section_titles(language).values())) == len(Section)


def test_an_unknown_language_has_english_titles() -> None:
    assert section_titles("und")[Section.OPEN] == "Open work"


@pytest.mark.parametrize(
    "heading",
    [
        "## Constraints in force",
        "# constraints",
        "### Constraints:",
        "**Constraints**",
        "**Constraints:**",
        "Constraints:",
        "## 2. Constraints",
        "## Действующие ограничения",
        "## 有効な制約",
    ],
)
def test_headings_are_known_however_a_model_writes_them(heading: str) -> None:
    found = SummaryDocument(f"{heading}\n- never push to main").sections
    assert found == {Section.CONSTRAINTS: ["never push to main"]}


def test_a_title_and_its_point_on_one_line_are_read() -> None:
    found = SummaryDocument("**Open work**: the retry is missing").sections
    assert found == {Section.OPEN: ["the retry is missing"]}


def test_a_deeper_heading_stays_in_its_section() -> None:
    found = SummaryDocument(
        "## Constraints\n### From Ana\n- never push to main\n## Weather\n- sunny"
    ).sections
    assert found == {Section.CONSTRAINTS: ["never push to main"], None: ["sunny"]}


def test_words_outside_any_section_are_kept_apart() -> None:
    assert SummaryDocument("Some notes.\n## Open work\n- a thing").sections == {
        None: ["Some notes."],
        Section.OPEN: ["a thing"],
    }


@pytest.mark.parametrize(
    "item", ["None", "- none.", "N/A", "(none)", "нет", "无", "なし", "keine", "—", "*Nothing yet*"]
)
def test_a_placeholder_is_no_point(item: str) -> None:
    assert is_placeholder(item)


@pytest.mark.parametrize("item", ["None of the tests ran", "no retries", "无重试 3 次"])
def test_a_point_that_begins_like_a_placeholder_counts(item: str) -> None:
    assert not is_placeholder(item)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert all(items or section for section, items in SummaryDocument(text).sections.items())


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("**Open work:** ##", Section.OPEN),
        ("__Open work__ :", Section.OPEN),
        ("## Open work ##  ", Section.OPEN),
        ("Open work\uff1a", Section.OPEN),
        ("#\u3000Open work", Section.OPEN),
        ("Open work" + " " * 500, Section.OPEN),
        ("Open work" + " " * 500 + "x", None),
        ("x" * 80, None),
        ("x" * 81, None),
    ],
)
def test_a_heading_is_known_with_whatever_closes_it(line: str, section: Section | None) -> None:
    [read] = SummaryDocument(line).lines
    assert (read.section, read.is_heading) == (section, section is not None)


def test_a_comment_in_code_is_no_heading() -> None:
    notes = SummaryDocument("## Open work\n- run this:\n```sh\n# Constraints\nmake all\n```\n- then tell Bo")
    assert notes.items(Section.OPEN)[0] == "run this:"
    assert notes.items(Section.OPEN)[-1] == "then tell Bo"
    assert Section.CONSTRAINTS not in notes.sections
    assert [line.item for line in notes.points] == ["run this:", "then tell Bo"]


def test_a_fence_that_is_never_closed_hides_no_section() -> None:
    notes = SummaryDocument("## Work done\n```sh\nmake all\n## Constraints\n- never push to main")
    assert notes.items(Section.CONSTRAINTS) == ["never push to main"]
    assert notes.points == ()

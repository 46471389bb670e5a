"""A summary in several lengths: whole points only, by worth, whatever wrote it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.summary.lengths import SHARES, shorten_summary, summary_lengths
from context.summary.sections import Section, SummaryDocument, section_titles, write_sections
from context.tokens.text import count_text
from tests.unit.linear.growth import grows_in_proportion

TITLE = "Extractive notes: lines picked from the conversation without a language model."
ITEMS = {
    Section.OBJECTIVE: ["[1] Ana (user): Import the invoices of 2024.", "[80] Ana (user): Now the reports."],
    Section.CONSTRAINTS: ["[1] Ana (user): Never delete a source file.", "[9] Ana (user): Only use pandas."],
    Section.DECISIONS: [f"[{n}] assistant: We chose way {n}." for n in range(10, 30)],
    Section.DONE: [f'write(path="/srv/{n}.csv") -> ok: written [{n}-{n + 1}]' for n in range(30, 60)],
    Section.OPEN: ["[79] Ana (user): Who reviews PR-17?"],
    Section.IDENTIFIERS: ["`INV-2041`, `/srv/billing`, `PR-17`"],
    Section.PEOPLE: [f"[{n}] Ben (user): A story about garden number {n}." for n in range(30, 50)],
}


@pytest.mark.parametrize("language", ["en", "de", "zh", "ja", "ar", "hi", "ru"])
def test_rules_open_work_and_names_outlive_finished_work(language: str) -> None:
    text = f"{TITLE}\n\n{write_sections(ITEMS, language)}"
    whole, quarter, tenth = summary_lengths(text)
    titles = section_titles(language)
    assert whole == text
    for version in (quarter, tenth):
        assert "Never delete a source file." in version
        assert f"## {titles[Section.OPEN]}\n- [79] Ana (user): Who reviews PR-17?" in version
    assert "`INV-2041`" in quarter
    assert count_text(tenth) < count_text(quarter) < count_text(text) / 2


def test_of_finished_work_the_newest_stays() -> None:
    quarter = summary_lengths(write_sections(ITEMS, "en"))[1]
    done = SummaryDocument(quarter).sections[Section.DONE]
    assert any("/srv/59.csv" in item for item in done)
    assert not any("/srv/30.csv" in item for item in done)


def test_headings_of_no_known_language_stay_over_their_points() -> None:
    text = "## Malengo\n" + "".join(f"- Jambo la {n}, hadithi ndefu.\n" for n in range(60))
    text += "\n## Sheria\n- [3] Ana: You must never delete `a.csv`.\n"
    tenth = summary_lengths(text)[2]
    assert "## Sheria\n- [3] Ana: You must never delete `a.csv`." in tenth


def test_a_label_over_indented_points_is_their_heading() -> None:
    text = "1. **Objective**\n   - Move the invoices.\n2. **Files**\n" + "".join(
        f"   - file number {n}\n" for n in range(99)
    )
    short = shorten_summary(text, room_tokens=60)
    assert short is not None
    assert short.startswith("1. **Objective**\n   - Move the invoices.")


def test_a_point_keeps_what_stands_indented_under_it() -> None:
    block = "- Never push to main:\n  ask Ben first,\n  then push."
    text = f"## Rules\n{block}\n\n## Done\n" + "".join(f"- Step {n} was run.\n" for n in range(99))
    assert block in (shorten_summary(text, room_tokens=60) or "")


def test_prose_is_cut_at_its_sentences() -> None:
    text = " ".join(f"The weather of day {n} was fine." for n in range(60)) + " Never delete a source file."
    short = shorten_summary(text, room_tokens=30)
    assert short is not None
    assert short.endswith("Never delete a source file.")
    assert short.startswith("The weather of day")


def test_the_rules_of_users_are_dropped_last() -> None:
    rules = [f"[{n}] user: Never send file {n} to anybody." for n in range(1, 9)]
    items = {
        Section.CONSTRAINTS: rules,
        Section.OPEN: [f"[{n}] user: Who brings chair {n}?" for n in range(20, 40)],
        Section.OBJECTIVE: ["[9] user: I plan a fair."],
        Section.PEOPLE: [f"[{n}] user: It rained on day {n}." for n in range(40, 60)],
    }
    short = shorten_summary(write_sections(items, "en"), room_tokens=150)
    assert all(rule in (short or "") for rule in rules)


def test_the_latest_value_of_a_thing_stays_before_other_words() -> None:
    told = [f"[{n}] user: It rained for long on day {n}." for n in range(40, 60)]
    latest = "[39] user: The shelves are £1,340. (£1,395 [31] -> £1,340 [39])"
    short = shorten_summary(write_sections({Section.PEOPLE: [latest, *told]}, "en"), room_tokens=60)
    assert latest in (short or "")


@pytest.mark.parametrize(("room", "expected"), [(-1, None), (0, None), (2, None)])
def test_no_room_gives_no_summary(room: int, expected: str | None) -> None:
    assert shorten_summary(write_sections(ITEMS, "en"), room_tokens=room) is expected


def test_room_at_its_length_gives_it_whole_and_one_token_less_does_not() -> None:
    text = write_sections(ITEMS, "en")
    assert shorten_summary(text, room_tokens=count_text(text)) == text
    less = shorten_summary(text, room_tokens=count_text(text) - 1)
    assert less is not None
    assert set(less.splitlines()) < set(text.splitlines())


LINES = st.lists(
    st.tuples(
        st.sampled_from(
            ["## ", "- ", "  - ", "1. ", "", "**x**", "| ", "```", "## Open work", "Liste:", "    "]
        ),
        st.text(max_size=40)
        | st.sampled_from(["Never do that.", "One. Two three four. Five six!", "[3] a: b"]),
    ).map("".join),
    max_size=30,
)


@settings(max_examples=150)
@given(LINES.map("\n".join), st.integers(-5, 200))
def test_every_length_is_made_of_whole_points_and_never_longer(text: str, room: int) -> None:
    lines = [line.strip() for line in text.splitlines()]
    versions = summary_lengths(text)
    assert versions == summary_lengths(text)
    short = shorten_summary(text, room_tokens=room)
    assert short is None or (count_text(short) <= room and short.strip())
    for version in (*versions, short or ""):
        assert count_text(version) <= count_text(text)
        assert bool(version.strip()) or version == text or not short
        for line in version.splitlines():
            assert any(line.strip() in own for own in lines) or all(
                sentence in text for sentence in line.split(". ")
            )
    assert all(version.strip() for version in versions) == bool(text.strip())
    assert len(versions) == len(SHARES)


def test_time_grows_with_the_length_and_not_with_its_square() -> None:
    def text_of(chars: int) -> str:
        return "## Done\n" + "".join(f"- Step {n} was run in `/srv/{n}`.\n" for n in range(chars // 30))

    assert grows_in_proportion(summary_lengths, text_of)

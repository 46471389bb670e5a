"""Carrying over: nothing protected is lost in silence, nothing grows, and a second time changes nothing."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.extractive_summaries import read_conversations, segments, to_messages
from context.conversation.transcript import LineKind, RenderedLine, participants, render_transcript
from context.summary.carry_over import EXTRA, RULES, CarriedNotes, Why, carry_protected
from context.summary.extractive.summarize import summarize
from context.summary.gate import Covered, Draft, judge_summary
from context.summary.prompt import SummaryInput
from context.summary.sections import PROTECTED, Section, SummaryDocument, write_sections
from context.text.exact_values import normal
from context.tokens.text import count_text
from context.types import Role
from tests.data import data_dir

RULE = "[3] Anna (user): never restart GW-3 between 06:00 and 09:00"
TASK = "Renew the certificate of mx-edge-7.example.org before Friday [5]"
NAMES = "`KX-77-4102-B`, `/srv/app/main.conf`"
PREVIOUS = write_sections(
    {
        Section.OBJECTIVE: ["[1] Anna (user): move the depot to the new gateway"],
        Section.CONSTRAINTS: [RULE],
        Section.OPEN: [TASK],
        Section.IDENTIFIERS: [NAMES],
    },
    "en",
)
FORGETFUL = "## Objective\n- Anna moves the depot.\n\n## Work done\n- The routes were copied [12]"


def carry(draft: str, previous: str = PREVIOUS, *, budget: int = 400, said: str = "") -> CarriedNotes:
    lines = [RenderedLine(20, LineKind.TEXT, Role.USER, "Anna (user)", said, 1)] if said else []
    before, notes = SummaryDocument(previous), SummaryDocument(draft)
    return carry_protected(before, notes, language="en", budget_tokens=budget, count=count_text, lines=lines)


def why(notes: CarriedNotes) -> list[tuple[Section, Why]]:
    return [(release.section, release.why) for release in notes.released]


def test_what_a_draft_lost_is_put_back_word_for_word_in_its_section() -> None:
    sections = SummaryDocument(carry(FORGETFUL).text).sections
    assert sections[Section.CONSTRAINTS] == [RULE]
    assert sections[Section.OPEN] == [TASK]
    assert sections[Section.IDENTIFIERS] == [NAMES]
    assert sections[Section.DONE] == ["The routes were copied [12]"]


def test_a_line_is_put_back_under_the_heading_that_the_draft_has() -> None:
    draft = f"{FORGETFUL}\n\n**Offene Arbeit**\n- Sarah prüft die Leitung 9\n\n## Constraints\n- none"
    text = carry(draft).text
    sections = SummaryDocument(text).sections
    assert sections[Section.OPEN] == [TASK, "Sarah prüft die Leitung 9"]
    assert sections[Section.CONSTRAINTS] == [RULE]
    assert text.count("Offene Arbeit") == 1
    assert "none" not in text


def test_without_a_last_summary_a_draft_stays_as_it_is() -> None:
    assert carry(FORGETFUL, "") == CarriedNotes(SummaryDocument(FORGETFUL))


@pytest.mark.parametrize(
    "kept",
    [
        RULE,
        "Never restart GW-3 between 06:00 and 09:00.",
        "Do not restart GW-3 from 06:00 to 09:00 (Anna)",
        "GW-3 and GW-4 must never be restarted between 06:00 and 09:00, nor on Fridays",
    ],
)
def test_a_rule_that_the_draft_says_whole_is_not_said_twice(kept: str) -> None:
    draft = write_sections({Section.CONSTRAINTS: [kept], Section.OPEN: [TASK]}, "en")
    assert SummaryDocument(carry(draft).text).sections[Section.CONSTRAINTS] == [kept]


@pytest.mark.parametrize(
    "changed",
    [
        "Restart GW-3 between 06:00 and 09:00",
        "Never restart GW-4 between 06:00 and 09:00",
        "Never restart GW-3 between 06:00 and 08:00",
        "Never restart GW-33 between 06:00 and 09:00",
        "Never touch GW-3 between 06:00 and 09:00",
    ],
)
def test_a_rule_that_reads_alike_but_says_something_else_does_not_replace_it(changed: str) -> None:
    draft = write_sections({Section.CONSTRAINTS: [changed]}, "en")
    assert SummaryDocument(carry(draft).text).sections[Section.CONSTRAINTS] == [RULE, changed]


def test_a_rule_in_an_unprotected_section_is_put_back_where_it_is_protected() -> None:
    draft = write_sections({Section.DECISIONS: [RULE]}, "en")
    assert SummaryDocument(carry(draft).text).sections[Section.CONSTRAINTS] == [RULE]


@pytest.mark.parametrize(
    "said",
    [
        "The ban on restarting GW-3 between 06:00 and 09:00 was lifted by Anna [40]",
        "Anna withdrew the rule never to restart GW-3 between 06:00 and 09:00: it no longer applies [40]",
        "GW-3 may be restarted between 06:00 and 09:00 again [40]",
    ],
)
def test_a_rule_that_the_draft_says_was_lifted_is_let_go(said: str) -> None:
    notes = carry(write_sections({Section.DECISIONS: [said], Section.OPEN: [TASK]}, "en"))
    assert RULE not in notes.text
    assert (Section.CONSTRAINTS, Why.ENDED) in why(notes)


@pytest.mark.parametrize(
    "said",
    [
        "Anna asked whether the ban on restarting GW-3 between 06:00 and 09:00 was lifted",
        "Was the ban on restarting GW-3 between 06:00 and 09:00 lifted?",
        "The ban on restarting GW-3 between 06:00 and 09:00 was not lifted",
        "If the line is up, the ban on restarting GW-3 between 06:00 and 09:00 is lifted",
        "The ban on restarting GW-4 between 06:00 and 09:00 was lifted",
        "The ban on restarting GW-3 was lifted",
        "GW-3 was restarted between 06:00 and 09:00",
        "The restart of GW-3 between 06:00 and 09:00 will be dropped",
    ],
)
def test_when_unsure_a_rule_stays(said: str) -> None:
    draft = write_sections({Section.DECISIONS: [said]}, "en")
    assert RULE in SummaryDocument(carry(draft).text).sections[Section.CONSTRAINTS]


def test_a_user_may_lift_a_rule_and_the_model_may_not() -> None:
    said = "Forget the rule about restarting GW-3 between 06:00 and 09:00, the new line is up."
    assert (Section.CONSTRAINTS, Why.ENDED) in why(carry(FORGETFUL, said=said))
    line = RenderedLine(20, LineKind.TEXT, Role.ASSISTANT, "assistant", said, 1)
    notes = carry_protected(
        SummaryDocument(PREVIOUS),
        SummaryDocument(FORGETFUL),
        language="en",
        budget_tokens=400,
        count=count_text,
        lines=[line],
    )
    assert RULE in notes.text


@pytest.mark.parametrize(
    ("section", "said", "reason"),
    [
        (Section.DONE, "The certificate of mx-edge-7.example.org was renewed, before Friday [31]", Why.DONE),
        (
            Section.DECISIONS,
            "Renewing the certificate of mx-edge-7.example.org is no longer needed",
            Why.ENDED,
        ),
    ],
)
def test_open_work_that_got_done_or_withdrawn_is_open_no_more(
    section: Section, said: str, reason: Why
) -> None:
    notes = carry(write_sections({section: [said]}, "en"))
    assert Section.OPEN not in SummaryDocument(notes.text).sections
    assert (Section.OPEN, reason) in why(notes)


@pytest.mark.parametrize(
    "said",
    [
        "Tried to renew the certificate of mx-edge-7.example.org: failed [31]",
        "The certificate of mx-edge-8.example.org was renewed [31]",
        "mx-edge-7.example.org was pinged [31]",
        "The certificate of mx-edge-7.example.org was not renewed [31]",
        "The certificate of mx-edge-7.example.org was renewed, before Friday (unverified)",
    ],
)
def test_work_that_is_not_plainly_done_stays_open(said: str) -> None:
    draft = write_sections({Section.DONE: [said]}, "en")
    assert SummaryDocument(carry(draft).text).sections[Section.OPEN] == [TASK]


def test_a_failed_call_is_settled_by_a_later_success_of_its_tool() -> None:
    previous = write_sections({Section.OPEN: ["deploy(env=prod) -> error: timeout [7-8]"]}, "en")
    worked = RenderedLine(20, LineKind.RESULT, Role.TOOL, "deploy", "done", 1)
    for lines, expected in (([worked], [Why.OVERCOME]), ([], [])):
        notes = carry_protected(
            SummaryDocument(previous),
            SummaryDocument(FORGETFUL),
            language="en",
            budget_tokens=400,
            count=count_text,
            lines=lines,
        )
        assert [release.why for release in notes.released] == expected


def test_only_the_lost_names_of_a_list_are_put_back_and_old_ones_stand_first() -> None:
    draft = write_sections({Section.IDENTIFIERS: ["`NEW-1`, `/srv/app/main.conf`"]}, "en")
    assert SummaryDocument(carry(draft).text).sections[Section.IDENTIFIERS] == [f"{NAMES}, `NEW-1`"]


def test_a_name_inside_a_longer_one_does_not_count_as_kept() -> None:
    previous = write_sections({Section.IDENTIFIERS: ["`P-100`, `May 22, 2024`"]}, "en")
    draft = write_sections({Section.IDENTIFIERS: ["`P-1001`"]}, "en")
    assert SummaryDocument(carry(draft, previous).text).sections[Section.IDENTIFIERS] == [
        "`P-100`, `May 22, 2024`, `P-1001`"
    ]


def test_a_line_that_says_something_about_a_name_stays_whole() -> None:
    previous = write_sections({Section.IDENTIFIERS: ["GW-3: the northern gateway, 2,480 EUR"]}, "en")
    assert "- GW-3: the northern gateway, 2,480 EUR" in carry(FORGETFUL, previous).text.splitlines()


def test_lines_that_a_draft_says_twice_stand_once() -> None:
    draft = f"## Constraints in force\n- {RULE}\n-  {RULE.upper()}\n\n## Open work\n- {TASK}"
    assert carry(draft).text.casefold().count("never restart") == 1


def test_where_room_is_short_names_go_first_and_rules_never() -> None:
    names = ", ".join(f"`code-{number}-X{number}`" for number in range(60))
    previous = write_sections(
        {Section.CONSTRAINTS: [RULE], Section.OPEN: [TASK], Section.IDENTIFIERS: [names]}, "en"
    )
    draft = "## Objective\n" + "\n".join(f"- Anna says word {number} of many" for number in range(30))
    notes = carry(draft, previous, budget=300)
    assert RULE in notes.text
    assert TASK in notes.text
    assert set(why(notes)) == {(Section.IDENTIFIERS, Why.NO_ROOM)}


POINTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                RULE,
                TASK,
                NAMES,
                "Never restart GW-3 between 06:00 and 09:00.",
                "The ban on restarting GW-3 between 06:00 and 09:00 was lifted",
                "**Open work**: **Constraints**: odd",
                "`a b`, none, `c, d`",
                "none",
                "- - x",
                "不要在06:00到09:00之间重启GW-3",
                "Was P-100 sent?",
                "run(x=1) -> error: no [3]",
                "`P-100`, P-1001, P-100",
            ]
        ),
        st.text(alphabet="ab1 -`*,:[]()#\u2028\n不.?", max_size=25),
    ),
    max_size=6,
)
SUMMARIES = st.one_of(
    st.dictionaries(st.sampled_from(list(Section)), POINTS, max_size=7).map(
        lambda items: write_sections(items, "en")
    ),
    POINTS.map("\n".join),
)


@given(SUMMARIES, SUMMARIES, st.integers(1, 300))
def test_every_protected_line_is_there_or_released_with_a_reason(
    previous: str, draft: str, budget: int
) -> None:
    notes = carry(draft, previous, budget=budget)
    gone = {(release.section, normal(release.item)) for release in notes.released}
    sections = SummaryDocument(notes.text).sections
    told = normal("\n".join(item for section in PROTECTED for item in sections.get(section, [])))
    for point in notes.restored:
        assert normal(point) in told or all(normal(part) in told for part in point.split(", "))
    for section in PROTECTED[:2]:
        for item in SummaryDocument(previous).sections.get(section, []):
            kept = (section, normal(item)) in gone or normal(item) in told
            assert kept or carry(notes.text, write_sections({section: [item]}, "en")).restored == ()


@given(SUMMARIES, SUMMARIES, st.integers(1, 300))
def test_carrying_twice_changes_nothing(previous: str, draft: str, budget: int) -> None:
    once = carry(draft, previous, budget=budget)
    twice = carry(once.text, previous, budget=budget)
    assert (twice.text, twice.restored) == (once.text, ())


@given(SUMMARIES, SUMMARIES, st.integers(1, 300))
def test_what_is_put_back_is_bounded_by_shares_of_the_budget(previous: str, draft: str, budget: int) -> None:
    notes = carry(draft, previous, budget=budget)
    back = sum(count_text(point) for point in notes.restored)
    assert back <= max(budget * (1 + EXTRA), budget * RULES) + 1
    longer = max(count_text(draft), budget)
    headings = 60
    assert count_text(notes.text) <= longer + budget * max(EXTRA, RULES) + headings + 8 * len(notes.restored)


def planted(summary: str) -> dict[str, bool]:
    """Which of the planted lines and names a summary holds in a protected section."""
    sections = SummaryDocument(summary).sections
    told = "\n".join(item for section in PROTECTED for item in sections.get(section, []))
    wanted = {"rule": "never restart GW-3 between 06:00 and 09:00", "task": TASK, "name": "KX-77-4102-B"}
    return {what: words in told for what, words in wanted.items()}


def test_fifty_drafts_that_forget_everything_lose_nothing_and_do_not_grow() -> None:
    """Every draft adds a task and names of its own, some a rule, and none knows the last summary."""
    summary, sizes = PREVIOUS, []
    for number in range(50):
        fresh = {
            Section.OBJECTIVE: ["Anna moves the depot"],
            Section.CONSTRAINTS: [f"[{number}] Ben (user): at most {number} trucks"] * (number % 5 == 0),
            Section.DONE: [f"Pallet P-{1000 + number} was moved [{number}]"],
            Section.OPEN: [f"Ask Ben about the seal of pallet P-{1000 + number}"],
            Section.IDENTIFIERS: [f"`P-{1000 + number}`, `run-{number}-A{number}`"],
        }
        summary = carry(write_sections(fresh, "en"), summary, budget=500).text
        sizes.append(count_text(summary))
    assert planted(summary) == {"rule": True, "task": True, "name": True}
    assert max(sizes) <= 500 * (1 + EXTRA)
    assert "P-1049" in summary


@pytest.mark.data
@pytest.mark.parametrize("rollings", [10, 50])
@pytest.mark.parametrize(
    ("name", "least_tokens", "budget"), [("pi_sessions", 3_000, 1_500), ("tau_airline", 1_500, 700)]
)
def test_what_was_planted_survives_rolling_real_conversations(
    name: str, least_tokens: int, budget: int, rollings: int
) -> None:
    data_dir(name)
    bodies = [body for talk in read_conversations(name) for body in talk if body["role"] != "system"] * 2
    summary, sizes = PREVIOUS, []
    for segment in islice(segments(to_messages(bodies), least_tokens), rollings):
        lines = render_transcript(segment)
        tokens = sum(message.tokens for message in segment) + count_text(summary)
        asked = SummaryInput(lines, budget, "en", summary, participants(lines))
        whole = carry_protected(
            SummaryDocument(summary),
            SummaryDocument(summarize(asked, count=count_text)),
            language="en",
            budget_tokens=budget,
            count=count_text,
            lines=lines,
        )
        size = count_text(whole.text)
        assert judge_summary(Draft(whole.text, size, "stop"), Covered(lines, tokens, summary, "en")).accepted
        summary = whole.text
        sizes.append(size)
    assert len(sizes) == rollings
    assert planted(summary) == {"rule": True, "task": True, "name": True}
    assert max(sizes) <= budget * (1 + EXTRA)

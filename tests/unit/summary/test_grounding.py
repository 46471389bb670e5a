# ruff: noqa: E501, RUF001 - notes and transcripts
"""What a point says that its source does not: names, figures, dates, a sign, words, claims of work done."""

import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.evidence import MARKED
from context.summary.gate import Covered, Draft, Fault, judge_summary
from context.summary.grounding import ground_points, shares_nothing
from context.summary.source import Doubt, Source
from context.types import Role

LINES = (
    RenderedLine(
        1,
        LineKind.TEXT,
        Role.USER,
        "Ana (user)",
        "Please rebook reservation M05KNL to 2024-05-24, under 400 USD. Never charge the card of Maria Silva.",
        1,
    ),
    RenderedLine(
        2, LineKind.CALL, Role.ASSISTANT, "assistant", 'search_flights(date="2024-05-24")', 2, call_id="a"
    ),
    RenderedLine(
        3, LineKind.RESULT, Role.TOOL, "search_flights", "HAT300 at 08:00 for 120 USD", 2, call_id="a"
    ),
    RenderedLine(
        4, LineKind.CALL, Role.ASSISTANT, "assistant", 'update_address(city="Leeds")', 3, call_id="b"
    ),
    RenderedLine(5, LineKind.RESULT, Role.TOOL, "update_address", "address saved", 3, call_id="b"),
    RenderedLine(6, LineKind.TEXT, Role.ASSISTANT, "assistant", "HAT300 costs 120 USD. Shall I book it?", 4),
)
GOOD = (
    "## Objective\n- Ana wants reservation M05KNL rebooked to 2024-05-24 [1]\n\n## Constraints in force\n"
    '- [1] Ana: "Never charge the card of Maria Silva"\n\n## Work done\n- flights of 24 May 2024 were searched: HAT300 at '
    "8 am for $120 [3]\n- the address was updated to Leeds [5]\n\n## Open work\n- whether HAT300 is to be booked [6]"
)


def doubts(point: str, section: str = "Work done") -> set[Doubt]:
    [found] = ground_points(f"## {section}\n- {point}", Source(LINES), marks=MARKED)
    return set(found.doubts)


@pytest.mark.parametrize("point", [line[2:] for line in GOOD.split("\n") if line.startswith("- ")])
def test_what_the_source_says_in_other_words_or_figures_stands(point: str) -> None:
    assert doubts(point) == set()


@pytest.mark.parametrize(
    ("point", "doubt"),
    [
        ("flights were searched: HAT999 at 08:00 [3]", Doubt.FIGURE),
        ("flights were searched: HAT300 for 4,200 USD [3]", Doubt.FIGURE),
        ("flights of 2024-05-25 were searched [3]", Doubt.FIGURE),
        ("flights were searched: HAT300 at 09:00 [3]", Doubt.FIGURE),
        ("the flights of Heinrich were searched [3]", Doubt.NAME),
        ("see https://www.example.com/api [3]", Doubt.NAME),
        ("Always charge the card of Maria Silva [1]", Doubt.OPPOSITE),
        ("reservation M05KNL was changed [3]", Doubt.UNDONE),
        ("reservation M05KNL was changed [1]", Doubt.UNDONE),
        ("[1] Ana (user): the caterer brings vegetarian lasagna and lemonade", Doubt.SAYING),
        ("the caterer brings vegetarian lasagna, salad and lemonade", Doubt.WORDS),
        ("vegetarian lasagna [3]", Doubt.CITATION),
    ],
)
def test_what_the_source_does_not_say_is_doubted(point: str, doubt: Doubt) -> None:
    assert doubt in doubts(point)


def test_a_not_that_was_left_behind_turns_a_copied_rule_round() -> None:
    assert doubts("charge the card of Maria Silva [1]", "Constraints in force") == {Doubt.OPPOSITE}


def test_what_the_notes_before_said_needs_no_message() -> None:
    source = Source(LINES, "## Work done\n- the visa of Omar Davis was sent on 3 March [2]")
    assert (
        ground_points("## Work done\n- the visa of Omar Davis was sent on March 3 [2]", source)[0].doubts
        == set()
    )


@pytest.mark.parametrize(
    ("spoiled", "reason"),
    [
        (GOOD.replace("M05KNL", "ZX9Q1K"), Fault.MADE_UP),
        (GOOD.replace("Never charge", "Always charge"), Fault.MADE_UP),
        (GOOD + "\n- 4,200 USD were refunded to card 4411 [3]", Fault.MADE_UP),
        (GOOD.replace("the address was updated to Leeds [5]", "the hall has been booked [6]"), None),
        (
            GOOD.replace("updated to Leeds [5]", "updated; M05KNL was rebooked [2]"),
            Fault.CLAIMS_WITHOUT_EVIDENCE,
        ),
        (
            GOOD.replace('- [1] Ana: "Never charge the card of Maria Silva"', "- at most 400 USD [1]"),
            Fault.RULES_LOST,
        ),
        (
            "The flight HAT300 is at 08:00 for 120 USD. M05KNL has been changed. Maria Silva.",
            Fault.NO_HEADINGS,
        ),
        (GOOD + "\n- Could you please provide your user id?", Fault.ANSWER_TEXT),
        (GOOD + "\n- I updated the reservation details", Fault.FIRST_PERSON),
        (GOOD + '\n- Next: [Assistant tool call]: book({"id": "HAT300"})', Fault.TOOL_CALL_TEXT),
        (GOOD + '\n- book_flight({"id": "HAT300"})', Fault.TOOL_CALL_TEXT),
    ],
)
def test_a_draft_with_one_such_point_is_refused(spoiled: str, reason: Fault | None) -> None:
    verdict = judge_summary(Draft(spoiled, 150, "stop"), Covered(LINES, 1_000, language="en"))
    if reason is None:
        assert verdict.reason in {Fault.MADE_UP, Fault.CLAIMS_WITHOUT_EVIDENCE}
    else:
        assert verdict.reason is reason


def test_a_faithful_draft_passes() -> None:
    assert judge_summary(Draft(GOOD, 150, "stop"), Covered(LINES, 1_000, language="en")).reason is None


def test_a_refusal_tells_which_names_were_made_up() -> None:
    verdict = judge_summary(Draft(GOOD.replace("HAT300 at", "HAT999 at"), 150, "stop"), Covered(LINES, 1_000))
    assert verdict.told == ("HAT999",)


@pytest.mark.parametrize(
    ("text", "is_nothing"),
    [
        ("The morning is a luxury that only the rich can afford. No one should travel alone anymore.", True),
        ("HAT300 is the cheapest.", False),
        ("It leaves at 8 am.", False),
        ("预算非常紧张，大家都很担心。", True),
    ],
)
def test_what_shares_nothing_with_its_source_is_told_from_what_does(text: str, is_nothing: bool) -> None:
    assert shares_nothing(text, Source(LINES)) is is_nothing

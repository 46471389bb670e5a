# ruff: noqa: E501, RUF001 - notes and transcripts
"""What a point says that its source does not: names, figures, dates, a sign, words, claims of work done."""

import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.evidence import MARKED
from context.summary.gate import Covered, Draft, Fault, judge_summary
from context.summary.grounding import ground_points, shares_nothing
from context.summary.sections import SummaryDocument
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
    [found] = ground_points(SummaryDocument(f"## {section}\n- {point}"), Source(LINES), marks=MARKED)
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


LONG_TALK = (
    RenderedLine(
        1,
        LineKind.TEXT,
        Role.USER,
        "user",
        "None of the early trains is of any use, since I don't want to travel before noon. Is there a later one?",
        1,
    ),
    RenderedLine(
        2,
        LineKind.TEXT,
        Role.ASSISTANT,
        "assistant",
        "The train of 14:05 goes through Fulda and takes three hours. Unfortunately it cannot carry bicycles of guests.",
        2,
    ),
    RenderedLine(3, LineKind.TEXT, Role.USER, "user", "Non mettere mai le lastre di vetro nel camion.", 3),
)


@pytest.mark.parametrize(
    "point",
    [
        "[1] user: None of the early trains is of any use, since I do want to travel before noon. Is there a later one? -> [2] assistant: The train of 14:05 goes through Fulda and takes three hours.",
        "[1] user: Is there a later one? -> [2] assistant: The train of 14:05 goes through Fulda and takes three hours. Unfortunately it can carry bicycles of guests.",
        "[2] assistant: The train of 14:05 goes through Fulda and takes three hours … Unfortunately it can carry bicycles of guests.",
        "[1] user: I want to travel before noon, since none of the early trains is of any use",
        "[3] user: Metti sempre le lastre di vetro nel camion.",
    ],
)
def test_a_not_that_is_gone_from_one_of_many_sentences_is_found(point: str) -> None:
    [found] = ground_points(SummaryDocument(f"## Objective\n- {point}"), Source(LONG_TALK), marks=MARKED)
    assert Doubt.OPPOSITE in found.doubts


@pytest.mark.parametrize(
    "point",
    [
        "[1] user: I don't want to travel before noon. Is there a later one? -> [2] assistant: The train of 14:05 goes through Fulda and takes three hours.",
        "[2] assistant: The train of 14:05 takes three hours through Fulda; unfortunately it cannot carry bicycles",
        "[3] user: Le lastre di vetro non devono mai essere messe nel camion.",
    ],
)
def test_sentences_with_their_not_stand(point: str) -> None:
    [found] = ground_points(SummaryDocument(f"## Objective\n- {point}"), Source(LONG_TALK), marks=MARKED)
    assert found.doubts == set()


def test_what_the_notes_before_said_needs_no_message() -> None:
    source = Source(LINES, SummaryDocument("## Work done\n- the visa of Omar Davis was sent on 3 March [2]"))
    assert (
        ground_points(
            SummaryDocument("## Work done\n- the visa of Omar Davis was sent on March 3 [2]"), source
        )[0].doubts
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


ROWS = "Sizes:\n- small: 40 euros\n- large: 65 euros\n\nThe shop never ships on Fridays.\nReturns: none after 30 days."
SHIPPED = (
    RenderedLine(1, LineKind.TEXT, Role.USER, "user", "Which sizes does the shop have?", 1),
    RenderedLine(2, LineKind.TEXT, Role.ASSISTANT, "assistant", ROWS, 2),
)


@pytest.mark.parametrize(
    ("point", "is_made_up"),
    [
        ("[2] assistant: Sizes: small: 40 euros; large: 65 euros", False),
        ("[2] assistant: Sizes; small, 40 euros; large, 65 euros", False),
        ("[2] assistant: Sizes: small: $40; large: $65 and a lamp for 71 euros", True),
        ("[2] assistant: The shop ships on Fridays. Returns: none after 30 days.", True),
    ],
)
def test_rows_of_a_list_on_one_line_are_the_sources_own_words(point: str, *, is_made_up: bool) -> None:
    [found] = ground_points(SummaryDocument(f"## Decisions and reasons\n- {point}"), Source(SHIPPED))
    assert bool(found.doubts & {Doubt.NAME, Doubt.FIGURE, Doubt.OPPOSITE}) is is_made_up


@pytest.mark.parametrize(
    "name", ["Saint-Rémy-de-Provence", "Bad-Wörishofen-Süd", "Île-aux-Moines", "Jean-François"]
)
def test_a_name_with_hyphens_and_accents_is_known(name: str) -> None:
    line = RenderedLine(1, LineKind.TEXT, Role.USER, "user", f"The picture was painted in {name}, France.", 1)
    [found] = ground_points(
        SummaryDocument(f"## Decisions and reasons\n- painted in {name} [1]"), Source((line,))
    )
    assert found.doubts == frozenset()


@pytest.mark.parametrize(
    "output",
    ["note='do not retry', error=None)] isError=False", '"never": "x", "ok": true, "n": None} isError=False'],
)
def test_a_none_of_the_field_before_denies_nothing(output: str) -> None:
    lines = (
        RenderedLine(1, LineKind.CALL, Role.ASSISTANT, "assistant", 'run(x="1")', 1, call_id="a"),
        RenderedLine(2, LineKind.RESULT, Role.TOOL, "run", f"data … {output}", 1, call_id="a"),
    )
    [found] = ground_points(
        SummaryDocument('## Work done\n- run(x="1") -> ok: data … isError=False [1-2]'), Source(lines)
    )
    assert found.doubts == frozenset()


def test_an_english_verb_is_no_italian_claim_of_work_done() -> None:
    lines = (
        RenderedLine(
            1,
            LineKind.CALL,
            Role.ASSISTANT,
            "assistant",
            'search(query="tools to create files")',
            1,
            call_id="a",
        ),
        RenderedLine(2, LineKind.RESULT, Role.TOOL, "search", "text-editor: a line editor", 1, call_id="a"),
    )
    [found] = ground_points(
        SummaryDocument("## Work done\n- search: tools to create files, a line editor was found [1-2]"),
        Source(lines),
    )
    assert Doubt.UNDONE not in found.doubts

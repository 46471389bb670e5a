# ruff: noqa: E501, RUF001 - notes in several scripts
"""What may take the place of history, and what may not: each reason, and a near miss that passes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.extractive_summaries import to_messages
from context.conversation.transcript import LineKind, RenderedLine, render_transcript
from context.summary.gate import Covered, Draft, Fault, GateSettings, judge_summary
from context.summary.mending import mend_summary
from context.summary.substance import least_chars
from context.text.language import main_language
from context.tokens.text import count_text
from context.types import Role
from tests.data import data_dir, read_jsonl, session_file

USER = "Move invoice INV-2041 to /srv/billing/2024 and never email ana@example.org about it."
LINES = (
    RenderedLine(1, LineKind.TEXT, Role.USER, "Ana (user)", USER, 1),
    RenderedLine(2, LineKind.CALL, Role.ASSISTANT, "assistant", 'move(id="INV-2041")', 2, call_id="c"),
    RenderedLine(3, LineKind.RESULT, Role.TOOL, "move", "moved", 2, call_id="c"),
    RenderedLine(4, LineKind.TEXT, Role.ASSISTANT, "assistant", "Moved it. Shall I close the ticket?", 3),
)
GOOD = """## Objective
- Ana wants invoice INV-2041 in /srv/billing/2024

## Constraints in force
- [1] Ana: "never email ana@example.org about it"

## Work done
- the invoice was moved with move(id="INV-2041") [2, 3]

## Open work
- whether to close the ticket is not answered yet [4]"""
COVERED = Covered(LINES, tokens=1000, language="en")


def reason_of(
    text: str = GOOD, covered: Covered = COVERED, *, tokens: int = 120, finish: str | None = "stop"
) -> Fault | None:
    return judge_summary(Draft(text, tokens, finish), covered).reason


def test_a_good_summary_is_accepted_with_its_cleaned_text() -> None:
    verdict = judge_summary(Draft(f"<think>hm</think>\n```\n{GOOD}\n```", 120, "stop"), COVERED)
    assert verdict.accepted
    assert verdict.text == GOOD


@pytest.mark.parametrize("text", ["", "  \n ", "…"])
def test_an_empty_reply_is_refused(text: str) -> None:
    assert reason_of(text) is Fault.EMPTY


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete"])
def test_a_cut_off_summary_is_refused(finish: str) -> None:
    assert reason_of(finish=finish) is Fault.CUT_OFF


def test_a_budget_that_thinking_ate_is_cut_off_or_thinking_never_accepted() -> None:
    assert reason_of("", finish="length") is Fault.CUT_OFF
    assert reason_of("<think>I go on", finish="length") is Fault.REASONING_TEXT


@pytest.mark.parametrize("finish", ["stop", "end_turn", "STOP", "eos", None, "completed"])
def test_a_summary_that_ended_by_itself_passes(finish: str | None) -> None:
    assert reason_of(finish=finish) is None


def test_a_filtered_reply_is_a_refusal() -> None:
    assert reason_of(finish="content_filter") is Fault.REFUSAL


def test_a_reply_that_stopped_to_call_a_tool_is_refused() -> None:
    assert reason_of(finish="tool_calls") is Fault.TOOL_CALL_TEXT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Error: 529 overloaded", Fault.ERROR_TEXT),
        ("I'm sorry, but I can't help with that.", Fault.REFUSAL),
        ("Please provide the conversation.", Fault.REFUSAL),
        ('{"name": "move", "arguments": {}}', Fault.TOOL_CALL_TEXT),
        ("Okay, the user wants notes. Let me list INV-2041.", Fault.REASONING_TEXT),
    ],
)
def test_what_is_no_answer_is_refused(text: str, reason: Fault) -> None:
    assert reason_of(text) is reason


def test_notes_about_an_error_and_a_refusal_pass() -> None:
    failed = replace(
        LINES[3], seq=5, text="The mail failed with Error: 529 overloaded. I'm sorry, but I can't."
    )
    notes = f"{GOOD}\n- the mail failed with Error: 529 overloaded; it said \"I'm sorry, but I can't\" [5]"
    assert reason_of(notes, replace(COVERED, lines=(*LINES, failed))) is None


@pytest.mark.parametrize(
    "text", ["## Objective\n\n## Open work\n", "## Objective\n- None\n\n## Open work\n- n/a", "# N"]
)
def test_headings_without_content_are_a_skeleton(text: str) -> None:
    assert reason_of(text) is Fault.EMPTY_SKELETON


LONG_LINES = tuple(replace(line, text=f"{line.text} It is a long talk about it. " * 40) for line in LINES)
LONG = replace(COVERED, lines=LONG_LINES, tokens=60_000)


@pytest.mark.parametrize(
    "text",
    [
        "Summary of the conversation",
        "## Objective\n- A conversation.",
        "See above, nothing to add here.",
        "## Objective\n- The conversation between the user and the assistant.\n\n## Open work\n- No changes.",
        "The user and the assistant discussed various topics.",
        "## Objective\n- To be determined\n\n## Work done\n- Same as before",
        "Zusammenfassung des Gesprächs",
        "## 目标\n- 同上",
        "Резюме беседы",
    ],
)
@pytest.mark.parametrize("covered", [replace(LONG, tokens=1_000), LONG])
def test_a_placeholder_is_a_skeleton_however_little_it_covers(text: str, covered: Covered) -> None:
    assert reason_of(text, covered) is Fault.EMPTY_SKELETON


def test_a_placeholder_does_not_pass_for_an_update_either() -> None:
    before = replace(LONG, previous="## Objective\n- Ana wants the invoice moved\n")
    assert reason_of("## Objective\n- See the previous notes.\n- No changes", before) is Fault.EMPTY_SKELETON


def notes_of(chars: int) -> str:
    said = f"[1] Ana (user): {USER} {'It is a long talk about it. ' * 20}"
    return f"## Objective\n- {said[:chars].rstrip().ljust(chars, '.')}"


def test_notes_must_say_more_the_more_they_cover() -> None:
    asked = least_chars(LONG_LINES, 12_000)
    assert asked == 132
    assert reason_of(notes_of(asked - 1), replace(LONG, tokens=12_000)) is Fault.EMPTY_SKELETON
    assert reason_of(notes_of(asked), replace(LONG, tokens=12_000)) is None
    assert reason_of(notes_of(asked + 1), replace(LONG, tokens=12_000)) is None


def test_no_more_than_a_few_sentences_are_ever_asked_for() -> None:
    assert reason_of(notes_of(312), replace(LONG, tokens=10_000_000)) is None


def test_long_tool_output_around_few_words_asks_for_few_words() -> None:
    noisy = replace(LINES[2], text="x y z " * 10_000)
    covered = replace(COVERED, lines=(*LINES[:2], noisy), tokens=60_000)
    assert reason_of(f"## Objective\n- {USER}", covered) is None


def test_a_sentence_that_speaks_of_the_conversation_says_something() -> None:
    notes = (
        "## Objective\nThe conversation is about moving invoice INV-2041 to /srv/billing/2024; "
        "never email ana@example.org."
    )
    assert reason_of(notes) is None


def test_much_less_than_the_previous_summary_is_a_skeleton() -> None:
    before = replace(
        COVERED,
        previous="## Work done\n"
        + "\n".join(f"- step {n} of the long import is complete" for n in range(60)),
    )
    assert reason_of(covered=before) is Fault.EMPTY_SKELETON


def test_somewhat_less_than_the_previous_summary_passes() -> None:
    before = replace(
        COVERED,
        previous="## Work done\n"
        + "\n".join(f"- step {n} of the long import is complete" for n in range(12)),
    )
    assert reason_of(covered=before) is None


def test_a_summary_must_be_a_tenth_smaller_than_what_it_replaces() -> None:
    assert reason_of(tokens=901) is Fault.NOT_SMALLER
    assert reason_of(tokens=900) is None


def test_the_wanted_progress_is_a_setting() -> None:
    strict = GateSettings(min_progress=0.5)
    assert judge_summary(Draft(GOOD, 501), COVERED, strict).reason is Fault.NOT_SMALLER


RUSSIAN_LINES: tuple[RenderedLine, ...] = (
    replace(
        LINES[0], text="Перенеси счёт INV-2041 в папку /srv/billing/2024 и никогда не пиши об этом клиенту."
    ),
    *LINES[1:3],
    replace(LINES[3], text="Готово. Закрыть ли теперь заявку?"),
)
RUSSIAN = replace(COVERED, lines=RUSSIAN_LINES, language="ru")


def test_a_summary_that_drifts_to_english_is_refused() -> None:
    assert reason_of(covered=RUSSIAN) is Fault.WRONG_LANGUAGE


@pytest.mark.parametrize(
    "words",
    [
        "Siirrä lasku INV-2041 kansioon ja älä kerro siitä asiakkaalle, kun se on vielä kesken.",
        "Kérem, tegye át az INV-2041 számlát a mappába, és ne írjon erről az ügyfélnek.",
        "Molim vas da premjestite račun INV-2041 u mapu i da o tome ne pišete kupcu.",
        "Tafadhali hamisha ankara INV-2041 kwa folda na usimwandikie mteja kuhusu hii.",
        "INV-2041 விலைப்பட்டியலை கோப்புறைக்கு நகர்த்தவும், வாடிக்கையாளருக்கு எழுத வேண்டாம்.",
        "INV-2041 চালানটি ফোল্ডারে সরান এবং গ্রাহককে এ বিষয়ে লিখবেন না।",
        "გადაიტანე ანგარიში INV-2041 საქაღალდეში და არ მისწერო კლიენტს.",
    ],
)
def test_no_conversation_drifts_to_english_for_want_of_a_table(words: str) -> None:
    lines = (replace(LINES[0], text=words), *LINES[1:3], replace(LINES[3], text=words))
    language = main_language([words])
    assert language != "und"
    assert reason_of(covered=replace(COVERED, lines=lines, language=language)) is Fault.WRONG_LANGUAGE


def test_headings_alone_do_not_make_the_language() -> None:
    drifted = GOOD.replace("## Objective", "## Цель").replace("## Open work", "## Осталось сделать")
    assert reason_of(drifted, RUSSIAN) is Fault.WRONG_LANGUAGE


def test_a_language_that_the_model_speaks_to_the_users_passes() -> None:
    english = replace(
        LINES[3], text="I have moved the invoice to its folder. Shall I close the ticket as well?"
    )
    assert reason_of(covered=replace(RUSSIAN, lines=(*RUSSIAN_LINES[:3], english))) is None


def test_a_summary_in_the_language_of_the_conversation_passes() -> None:
    notes = (
        "## Цель\n- [1] Ана просит перенести счёт INV-2041 в /srv/billing/2024\n\n## Действующие ограничения\n"
        '- [1] никогда не писать об этом клиенту\n\n## Сделано\n- move(id="INV-2041") -> ok: moved [2-3]'
    )
    assert reason_of(notes, RUSSIAN) is None


def test_a_summary_that_quotes_another_language_passes() -> None:
    notes = (
        '## Сделано\n- счёт INV-2041 перенесён в папку, ответ был: "the file has been moved and it is in the archive"\n'
        "- осталось решить, закрывать ли заявку, о которой спросил помощник; путь /srv/billing/2024\n"
        "- [1] никогда не писать об этом клиенту"
    )
    assert reason_of(notes, RUSSIAN) is None


def test_either_language_of_a_conversation_in_two_passes() -> None:
    german = RenderedLine(
        5,
        LineKind.TEXT,
        Role.USER,
        "Ben (user)",
        "Bitte schließe auch das Ticket, wenn die Rechnung an ihrem Platz ist.",
        4,
    )
    both = replace(COVERED, lines=(*LINES, german), language="de")
    assert reason_of(covered=both) is None


def test_no_language_is_wrong_when_the_conversation_has_none() -> None:
    assert reason_of(covered=replace(RUSSIAN, language="und")) is None


def test_a_done_claim_that_cites_an_unread_message_is_refused() -> None:
    assert reason_of(GOOD.replace("[2, 3]", "[57]")) is Fault.CLAIMS_WITHOUT_EVIDENCE


@pytest.mark.parametrize("cited", ["[2]", "[2-3]", "[2, 3]", "`rows[57]` [3]", '"see [57]" [3]'])
def test_a_done_claim_that_cites_what_was_read_stays_as_it_is(cited: str) -> None:
    notes = GOOD.replace("[2, 3]", cited)
    assert judge_summary(Draft(notes, 120), COVERED).text == notes
    assert reason_of(notes) is None


@pytest.mark.parametrize(
    ("cited", "kept"),
    [
        ("[2, 57]", "[2]"),
        ("[2-57]", "[2]"),
        ("[2] [57]", "[2]"),
        ("[57, 2-3]", "[2-3]"),
        ("", " (unverified)"),
        ("`[2]`", "`[2]` (unverified)"),
    ],
)
def test_a_citation_of_what_was_not_read_goes_and_a_claim_without_any_is_marked(
    cited: str, kept: str
) -> None:
    verdict = judge_summary(Draft(GOOD.replace("[2, 3]", cited), 120), COVERED)
    assert verdict.accepted
    assert verdict.text == GOOD.replace("[2, 3]", kept).replace("  (", " (")


def test_one_made_up_claim_is_refused_however_many_are_true() -> None:
    notes = GOOD.replace("[2, 3]", "[2, 3]\n- the mail was sent to the office [57]")
    verdict = judge_summary(Draft(notes, 120), COVERED)
    assert verdict.reason is Fault.CLAIMS_WITHOUT_EVIDENCE
    assert verdict.told == ("the mail was sent to the office (unverified)",)


def test_the_mark_speaks_the_language_of_the_conversation() -> None:
    notes = "## Цель\n- [1] Ана просит перенести счёт INV-2041 в /srv/billing/2024\n\n## Действующие ограничения\n- [1] никогда не писать об этом клиенту\n\n## Сделано\n- счёт перенесён"
    verdict = judge_summary(Draft(notes, 120), RUSSIAN)
    assert verdict.accepted
    assert verdict.text == f"{notes} (не подтверждено)"


def test_a_marked_claim_is_not_marked_twice() -> None:
    once = judge_summary(Draft(GOOD.replace(" [2, 3]", ""), 120), COVERED).text
    assert judge_summary(Draft(once, 120), replace(COVERED, previous=GOOD)).text == once


def test_tables_code_and_other_sections_claim_nothing() -> None:
    notes = f"{GOOD}\n\n## Work done\n| WP1 | move |\n|-----|------|\n```\nmake move\n```"
    assert judge_summary(Draft(notes, 120), COVERED).text == notes


def test_a_first_summary_cannot_cite_what_came_before_it() -> None:
    later = tuple(replace(line, seq=line.seq + 40) for line in LINES)
    first = replace(COVERED, lines=later)
    assert reason_of(covered=first) is Fault.CLAIMS_WITHOUT_EVIDENCE
    assert reason_of(covered=replace(first, previous=GOOD)) is None


def test_a_summary_without_the_names_that_users_said_is_refused() -> None:
    vague = (
        "## Objective\n- Ana wants an invoice moved to a folder and does not want any mail about it at all"
    )
    assert reason_of(vague) is Fault.IDENTIFIERS_LOST


def test_names_that_only_tools_said_need_not_be_kept() -> None:
    noisy = RenderedLine(
        3, LineKind.RESULT, Role.TOOL, "move", "A-1 B-2 C-3 D-4 E-5 F-6 /x/y/z.py /x/y/w.py", 2
    )
    assert reason_of(covered=replace(COVERED, lines=(*LINES, noisy))) is None


PREVIOUS = "## Constraints in force\n- stay below $4,200 and on release v7.3.1\n\n## Open work\n- OPS-881 waits for Ben"


def test_a_summary_that_forgets_what_the_last_one_protects_is_refused() -> None:
    assert reason_of(covered=replace(COVERED, previous=PREVIOUS)) is Fault.IDENTIFIERS_LOST


def test_a_summary_that_carries_what_the_last_one_protects_passes() -> None:
    notes = f"{GOOD}\n- ticket OPS-881 waits for Ben; v7.3.1; at most $4,200"
    assert reason_of(notes, replace(COVERED, previous=PREVIOUS)) is None


def test_finished_work_of_the_last_summary_may_be_forgotten() -> None:
    done = "## Work done\n- closed OPS-881, OPS-882, OPS-883 [1]"
    assert reason_of(covered=replace(COVERED, previous=done)) is None


def test_how_many_names_must_stay_is_a_setting() -> None:
    lax = GateSettings(min_protected=0.0)
    assert judge_summary(Draft(GOOD, 120), replace(COVERED, previous=PREVIOUS), lax).accepted


@given(st.text(max_size=300), st.integers(0, 2000), st.sampled_from(["stop", "length", None]))
def test_a_refusal_names_its_reason_and_no_text(text: str, tokens: int, finish: str | None) -> None:
    verdict = judge_summary(Draft(text, tokens, finish), COVERED)
    assert verdict.accepted == (verdict.reason is None)
    assert all(isinstance(number, int | float) for number in verdict.numbers.values())


@given(st.integers(901, 10_000))
def test_nothing_too_large_is_ever_accepted(tokens: int) -> None:
    assert not judge_summary(Draft(GOOD, tokens, "stop"), COVERED).accepted


def recorded_summaries() -> list[tuple[Draft, Covered]]:
    """What a model wrote of a recorded session, with what it read."""
    entries = read_jsonl(session_file())
    found: list[tuple[Draft, Covered]] = []
    bodies = []
    for entry in entries:
        if entry["type"] == "message":
            bodies.append(entry["message"])
        elif entry["type"] == "compaction":
            lines = render_transcript(to_messages(bodies))
            text = entry["summary"]
            covered = Covered(lines, entry["tokensBefore"], language="en")
            found.append((Draft(text, count_text(text), "stop"), covered))
    return found


@pytest.mark.data
def test_what_a_model_really_wrote_is_accepted_with_the_rules_that_it_lost() -> None:
    recorded = recorded_summaries()
    assert len(recorded) == 2
    mended = [
        mend_summary(draft, covered, budget_tokens=2_000, count=count_text) for draft, covered in recorded
    ]
    assert [one.verdict.reason for one in mended] == [None, None]
    assert all(one.rules and not one.dropped for one in mended)


@pytest.mark.data
def test_what_a_model_wrote_of_another_conversation_is_refused() -> None:
    (draft, _), _ = recorded_summaries()
    words = read_jsonl(data_dir("tau_airline") / "trajectories.jsonl")[3]["messages"]
    other = Covered(render_transcript(to_messages(words)), 100_000, language="en")
    assert judge_summary(draft, other).reason is Fault.MADE_UP

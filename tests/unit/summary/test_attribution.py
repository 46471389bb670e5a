"""Who is credited in a summary: whoever said it, whatever the summarizer wrote."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.choosing import find_points
from context.summary.gate import Covered, Draft, judge_summary
from context.summary.sections import SummaryDocument
from context.summary.voice import credit_speakers, read_credits
from context.types import Role

PEOPLE = ("Ana (user)", "Bo (user)", "Chidi of the depot (user)", "assistant")
seqs = st.integers(1, 30)
labels = st.sampled_from(PEOPLE)


def said(seq: int, who: str, text: str = "The invoices of March are late.") -> RenderedLine:
    role = Role.ASSISTANT if who == "assistant" else Role.USER
    return RenderedLine(seq, LineKind.TEXT, role, who, text, seq)


CHAT = (
    said(1, "Ana (user)", "I want the invoices of March before Friday. They must never leave the office."),
    said(2, "Bo (user)", "I will take the customs forms, and Ana takes the invoices to the harbour."),
    said(3, "assistant", "Noted: the invoices are due on Friday, and the forms are with Bo now."),
)


def credit(text: str, lines: Sequence[RenderedLine], previous: str = "") -> str:
    return credit_speakers(SummaryDocument(text), lines, SummaryDocument(previous)).text


def test_a_point_in_another_name_is_credited_to_who_said_it() -> None:
    wrong = "## Decisions\n- [2] Ana (user): takes the customs forms\n- **[3]** Bo (user): due on Friday"
    credited = credit(wrong, CHAT)
    assert credited == (
        "## Decisions\n- [2] Bo (user): takes the customs forms\n- **[3]** assistant: due on Friday"
    )


def test_a_name_without_its_role_is_the_same_person() -> None:
    text = "- [1] Ana: never leave the office"
    assert credit(text, CHAT) == text


def test_who_is_spoken_about_stays_who_is_spoken_about() -> None:
    text = "- Ana takes the invoices to the harbour [2]\n- Ana (user): brings them by boat [2]"
    assert credit(text, CHAT) == text


def test_a_label_that_is_nobody_is_left_alone() -> None:
    text = "- [2] Note: the forms are with customs"
    assert credit(text, CHAT) == text


def test_older_notes_say_who_said_what_is_no_longer_read() -> None:
    previous = "## Constraints in force\n- [1] Ana (user): never leave the office"
    later = (said(8, "Bo (user)", "All clear."),)
    credited = credit("- [1] Bo (user): never leave the office", later, previous)
    assert credited == "- [1] Ana (user): never leave the office"


def test_the_gate_stores_what_is_credited_rightly() -> None:
    draft = (
        "## Objective\n- [1] Bo (user): wants the invoices of March before Friday\n"
        "## Open work\n- [2] Ana (user): takes the customs forms while the invoices go to the harbour"
    )
    verdict = judge_summary(Draft(draft, 40, "stop"), Covered(CHAT, 400, None, "en"))
    assert verdict.accepted
    assert [(seq, who) for seq, who, _ in read_credits(verdict.text)] == [(1, "Ana (user)"), (2, "Bo (user)")]


@given(speakers=st.dictionaries(seqs, labels, min_size=1), told=st.lists(st.tuples(seqs, labels)))
def test_every_point_that_cites_a_message_names_its_speaker(
    speakers: dict[int, str], told: list[tuple[int, str]]
) -> None:
    lines = [said(seq, who) for seq, who in speakers.items()]
    summary = "\n".join(f"- [{seq}] {who}: something was said" for seq, who in told)
    credited = credit(summary, lines)
    present = set(speakers.values())
    for (seq, who), (_, label, _) in zip(told, read_credits(credited), strict=True):
        assert label == (speakers[seq] if seq in speakers and who in present else who)
    assert credit(credited, lines) == credited


@given(st.text())
def test_no_text_is_lost_or_fails(text: str) -> None:
    assert credit(text, CHAT).count("\n") == text.count("\n")


def points_of(text: str) -> str:
    return "\n".join(point.text for point in find_points([said(1, "Ana (user)", text), *CHAT[1:]]))


def test_what_a_message_quotes_is_not_its_writers_own() -> None:
    told = points_of("> We never ship on Mondays. The depot is closed then.\n\nI disagree: it opens at nine.")
    assert "[1] Ana (user): > We never ship on Mondays." in told
    assert "[1] Ana (user): > The depot is closed then." in told
    assert "[1] Ana (user): I disagree: it opens at nine." in told


def test_a_prompt_in_a_block_of_code_is_no_quote() -> None:
    told = points_of("Run this today:\n```\n> make invoices\n```\nThen tell Bo about the harbour.")
    assert "make invoices" not in told
    assert "tell Bo about the harbour" in told

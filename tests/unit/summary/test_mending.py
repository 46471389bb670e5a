# ruff: noqa: E501 - notes and transcripts
"""A draft is mended without a call: made-up points go, rules and names come back with their lines."""

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.gate import Covered, Draft, Fault, judge_summary
from context.summary.mending import Mended, mend_summary
from context.tokens import count_text
from context.types import Role


def line(seq: int, text: str, role: Role = Role.USER) -> RenderedLine:
    return RenderedLine(seq, LineKind.TEXT, role, str(role), text, seq)


DECISIONS = tuple(
    line(n + 1, f"Decision {n}: depot {n} opens at {n % 24}:00 and Maria keeps key K-{n}.") for n in range(30)
)
FOUR = "## Decisions and reasons\n" + "\n".join(
    f"- Decision {n}: depot {n} opens at {n}:00 and Maria keeps key K-{n} [{n + 1}]" for n in range(4)
)
RULES = (
    line(
        1,
        "Delete old backups under /srv/backup. You must never delete anything from 2024, and always ask me first.",
    ),
    line(2, "Backups under /srv/backup were listed.", Role.ASSISTANT),
)


def mend(
    text: str, lines: tuple[RenderedLine, ...], *, tokens: int = 2_600, previous: str | None = None
) -> Mended:
    draft = Draft(text, count_text(text), "stop")
    covered = Covered(lines, tokens, previous, "en")
    return mend_summary(draft, covered, budget_tokens=1_200, count=count_text)


def test_four_of_thirty_decisions_do_not_pass() -> None:
    draft = Draft(FOUR, count_text(FOUR), "stop")
    assert judge_summary(draft, Covered(DECISIONS, 2_600, language="en")).reason is Fault.IDENTIFIERS_LOST


def test_lost_names_come_back_with_their_lines() -> None:
    mended = mend(FOUR, DECISIONS)
    assert mended.verdict.accepted
    assert mended.names == 26
    assert "- [30] user: Decision 29: depot 29 opens at 5:00 and Maria keeps key K-29." in mended.verdict.text


def test_a_rule_that_the_draft_has_nowhere_comes_back_word_for_word_with_its_number() -> None:
    mended = mend(
        "## Objective\n- the user wants old backups under /srv/backup deleted [1]", RULES, tokens=900
    )
    assert mended.verdict.accepted
    assert mended.rules == 1
    point = "- [1] user: You must never delete anything from 2024, and always ask me first."
    assert f"## Constraints in force\n{point}" in mended.verdict.text


def test_one_made_up_point_of_many_goes_and_the_rest_stays() -> None:
    points = [f"- Decision {n}: depot {n} opens at {n % 24}:00, key K-{n} [{n + 1}]" for n in range(20)]
    text = "## Decisions and reasons\n" + "\n".join([*points, "- Heinrich Baumgartner keeps key ZX-991 [3]"])
    mended = mend(text, DECISIONS)
    assert (mended.verdict.reason, mended.dropped) == (None, 1)
    assert "Baumgartner" not in mended.verdict.text


def test_many_made_up_points_are_not_mended() -> None:
    points = [f"- Decision {n}: depot {n} opens at {n % 24}:00, key K-{n} [{n + 1}]" for n in range(12)]
    made_up = [f"- key ZX-{n}99 is lost [3]" for n in range(4)]
    mended = mend("## Decisions and reasons\n" + "\n".join([*points, *made_up]), DECISIONS)
    assert mended.verdict.reason is Fault.MADE_UP


def test_an_invented_line_of_the_last_summary_is_not_carried_once_it_is_gone() -> None:
    """A refused point never reaches the notes that the next ones are carried from."""
    points = [f"- Decision {n}: depot {n} opens at {n % 24}:00, key K-{n} [{n + 1}]" for n in range(20)]
    invented = "## Open work\n- Baumgartner must return key ZX-991"
    first = mend("## Decisions and reasons\n" + "\n".join(points) + "\n\n" + invented, DECISIONS)
    second = mend(FOUR, DECISIONS, previous=first.verdict.text)
    assert "ZX-991" not in second.verdict.text

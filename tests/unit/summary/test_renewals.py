# ruff: noqa: E501, RUF001 - statements in several scripts

import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.summarize import summarize
from context.summary.prompt import SummaryInput
from context.summary.renewals import renews
from context.summary.sections import Section, SummaryDocument
from context.summary.user_rules import find_rules
from context.types import Role

ORDERS = [
    ("en", "Please send me the invoices always as PDF.", "From now on send invoices as CSV, my accountant prefers that."),
    ("en", "Write the stock lists in Word, always.", "Stock lists please in Excel from today, not in Word any more."),
    ("de", "Schick mir Übersichten bitte immer per Mail.", "Ab jetzt Übersichten nicht mehr per Mail, sondern nur im Chat."),
    ("es", "Los recibos mándamelos siempre en PDF.", "A partir de ahora los recibos en CSV, no en PDF."),
    ("fr", "Envoyez-moi les devis toujours en PDF.", "Désormais, les devis en CSV et plus en PDF."),
    ("zh", "发票请都发PDF格式。", "以后发票改成CSV格式，会计要用。"),
]  # fmt: skip


def lines(*said: str) -> list[RenderedLine]:
    return [
        RenderedLine(seq, LineKind.TEXT, Role.USER, "user", text, seq) for seq, text in enumerate(said, 1)
    ]


def constraints(language: str, said: list[RenderedLine], previous: str | None = None) -> str:
    asked = SummaryInput(tuple(said), previous_summary=previous, budget_tokens=400, language=language)
    return "\n".join(SummaryDocument(summarize(asked)).sections.get(Section.CONSTRAINTS, ()))


@pytest.mark.parametrize(("language", "before", "now"), ORDERS)
def test_an_order_said_anew_stands_alone(language: str, before: str, now: str) -> None:
    between = [f"{before[:2]} {n}: {now[-12:]} {n * 7} {before[3:9]}" for n in range(9)]
    found = constraints(language, lines(before, *between, now))
    assert now in found
    assert before not in found


@pytest.mark.parametrize(
    ("language", "before", "now"),
    [
        ("en", "Always ask before you charge our company card.", "From now on you may charge up to 200 EUR without asking."),
        ("de", "Buchungen bitte immer erst mit Jonas klären.", "Ab jetzt kannst du Buchungen unter 50 Euro allein machen."),
    ],
)  # fmt: skip
def test_a_permission_from_now_on_stands_beside_the_order(language: str, before: str, now: str) -> None:
    found = constraints(
        language, lines(before, *[f"It rained on day {n}, so we talked." for n in range(9)], now)
    )
    assert before in found
    assert now in found


def test_an_order_of_the_summary_before_is_replaced_too() -> None:
    language, before, now = ORDERS[0]
    previous = f"## Constraints in force\n- [1] user: {before}\n- [2] user: Never call me at night."
    found = constraints(language, lines(*["It rained a lot that day, and we talked."] * 9, now), previous)
    assert now in found
    assert before not in found
    assert "Never call me at night." in found


@pytest.mark.parametrize(
    ("order", "later"),
    [
        ("Send invoices to Ana always.", "From now on send photos to Ana."),
        ("Always send photos of receipts to Ana.", "From now on send photos of the garden to Bo."),
        ("Never delete files.", "From now on delete temporary files instead of archiving."),
        ("Always answer in short sentences.", "I feel better from now on."),
        ("Always send the invoices as PDF.", "Shall I send the invoices as CSV from now on?"),
    ],
)
def test_words_of_something_else_replace_nothing(order: str, later: str) -> None:
    assert not renews(later, order)


def test_no_summary_is_asked_for_a_rule_that_was_replaced() -> None:
    said = lines("Always send the invoices as PDF.", "From now on, always send the invoices as CSV.")
    assert [rule.seq for rule in find_rules(said)] == [2]

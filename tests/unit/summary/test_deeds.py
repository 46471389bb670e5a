"""Claims of work done: a message that offers, asks or plans proves nothing, one that reports does."""

import pytest

from benchmarks.gate_talks import TALKS
from context.conversation.transcript import LineKind, RenderedLine
from context.summary.gate import Covered, ground_notes
from context.summary.sections import Section, SummaryDocument, section_titles
from context.summary.source import Doubt
from context.types import Role

OFFER = (
    "IFOYYZ was created more than 24 hours ago and is basic economy. It cannot be cancelled for a refund. "
    "NQNU5R is a business ticket, which can be cancelled at any time for a refund. Would you like to proceed "
    "with cancelling NQNU5R? I can transfer you to a human agent, too."
)
AIRLINE = (
    (Role.USER, "I want to cancel IFOYYZ and NQNU5R, my plans changed. Don't send me to another agent."),
    (Role.ASSISTANT, OFFER),
    (Role.USER, "Let me think. I'm going to try the upgrade of XEWRD9 to economy tomorrow."),
    (Role.ASSISTANT, "I looked at XEWRD9. The seats were reserved, but the upgrade failed."),
)


def doubts(language: str, said: tuple[tuple[Role, str], ...], claim: str) -> frozenset[Doubt]:
    lines = [
        RenderedLine(seq, LineKind.TEXT, role, role.value, text, seq)
        for seq, (role, text) in enumerate(said, 1)
    ]
    notes = f"## {section_titles(language)[Section.DONE]}\n- {claim}"
    [point] = ground_notes(SummaryDocument(notes), Covered(lines, 1_000, language=language))
    return point.doubts


def talk(language: str) -> tuple[tuple[Role, str], ...]:
    return tuple(((Role.USER, Role.ASSISTANT)[place % 2], text) for place, text in enumerate(TALKS[language]))


@pytest.mark.parametrize(
    "claim",
    [
        "NQNU5R was cancelled and the refund was issued [2]",
        "The user confirmed the cancellation of NQNU5R and it went through [2]",
        "The user was transferred to a human agent [2]",
        "The upgrade of XEWRD9 to economy worked [3]",
        "XEWRD9 was upgraded to economy [4]",
    ],
)
def test_an_offer_a_plan_and_a_failure_prove_no_deed(claim: str) -> None:
    assert Doubt.UNDONE in doubts("en", AIRLINE, claim)


@pytest.mark.parametrize(
    "claim",
    [
        "XEWRD9 was looked at [4]",
        "Seats of XEWRD9 were reserved [4]",
        "The upgrade of XEWRD9 failed [4]",
        "The seats were reserved [3]",
    ],
)
def test_what_a_message_or_the_next_reports_is_a_deed(claim: str) -> None:
    assert Doubt.UNDONE not in doubts("en", AIRLINE, claim)


@pytest.mark.parametrize(
    ("language", "claim"),
    [
        ("en", "The glass plates were wrapped and insured [3]"),
        ("en", "The keys of the new hall were collected by Martha [5]"),
        ("de", "Die Kisten wurden verladen und nach Kassel gefahren [2]"),
        ("fr", "Les cartons ont été chargés et livrés à Nantes [2]"),
        ("es", "Las cajas fueron cargadas y llevadas a Zaragoza [2]"),
        ("pt", "As caixas foram carregadas e levadas para Braga [2]"),
        ("it", "Le scatole sono state caricate e portate a Trieste [2]"),
        ("ru", "Коробки погружены и увезены в Тверь [2]"),
    ],
)
def test_a_deed_in_words_that_no_list_has_is_doubted_too(language: str, claim: str) -> None:
    assert Doubt.UNDONE in doubts(language, talk(language), claim)


@pytest.mark.parametrize(
    ("language", "claim"),
    [
        ("en", "Mr. Okafor was written to and he confirmed the time [6]"),
        ("en", "The second trip was put on 17 March [7]"),
        ("de", "Herr Lindner wurde angeschrieben und bestätigte die Uhrzeit [6]"),
        ("de", "Die zweite Fahrt ist für den 17. März gebucht [8]"),
        ("fr", "Monsieur Delmas a confirmé l'heure [6]"),
        ("es", "El señor Ibarra confirmó la hora [6]"),
        ("pt", "A segunda viagem foi reservada para 17 de março [8]"),
        ("it", "Il secondo viaggio è stato prenotato per il 17 marzo [8]"),
        ("ru", "Второй рейс забронирован на 17 марта [8]"),
        ("zh", "第二趟已预订在3月17日 [8]"),
        ("ja", "二回目は3月17日に予約しました [8]"),
        ("ar", "تم حجز الرحلة الثانية يوم 17 [8]"),
    ],
)
def test_a_deed_that_was_told_stands_in_every_language(language: str, claim: str) -> None:
    assert Doubt.UNDONE not in doubts(language, talk(language), claim)

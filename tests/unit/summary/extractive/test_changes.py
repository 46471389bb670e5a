# ruff: noqa: E501, RUF001 - statements in several scripts

import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.turn_points import Point, with_changes
from context.summary.sections import Section
from context.types import Role


def texts(*said: tuple[str, str]) -> list[str]:
    points = []
    for seq, (who, text) in enumerate(said, 1):
        line = RenderedLine(10 * seq, LineKind.TEXT, Role.USER, who, text, seq)
        points.append(Point.said(line, Section.PEOPLE, text, 1.0, 0))
    return [point.text for point in with_changes(points)]


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        ("The rent is $1,200 a month.", "The rent is now $1,350 a month.", "$1,200 [10] -> $1,350 [20]"),
        ("Our deadline for the grant is 12 May.", "Our deadline for the grant is 19 May.", "12 May [10] -> 19 May [20]"),
        ("The release is planned for version 4.2.", "The release is now planned for version 4.3.", "4.2 [10] -> 4.3 [20]"),
        ("We have 14 guests for the dinner.", "We have 17 guests for the dinner now.", "14 [10] -> 17 [20]"),
        ("Die Miete beträgt 1.200 Euro im Monat.", "Die Miete beträgt jetzt 1.350 Euro im Monat.", "1.200 Euro [10] -> 1.350 Euro [20]"),
        ("Der Termin beim Arzt ist am 12. Mai.", "Der Termin beim Arzt ist nun am 19. Mai.", "12. Mai [10] -> 19. Mai [20]"),
        ("La réunion commence à 10:00.", "La réunion commence maintenant à 11:30.", "10:00 [10] -> 11:30 [20]"),
        ("El alquiler cuesta 900 euros al mes.", "El alquiler cuesta ahora 950 euros al mes.", "900 euros [10] -> 950 euros [20]"),
        ("Срок сдачи отчёта 3 марта.", "Срок сдачи отчёта теперь 9 марта.", "3 марта [10] -> 9 марта [20]"),
        ("工作室的房租是每月1200元。", "工作室的房租现在是每月1350元。", "1200元 [10] -> 1350元 [20]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("second", ["Ana (user)", "Bo (user)"])
def test_a_word_of_change_tells_the_newest_value_whoever_speaks(
    before: str, now: str, change: str, second: str
) -> None:
    if before.startswith("Our deadline") and second != "Ana (user)":
        now = now.replace(" is 19", " moved to 19")
    assert texts(("Ana (user)", before), (second, now)) == [f"[20] {second}: {now} ({change})"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The flight HAT023 costs $364 a seat.", "The flight HAT134 costs $580 a seat."),
        ("Here comes part 20 of the long story.", "Here comes part 21 of the long story."),
        ("I ran through the park on 12 May.", "I ran through the park on 13 May."),
        ("The ticket of Carla costs 20 euros now.", "The ticket of Dora costs 30 euros now."),
        ("Ich war am 3. Mai beim Zahnarzt.", "Ich war am 9. Mai beim Zahnarzt."),
        ("Ответ на вопрос 3 записан.", "Ответ на вопрос 4 записан."),
        ("Lunch costs 9 euros and dinner 20 euros now.", "Lunch costs 9 euros and dinner 25 euros now."),
    ],
)
def test_two_things_stay_two_lines(one: str, other: str) -> None:
    assert len(texts(("Ana (user)", one), ("Ana (user)", other))) == 2


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        ("Marlow wants £1,395 for the oak shelves.", "I spoke to Marlow: they come down to £1,340 for the oak shelves if I pay on delivery.", "£1,395 [10] -> £1,340 [20]"),
        ("The choir has a concert on 12 June at the Corn Hall.", "We moved the concert to 19 June.", "12 June [10] -> 19 June [20]"),
        ("Die Spedition Kranz verlangt 1.480 Euro für den Umzug.", "Spedition Kranz hat neu gerechnet: 1.610 Euro für den Umzug wegen der Treppe.", "1.480 Euro [10] -> 1.610 Euro [20]"),
        ("Die Übergabe ist am 3. Juli um 10:00 Uhr.", "Die Übergabe wurde verschoben auf den 10. Juli.", "3. Juli [10] -> 10. Juli [20]"),
        ("El catering Olivares pide 4.200 euros por el banquete.", "El catering Olivares sube a 4.550 euros por el banquete, por el marisco.", "4.200 euros [10] -> 4.550 euros [20]"),
        ("木工说书柜要8600元。", "木工重新报价，书柜现在要9300元，因为木料涨价。", "8600元 [10] -> 9300元 [20]"),
        ("空调安装定在5月14日上午。", "空调安装改到5月21日了。", "5月14日 [10] -> 5月21日 [20]"),
    ],
)  # fmt: skip
def test_a_change_in_other_words_is_told(before: str, now: str, change: str) -> None:
    assert texts(("Ana (user)", before), ("Ana (user)", now)) == [f"[20] Ana (user): {now} ({change})"]


def test_the_second_change_of_a_thing_names_the_value_between() -> None:
    said = (
        "Marlow wants £1,260 for the oak shelves.",
        "Marlow sent a new quote for the oak shelves: £1,395, since timber went up.",
        "Marlow now goes down to £1,340 for the oak shelves.",
    )
    assert texts(*(("Ana (user)", one) for one in said)) == [
        f"[30] Ana (user): {said[2]} (£1,395 [20] -> £1,340 [30])"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The small room upstairs costs 60 euros a night.", "The big room upstairs now costs 80 euros a night."),
        ("The electrician wants £640 for the kitchen sockets.", "The plumber wants £700 for the kitchen sockets now."),
        ("The hall in Kirchberg costs 900 euros.", "The deposit for the hall in Kirchberg is now 200 euros."),
        ("The Berlin marathon is on 12 May.", "We moved to Berlin on 3 June."),
        ("Das kleine Zimmer oben kostet 60 Euro.", "Das große Zimmer oben kostet jetzt 80 Euro."),
        ("La habitación pequeña de arriba cuesta 60 euros.", "La habitación grande de arriba cuesta ahora 80 euros."),
        ("水电师傅报价5200元。", "木工师傅现在报价5600元。"),
    ],
)  # fmt: skip
def test_things_that_share_a_wording_are_not_exchanged(one: str, other: str) -> None:
    assert len(texts(("Ana (user)", one), ("Ana (user)", other))) == 2


def test_a_move_that_may_mean_two_things_is_none() -> None:
    said = (
        "The concert of the choir is on 12 June.",
        "The concert of the band is on 14 June.",
        "We moved the concert to 19 June.",
    )
    assert len(texts(*(("Ana (user)", one) for one in said))) == 3


def test_the_values_of_two_people_are_no_change() -> None:
    assert (
        len(texts(("Ana (user)", "I paid $20 for my ticket."), ("Bo (user)", "I paid $25 for my ticket.")))
        == 2
    )


def test_the_number_of_a_message_is_nobodys_value() -> None:
    """An answer stands behind its message's number."""
    before = (
        "How was the talk with the movers from town? -> [14] assistant: The talk with the movers was fine."
    )
    now = "How was the talk with the movers from town? -> [24] assistant: The talk with the movers was fine now."
    assert texts(("Ana (user)", before), ("Ana (user)", now)) == [
        f"[10] Ana (user): {before}",
        f"[20] Ana (user): {now}",
    ]

# ruff: noqa: E501, RUF001 - sentences in several scripts
"""What a point relates otherwise than its source: values, signs, outcomes, decisions and speakers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.extractive_summaries import to_messages
from context.conversation.transcript import render_transcript
from context.summary.grounding import ground_points
from context.summary.sections import SummaryDocument
from context.summary.source import Doubt, Source

HARBOUR = (
    ("Ida", "For the regatta, Jens paid 310 for the buoys and Malte paid 240 for the flags."),
    (
        "Ole",
        "I tried to order the tents online but the payment failed. The club house cannot hold more guests.",
    ),
    ("Ida", "I would prefer the older boats. Let us decide after the meeting of the crew."),
)
HAFEN = (
    ("Ida", "Die Fähre Nord hat 40 Plätze, die Fähre Süd hat 65 Plätze."),
    ("Ole", "Der Lotse kann vor dem 14. März nicht kommen. Ich bin gegen die neue Brücke."),
    ("Ida", "Die Anmeldung ist fehlgeschlagen. Über die neue Brücke entscheiden wir erst im Herbst."),
)
CHINESE = (
    ("老周", "北京的仓库有六十箱茶叶，上海的仓库有九十箱茶叶。"),
    ("小林", "上海的车周五不能发货，我觉得先发北京的货比较好。"),
)


def doubts(
    talk: tuple[tuple[str, str], ...], point: str, section: str = "People and who said what"
) -> set[Doubt]:
    bodies = [{"role": "user", "name": who, "content": said} for who, said in talk]
    lines = render_transcript(to_messages(bodies))
    [found] = ground_points(SummaryDocument(f"## {section}\n- {point}"), Source(lines))
    return set(found.doubts)


@pytest.mark.parametrize(
    ("talk", "section", "point"),
    [
        (HARBOUR, "People and who said what", "Malte paid 240 for the flags and Jens 310 for the buoys [1]"),
        (
            HARBOUR,
            "People and who said what",
            "Jens paid for the buoys, Malte for the flags: 310 and 240 [1]",
        ),
        (HARBOUR, "Open work", "Ole tried to order the tents, the payment failed [2]"),
        (HARBOUR, "People and who said what", "The club house cannot hold more guests [2]"),
        (HARBOUR, "People and who said what", "Ida would prefer the older boats [3]"),
        (HARBOUR, "Open work", "The boats are decided after the meeting of the crew [3]"),
        (
            HAFEN,
            "People and who said what",
            "Die Fähre Süd hat 65 Plätze und die Fähre Nord hat 40 Plätze [1]",
        ),
        (HAFEN, "People and who said what", "Vor dem 14. März kann der Lotse nicht kommen [2]"),
        (CHINESE, "People and who said what", "上海的仓库有九十箱茶叶，北京的仓库有六十箱茶叶 [1]"),
        (CHINESE, "People and who said what", "小林觉得先发北京的货比较好 [2]"),
    ],
)
def test_the_same_relations_in_another_order_stand(
    talk: tuple[tuple[str, str], ...], section: str, point: str
) -> None:
    assert doubts(talk, point, section) == set()


@pytest.mark.parametrize(
    ("talk", "section", "point", "doubt"),
    [
        (HARBOUR, "People and who said what", "Jens paid 240 for the buoys and Malte 310 for the flags [1]", Doubt.SAYING),
        (HARBOUR, "People and who said what", "Malte paid 310 for the buoys and Jens 240 for the flags [1]", Doubt.SAYING),
        (HARBOUR, "Work done", "Ole tried to order the tents and the payment worked [2]", Doubt.OPPOSITE),
        (HARBOUR, "Work done", "Ole ordered the tents online [2]", Doubt.UNDONE),
        (HARBOUR, "People and who said what", "The club house can hold more guests [2]", Doubt.OPPOSITE),
        (HARBOUR, "People and who said what", "Ole would prefer the older boats [3]", Doubt.SAYING),
        (HARBOUR, "Decisions and reasons", "They decided for the older boats [3]", Doubt.UNDONE),
        (HAFEN, "People and who said what", "Die Fähre Süd hat 40 Plätze, die Fähre Nord 65 [1]", Doubt.SAYING),
        (HAFEN, "People and who said what", "Der Lotse kann vor dem 14. März kommen [2]", Doubt.OPPOSITE),
        (HAFEN, "People and who said what", "Ida ist gegen die neue Brücke [2]", Doubt.SAYING),
        (HAFEN, "Work done", "Die Anmeldung hat geklappt [3]", Doubt.UNDONE),
        (HAFEN, "Decisions and reasons", "Die neue Brücke wurde beschlossen [3]", Doubt.UNDONE),
        (CHINESE, "People and who said what", "上海的仓库有六十箱茶叶，北京的仓库有九十箱茶叶 [1]", Doubt.SAYING),
        (CHINESE, "People and who said what", "上海的车周五可以发货 [2]", Doubt.OPPOSITE),
        (CHINESE, "People and who said what", "老周觉得先发北京的货比较好 [2]", Doubt.SAYING),
    ],
)  # fmt: skip
def test_other_relations_of_the_same_words_are_doubted(
    talk: tuple[tuple[str, str], ...], section: str, point: str, doubt: Doubt
) -> None:
    assert doubt in doubts(talk, point, section)


def test_a_decision_that_was_made_beside_an_open_one_stands() -> None:
    talk = (*HARBOUR, ("Ole", "We have decided for the older boats, and we decide about the crew tomorrow."))
    assert doubts(talk, "They decided for the older boats [4]", "Decisions and reasons") == set()


def test_what_succeeded_after_a_failure_stands() -> None:
    talk = (*HARBOUR, ("Ole", "I tried the payment of the tents again and now the payment worked."))
    assert doubts(talk, "The payment of the tents worked [4]", "Work done") == set()


NAMES = ("Orion", "Lyra", "Vega", "Atlas", "Rigel", "Altair")


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True),
    st.lists(st.integers(20, 9_000), min_size=4, max_size=4, unique=True),
)
def test_pairs_stand_in_any_order_and_no_two_may_exchange_their_values(
    names: list[str], values: list[int]
) -> None:
    pairs = [f"{name} holds {value} crates" for name, value in zip(names, values, strict=False)]
    talk = (("Ida", f"{', '.join(pairs)}."),)
    assert doubts(talk, f"{', '.join(reversed(pairs))} [1]") == set()
    swapped = [f"{names[0]} holds {values[1]} crates", f"{names[1]} holds {values[0]} crates"]
    assert Doubt.SAYING in doubts(talk, f"{', '.join(swapped)} [1]")

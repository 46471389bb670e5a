"""Questions for the whole of an artifact: it is named, and nothing in it is."""

import pytest

from context.artifact_plans.question import asks_for_all
from context.artifacts.types import ContentKind
from context.extract import PassageIndex
from context.focus import normalise

PROSE = PassageIndex.build("The pallets stand in hall seven. Rain is expected.\n" * 20, ContentKind.TEXT)
TALK = PassageIndex.build("Anna: The pallets are late.\nBoris: By two days.\n" * 20, ContentKind.TEXT)
TABLE = PassageIndex.build("port,crates\nRiga,117\nOslo,12\n" * 20, ContentKind.TABLE)


@pytest.mark.parametrize(
    ("question", "title", "index"),
    [
        ("", "", PROSE),
        ("Summarize the report", "", PROSE),
        ("What is the Harbour report about?", "Harbour report", PROSE),
        ("Summarize the Q3 report", "Q3 report", PROSE),
        ("Summarize the whole meeting.", "", TALK),
        ("What were the main discussion points of the meeting?", "", TALK),
        ("Give me an overview of the table", "", TABLE),
    ],
)
def test_a_question_that_names_the_artifact_alone_asks_for_all(
    question: str, title: str, index: PassageIndex
) -> None:
    assert asks_for_all(normalise(question), title, index)


@pytest.mark.parametrize(
    ("question", "title", "index"),
    [
        ("Summarize the meeting", "", PROSE),
        ("Summarize the report", "", TALK),
        ("Summarize what the report says of rain", "", PROSE),
        ("Summarize the Q4 report", "Q3 report", PROSE),
        ("Summarize the customs report", "Harbour report", PROSE),
        ("Who was in the meeting?", "", TALK),
        ("When is the meeting?", "", TALK),
        ("What was decided in the meeting?", "", TALK),
        ("What was not a point of the meeting?", "", TALK),
        ("How many points has the report?", "", PROSE),
        ("thanks", "", PROSE),
    ],
)
def test_a_question_for_one_thing_never_asks_for_all(question: str, title: str, index: PassageIndex) -> None:
    assert not asks_for_all(normalise(question), title, index)

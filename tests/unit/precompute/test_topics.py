"""Topics: what a text's own structure and its phrases name, each once, few."""

import json

from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.types import ContentKind
from context.extract import PassageIndex
from context.focus import focus_key
from context.precompute.predict import find_topics

LINE = "The pallet stands in the hall and waits for its papers, as pallets do on any day."


def topics(text: str, kind: ContentKind, limit: int = 10) -> list[str]:
    return find_topics(text, PassageIndex.build(text, kind), limit=limit)


def test_the_headings_of_a_document_are_its_topics() -> None:
    sections = ("Customs clearance", "Berths and cranes", "Night shift")
    text = "\n\n".join(f"## {title}\n\n" + "\n".join([LINE] * 8) for title in sections)
    assert topics(text, ContentKind.MARKDOWN)[:3] == list(sections)


def test_the_columns_of_a_table_are_its_topics() -> None:
    text = "port,arrival_date,crateCount\n" + "Riga,2024-05-01,117\n" * 40
    assert topics(text, ContentKind.TABLE)[:3] == ["port", "arrival date", "crate Count"]


def test_the_outer_keys_of_json_are_its_topics() -> None:
    value = {
        name: [{"id": number, "note": LINE} for number in range(30)] for name in ("orders", "open_bills")
    }
    assert topics(json.dumps(value), ContentKind.JSON)[:2] == ["orders", "open bills"]


def test_phrases_that_several_passages_use_are_topics_and_longer_ones_swallow_their_parts() -> None:
    filler = [f"Note {number}: {LINE}" for number in range(300)]
    for place in range(0, 24, 4):
        filler[place] = "They spoke of cold chain monitoring for a while and went on."
    found = topics("\n".join(filler), ContentKind.TEXT)
    assert "cold chain monitoring" in found
    assert "cold chain" not in found


def test_no_topic_is_asked_for_where_none_is_wanted() -> None:
    assert topics("# Customs\n\n" + LINE, ContentKind.MARKDOWN, limit=0) == []


@given(st.text(max_size=400), st.sampled_from(ContentKind), st.integers(0, 5))
def test_topics_are_few_and_distinct_and_never_the_general_focus(
    text: str, kind: ContentKind, limit: int
) -> None:
    keys = [focus_key(topic) for topic in topics(text, kind, limit)]
    assert len(keys) <= limit
    assert len(set(keys)) == len(keys)
    assert focus_key("") not in keys

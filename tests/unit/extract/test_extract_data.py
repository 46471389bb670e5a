"""Extracts of real meetings and real tool results."""

import json

import pytest

from context.artifacts.types import ContentKind
from context.extract import PassageIndex, extract
from tests.data import data_dir, read_jsonl

pytestmark = pytest.mark.data


def test_most_of_what_a_question_about_a_meeting_needs_is_shown() -> None:
    shares = []
    for meeting in read_jsonl(data_dir("qmsum") / "meetings.jsonl.gz")[:6]:
        turns = [f"{speaker}: {words}" for speaker, words in meeting["turns"]]
        text = "\n".join(turns)
        index = PassageIndex.build(text, ContentKind.TEXT)
        for asked in meeting["specific"]:
            shown = extract(text, index, asked["query"], budget_tokens=2_000).places
            lines = {line for place in shown for line in range(place.first - 1, place.last)}
            gold = {turn for first, last in asked["spans"] for turn in range(first, last + 1)}
            shares.append(len(gold & lines) / len(gold))
    assert sum(shares) / len(shares) > 0.5


def test_the_catalog_of_real_tools_is_searched_as_records() -> None:
    tools = read_jsonl(data_dir("docker_mcp") / "tools.jsonl")
    text = json.dumps(tools)
    index = PassageIndex.build(text, ContentKind.JSON)
    wanted = tools[137]["name"]
    made = extract(text, index, f"what does {wanted} do", budget_tokens=600)
    assert index.kind is ContentKind.JSON
    assert f'"{wanted}"' in made.text

"""Plans on a real routing guide: it fits the smallest models, and what is asked for stays in it."""

import json

import pytest

from context.catalog.compact import Ladder
from context.catalog.fit import fit_catalog
from context.catalog.read import read_catalog
from context.ranking.index import build_index
from context.ranking.rank import rank
from context.tool_plans.lexical import filter_lines, lexical_plan
from context.tool_plans.prompt import PlanMode, Planner
from tests.data import data_dir, read_jsonl

WEAK = Planner("openrouter/free")
GUIDES = ["routing_guide.json", "routing_guide_adr050.json"]

pytestmark = [pytest.mark.data, pytest.mark.parametrize("guide", GUIDES)]


def test_what_is_asked_for_stays_in_the_catalog_of_a_small_model(guide: str) -> None:
    folder = data_dir("helmdeck")
    catalog = read_catalog(json.loads((folder / guide).read_text()))
    ladder, index = Ladder(catalog), build_index(catalog)
    for row in read_jsonl(folder / "prompts.jsonl"):
        ranked = [entry.entry_id for entry in rank(index, row["query_tool_name_removed"]).entries]
        shown = fit_catalog(ladder, WEAK.catalog_budget, ranked_ids=ranked, top_n=WEAK.profile.top_n)
        assert len(shown.text.encode()) <= 10_000
        assert row["target"] in shown.shown


def test_a_first_pass_names_every_entry_within_what_a_small_model_is_shown(guide: str) -> None:
    catalog = read_catalog(json.loads((data_dir("helmdeck") / guide).read_text()))
    lines = filter_lines(catalog, WEAK, [])
    assert len(lines.splitlines()) == len(catalog.entries)
    assert len(lines.encode()) <= 10_000


def test_words_alone_find_a_tool_of_the_plan_in_most_requests(guide: str) -> None:
    folder = data_dir("helmdeck")
    catalog = read_catalog(json.loads((folder / guide).read_text()))
    index = build_index(catalog)
    rows = read_jsonl(folder / "prompts.jsonl")
    plans = [lexical_plan(row["query_tool_name_removed"], catalog, index, PlanMode.PLAN) for row in rows]
    found = [
        any(step.tool in row["tools"] for step in plan.steps) for row, plan in zip(rows, plans, strict=True)
    ]
    assert sum(found) / len(found) > 0.6

"""The scripted model plans what it is shown, and falls silent where a prompt is too large for it."""

import json
from typing import Any

import pytest

from context.catalog.compact import Ladder
from context.catalog.fit import fit_catalog
from context.providers.profiles import ModelProfile, Tier
from context.tool_plans.answer import read_answer
from context.tool_plans.lexical import filter_lines, read_picks
from context.tool_plans.prompt import Planner, PlanQuestion, filter_messages, plan_messages
from llm.scripted import Mode, Step
from llm.scripted.answers import answer_text, completion
from tests.unit.tool_plans.catalogs import MULTI_INTENT, large_catalog

STRONG = Planner("strong", ModelProfile("", Tier.A, 200_000, 4_000))
WEAK = Planner("weak")
QUESTION = PlanQuestion(MULTI_INTENT)


def request(planner: Planner) -> dict[str, Any]:
    ladder = Ladder(large_catalog())
    ranked = ["memory.remember", "blog.draft", "image.generate"]
    shown = fit_catalog(ladder, planner.catalog_budget, ranked_ids=ranked, top_n=planner.profile.top_n)
    return {"model": planner.model, "messages": plan_messages(QUESTION, planner, shown.text)}


def tools(text: str) -> list[str]:
    decoded = read_answer(text)
    assert isinstance(decoded.value, dict)
    return [step["tool"] for step in decoded.value["steps"]]


def test_the_scripted_model_plans_from_the_whole_catalog() -> None:
    answer = answer_text(request(STRONG), Step(Mode.SUMMARY))
    assert {"memory.remember", "blog.draft", "image.generate"} <= set(tools(answer))


def test_it_gives_the_first_step_where_only_that_is_asked_for() -> None:
    answer = json.loads(answer_text(request(WEAK), Step(Mode.SUMMARY)))
    assert [step["tool"] for step in answer["steps"]] == ["memory.remember"]
    assert answer["more_steps_likely"] is True


def test_it_chooses_ids_where_it_is_asked_for_ids() -> None:
    messages = filter_messages(QUESTION, WEAK, filter_lines(large_catalog(), WEAK, []))
    picks = read_picks(answer_text({"messages": messages}, Step(Mode.SUMMARY)), large_catalog())
    assert picks is not None
    assert "blog.draft" in picks


def test_a_prompt_over_its_size_gets_no_words_and_a_good_end() -> None:
    step = Step(Mode.EMPTY_OVER, over_bytes=16_000)
    body = completion(request(STRONG), step, number=1)
    assert body["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": ""},
        "finish_reason": "stop",
        "logprobs": None,
    }


def test_a_prompt_within_its_size_gets_a_plan() -> None:
    assert tools(answer_text(request(WEAK), Step(Mode.EMPTY_OVER, over_bytes=16_000))) == ["memory.remember"]


@pytest.mark.parametrize("mode", [Mode.FENCED, Mode.THINK, Mode.THINK_UNCLOSED])
def test_a_wrapped_plan_is_read_all_the_same(mode: Mode) -> None:
    assert tools(answer_text(request(WEAK), Step(mode))) == ["memory.remember"]

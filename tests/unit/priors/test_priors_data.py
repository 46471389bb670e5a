"""Learning on the plans of others: better than words with much history, and never worse with little."""

import pytest

from benchmarks.past_plans import PastPlans, grade, read_past_plans
from benchmarks.priors import learned, our_ranker
from context.priors.score import bind_priors
from tests.data import data_dir

pytestmark = pytest.mark.data

QUESTIONS = 400


@pytest.fixture(scope="module")
def metatool() -> PastPlans:
    """199 tools and 12,189 plans."""
    data_dir("metatool")
    return read_past_plans("metatool", most=QUESTIONS)


def recall(data: PastPlans, order: str, plans: int) -> list[float]:
    """Recall@1, @5 and @15 after so many plans."""
    bound = bind_priors(learned(data, data.ordered(order)[:plans]), data.ids) if plans else None
    found: list[float] = grade(our_ranker(data, bound), data.questions)["all"]
    return found


def test_two_thousand_plans_find_what_words_do_not(metatool: PastPlans) -> None:
    at_1, at_5, _ = recall(metatool, "shuffled", 2_000)
    plain_1, plain_5, _ = recall(metatool, "shuffled", 0)
    assert at_5 >= 0.84
    assert at_1 > plain_1 + 0.1
    assert at_5 > plain_5 + 0.1


@pytest.mark.parametrize("plans", [50, 200, 600])
def test_a_history_of_few_tools_costs_the_others_nothing(metatool: PastPlans, plans: int) -> None:
    taught, plain = recall(metatool, "grouped", plans), recall(metatool, "grouped", 0)
    assert all(with_it >= without - 0.003 for with_it, without in zip(taught, plain, strict=True))


def test_hundreds_of_plans_help_in_a_catalog_of_hundreds() -> None:
    data_dir("bfcl_live")
    at_1, at_5, _ = recall(read_past_plans("bfcl_live"), "shuffled", 786)
    assert at_1 >= 0.72
    assert at_5 >= 0.90

"""A replay decides as the request did, and counts what a policy would have blocked."""

from hypothesis import given
from hypothesis import strategies as st

from context.preflight.config import CategoryConfig, PreflightRules
from context.preflight.decide import classify
from context.preflight.replay import PastDecision, ReplayVerdict, past_categories, replay
from context.preflight.types import Category, Previous

TOOLS = ("message", "exec", "read", "write", "web_search", "web_fetch", "memory_get", "browser")
WITHOUT_RESEARCH = PreflightRules(
    fallback_to_full=False, categories={Category.RESEARCH: CategoryConfig(disabled=True)}
)


def past(message: str, *used: str, previous: Previous | None = None) -> PastDecision:
    found = classify(message, previous=previous, tools=TOOLS)
    return PastDecision(found.evidence, previous, TOOLS, (), found.hidden, used)


words = st.sampled_from(
    ("fix", "the bug", "what is", "my wallet", "draw", "hello", "yes", "go", "and", "gpu")
)
messages = st.lists(words, max_size=10).map(" ".join)
topics = st.one_of(
    st.none(),
    st.builds(Previous, st.lists(st.sampled_from(Category), max_size=2).map(tuple), st.floats(0, 9000)),
)


@given(st.lists(st.tuples(messages, topics), max_size=6))
def test_the_same_policy_hides_in_a_replay_what_it_hid_then(said: list[tuple[str, Previous | None]]) -> None:
    found = replay([past(message, previous=previous) for message, previous in said], PreflightRules())
    assert found.decisions == len(said)
    assert found.hidden_now == found.hidden_then
    assert found.offered == len(said) * len(TOOLS)


def test_calls_that_a_policy_blocks_are_named_by_category_and_tool() -> None:
    found = replay([past("what is the weather?", "web_search", "exec")], WITHOUT_RESEARCH)
    assert found.blocked == {("none", "web_search"): 1, ("none", "exec"): 1}
    assert (found.harmed, found.with_calls, found.harm) == (1, 1, 1.0)
    assert found.verdict is ReplayVerdict.HARMFUL


def test_a_call_of_a_hidden_tool_is_blocked_by_its_category() -> None:
    found = replay([past("what is the weather?", "browser")], PreflightRules())
    assert found.blocked == {("research", "browser"): 1}


def test_a_call_of_a_tool_that_the_record_does_not_name_is_not_judged() -> None:
    assert replay([past("what is the weather?", "left_out")], PreflightRules()).blocked == {}


def test_few_enough_blocked_calls_are_safe() -> None:
    record = [past("what is the weather?", "web_search") for _ in range(40)]
    found = replay([*record, past("what is the weather?", "browser")], PreflightRules())
    assert found.verdict is ReplayVerdict.SAFE


def test_without_a_turn_that_called_tools_nothing_is_known() -> None:
    assert replay([], PreflightRules()).verdict is ReplayVerdict.UNKNOWN
    assert replay([past("what is the weather?")], PreflightRules()).verdict is ReplayVerdict.UNKNOWN


def test_a_shorter_threshold_is_replayed_from_the_length_alone() -> None:
    record = [past("what is the tallest bridge in the world?", "browser")]
    assert replay(record, PreflightRules(complex_threshold=10)).blocked == {}


def test_categories_that_only_other_code_knows_are_passed_over() -> None:
    assert past_categories(["coding", "cooking"]) == (Category.CODING,)

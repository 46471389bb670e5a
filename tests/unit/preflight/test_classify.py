"""What a message is about, and what follows from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.preflight.config import FULL_MEMORY, MEMORY, TOOLS, CategoryConfig, PreflightRules
from context.preflight.decide import classify
from context.preflight.types import (
    Category,
    LearnedWeights,
    MemoryParams,
    Preflight,
    RequestKind,
    ThinkingLevel,
)

NATIVE = [
    *("message", "exec", "process", "read", "write", "edit", "apply_patch", "web_search", "web_fetch"),
    *("memory_search", "memory_get", "browser", "canvas", "nodes", "cron", "gateway", "image"),
    *("sessions_list", "sessions_send", "agents_list"),
]
DEX = "search for Solana DEX fee comparison"


def names(found: Preflight) -> list[str]:
    return [str(category) for category in found.categories]


def test_a_message_may_be_of_several_categories_and_gets_the_union_of_their_tools() -> None:
    found = classify(DEX, tools=NATIVE)
    assert names(found) == ["research", "crypto"]
    assert set(found.tool_allowlist or ()) == {*TOOLS[Category.RESEARCH], *TOOLS[Category.CRYPTO]}
    assert found.hidden == len(NATIVE) - 5


def test_the_hint_has_the_form_that_models_were_shown() -> None:
    found = classify(DEX, tools=["exec", "web_fetch", "web_search", "message", "browser"])
    assert found.hint == (
        "[Context: research + crypto task | tools: exec, web_fetch, web_search, message | thinking: medium]"
    )


def test_the_hint_says_that_all_tools_stay() -> None:
    assert classify("zzz qqq", tools=NATIVE).hint == "[Context: general task | tools: all | thinking: low]"


def test_a_hint_is_one_line_whatever_tools_are_called() -> None:
    found = classify("hello there", tools=["message", "exec", "a\nb"], pinned=["a\nb"])
    assert found.hint == "[Context: casual task | tools: message, a b | thinking: off]"


def test_memory_takes_the_most_permissive_of_each_number() -> None:
    assert classify(DEX).memory == MemoryParams(10, 400)
    remembered = classify("do you remember the bitcoin price that I told you last time?")
    assert Category.MEMORY in remembered.categories
    assert remembered.memory == MemoryParams(25, 1000)


def test_small_talk_recalls_nothing_and_thinks_of_nothing() -> None:
    found = classify("hey, how are you?", tools=NATIVE)
    assert names(found) == ["casual"]
    assert found.memory == MemoryParams(0, 0)
    assert found.thinking_level is ThinkingLevel.OFF
    assert found.tool_allowlist == ("message",)


def test_the_highest_level_of_thought_wins() -> None:
    assert classify("what is the status of the gpu").thinking_level is ThinkingLevel.LOW
    assert classify("is the gpu status due to the bug in parse.py").thinking_level is ThinkingLevel.MEDIUM


@pytest.mark.parametrize(
    "message",
    [
        "x" * 301,
        "First find the flights, and then write a detailed plan step by step",
        "1. read it\n2. change it\n3. analyze it",
        "Why? And how? And who pays? What does it cost?",
        "I need a film for tonight. Also tell me where it runs. Additionally, please make a plan for dinner.",
    ],
)
def test_what_has_many_parts_is_complex_and_keeps_every_tool(message: str) -> None:
    found = classify(message, tools=NATIVE)
    assert Category.COMPLEX in found.categories
    assert found.tool_allowlist is None
    assert found.hidden == 0
    assert found.thinking_level is ThinkingLevel.HIGH


def test_what_matches_nothing_keeps_every_tool_and_the_defaults() -> None:
    found = classify("turn the bathroom light off", tools=NATIVE)
    assert found.categories == ()
    assert found.tool_allowlist is None
    assert found.memory == FULL_MEMORY
    assert found.thinking_level is ThinkingLevel.LOW
    assert found.confidence == 0.0


def test_making_a_chart_is_told_from_asking_about_one() -> None:
    made, asked = classify("make a pie chart"), classify("what is a pie chart?")
    assert names(made) == ["media"]
    assert asked.scores[Category.MEDIA] < 1 <= asked.scores[Category.RESEARCH]
    assert set(asked.tool_allowlist or ()) == set(TOOLS[Category.RESEARCH])
    assert "both.make_media" in made.reasons
    assert "ask.what" in asked.reasons
    assert 0.0 < made.confidence < 1.0


@pytest.mark.parametrize("kind", [RequestKind.HEARTBEAT, RequestKind.SUBAGENT, RequestKind.CRON])
def test_what_no_user_wrote_passes_unchanged(kind: RequestKind) -> None:
    found = classify("hello", kind=kind, tools=NATIVE)
    assert (found.tool_allowlist, found.hint, found.memory) == (None, None, FULL_MEMORY)
    assert found.reasons == (f"kind.{kind}",)


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("\U0001f44d", Category.CASUAL),
        ("```\nx = 1\n```", Category.CODING),
        ("look at src/app/main.py and ./run.sh", Category.CODING),
        ("https://example.com/story what does it say", Category.RESEARCH),
        ("what is $SOL doing, and $BTC", Category.CRYPTO),
    ],
)
def test_form_alone_says_something(message: str, category: Category) -> None:
    assert category in classify(message).categories


@pytest.mark.parametrize(("attached", "category"), [("image/png", "media"), ("note.ogg", "media")])
def test_an_attached_picture_or_recording_is_media(attached: str, category: str) -> None:
    assert category in names(classify("here it is", attachments=[attached]))


def test_a_greeting_before_a_task_is_no_small_talk() -> None:
    assert classify("hello, water the tomatoes upstairs", tools=NATIVE).tool_allowlist is None


def test_only_tools_that_the_caller_has_can_stay() -> None:
    assert classify(DEX, tools=["exec", "browser"]).tool_allowlist == ("exec",)


def test_tools_that_were_used_lately_stay() -> None:
    found = classify("what is the highest mountain?", tools=NATIVE, pinned=["canvas", "not_there"])
    assert "canvas" in (found.tool_allowlist or ())
    assert "not_there" not in (found.tool_allowlist or ())


def test_a_tool_stays_that_the_message_asks_for_by_name() -> None:
    assert "agents_list" in (classify("what does agents_list say?", tools=NATIVE).tool_allowlist or ())
    assert "browser" in (
        classify("use the browser to find it: what is new?", tools=NATIVE).tool_allowlist or ()
    )
    assert "image" not in (classify("draw an image of a cat", tools=NATIVE).tool_allowlist or ())


def test_tools_of_which_the_table_says_nothing_all_stay() -> None:
    found = classify("what is the weather in Oslo?", tools=["get_weather", "book_table"])
    assert found.tool_allowlist is None
    assert "tools.not_in_the_table" in found.reasons


def test_nothing_is_hidden_where_no_tool_that_is_needed_is_there() -> None:
    assert classify("do you remember me?", tools=["write", "edit", "message"]).tool_allowlist is None


def test_a_heavier_learned_weight_recognizes_more_and_a_lighter_one_less() -> None:
    message = "a token and a balance"
    assert classify(message, tools=NATIVE).tool_allowlist is None
    heavier = LearnedWeights(factors={Category.CRYPTO: 2.0})
    assert classify(message, tools=NATIVE, weights=heavier).tool_allowlist is not None
    lighter = LearnedWeights(factors={Category.MEDIA: 0.5})
    assert classify("make a pie chart", tools=NATIVE).tool_allowlist is not None
    assert classify("make a pie chart", tools=NATIVE, weights=lighter).tool_allowlist is None


def test_learned_weights_are_bounded() -> None:
    wild, bounded = (
        LearnedWeights(factors={Category.MEDIA: 1e9}),
        LearnedWeights(factors={Category.MEDIA: 2.0}),
    )
    message = "what is a pie chart?"
    assert classify(message, weights=wild).scores == classify(message, weights=bounded).scores


def test_a_users_habits_tip_the_scales_and_never_decide_alone() -> None:
    habits = LearnedWeights(profile={Category.CRYPTO: 1.0})
    message = "a token and a balance in my chain"
    with_habits, without = classify(message, weights=habits), classify(message)
    assert 0.0 < with_habits.scores[Category.CRYPTO] - without.scores[Category.CRYPTO] < 0.21
    assert classify("hello there", weights=habits).scores[Category.CRYPTO] == 0.0


def test_too_unsure_a_set_keeps_every_tool_and_says_so() -> None:
    careful = PreflightRules(min_confidence=0.9)
    found = classify(DEX, tools=NATIVE, config=careful)
    assert found.tool_allowlist is None
    assert "rule.too_unsure" in found.reasons


WORDS = (
    "fix",
    "the",
    "bug",
    "what",
    "is",
    "my",
    "wallet",
    "draw",
    "picture",
    "gpu",
    "hello",
    "yes",
    "report",
)
words = st.sampled_from(WORDS)
messages = st.one_of(st.text(max_size=400), st.lists(words, max_size=14).map(" ".join))
tool_lists = st.lists(st.one_of(st.sampled_from(NATIVE), st.text(max_size=12)), max_size=12, unique=True)


@given(messages, tool_lists, tool_lists)
def test_preflight_only_removes(message: str, tools: list[str], pinned: list[str]) -> None:
    found = classify(message, tools=tools, pinned=pinned)
    kept = tools if found.tool_allowlist is None else list(found.tool_allowlist)
    assert kept == [name for name in tools if name in kept]
    assert {name for name in tools if name in pinned} <= set(kept)
    assert found.hidden == len(tools) - len(kept)
    assert 0.0 <= found.confidence <= 1.0


@given(messages, tool_lists)
def test_the_same_message_is_always_the_same(message: str, tools: list[str]) -> None:
    assert classify(message, tools=tools) == classify(message, tools=tools)


@given(messages)
def test_categories_are_those_whose_score_is_enough(message: str) -> None:
    found = classify(message)
    enough = {name for name in Category if found.scores[name] >= 1.0}
    if found.categories:
        assert enough <= set(found.categories)
        assert all(found.scores[name] >= 0.4 for name in found.categories)
        assert found.categories == tuple(name for name in Category if name in found.categories)


@given(messages, tool_lists)
def test_what_is_only_near_a_category_filters_nothing(message: str, tools: list[str]) -> None:
    found = classify(message, tools=tools)
    if max(found.scores.values(), default=0.0) < 1.0:
        assert found.tool_allowlist is None


@pytest.mark.parametrize(("factor", "filters"), [(1.0, True), (0.99, False), (0.76, False)])
def test_a_category_that_learning_brings_below_recognized_filters_nothing(
    factor: float, filters: bool
) -> None:
    found = classify("bitcoin", tools=NATIVE, weights=LearnedWeights(factors={Category.CRYPTO: factor}))
    assert names(found) == ["crypto"]
    assert (found.tool_allowlist is not None) is filters
    assert ("rule.comes_near" in found.reasons) is not filters
    assert ("rule.too_unsure" in found.reasons) is not filters


@given(st.text(alphabet=st.characters(categories=["L"]), min_size=5, max_size=60))
def test_no_word_of_a_message_is_among_its_reasons(word: str) -> None:
    word = f"zqx{word}"
    found = classify(f"fix the bug in {word}.py and call {word}_now()")
    assert all(word not in reason for reason in (*found.reasons, *found.evidence.features))


def test_every_category_of_the_table_is_known_everywhere() -> None:
    assert set(MEMORY) == set(Category)
    assert set(TOOLS) == set(Category) - {Category.COMPLEX}
    assert classify("x", config=PreflightRules(categories={c: CategoryConfig() for c in Category})).scores

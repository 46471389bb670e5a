"""Messages that go on with a task have that task's categories."""

import pytest

from context.preflight.config import CategoryConfig, PreflightRules
from context.preflight.decide import classify
from context.preflight.types import Category, Previous
from tests.unit.preflight.sayings import GO_ON

TOOLS = ("message", "exec", "read", "write", "edit", "web_search", "web_fetch", "memory_get", "browser")
CODING = Previous((Category.CODING,), age_s=60)


@pytest.mark.parametrize("message", [said for group in GO_ON.values() for said in group])
def test_going_on_inherits_the_category_in_every_language(message: str) -> None:
    found = classify(message, previous=CODING, tools=TOOLS)
    assert found.inherited
    assert Category.CODING in found.categories
    assert Category.CASUAL not in found.categories
    assert {"write", "edit", "exec"} <= set(found.tool_allowlist or TOOLS)


APPROVED = (
    *("👍", "👌", "✅", "👍🏽", "...", "perfect", "great", "nice", "cool", "great, thanks", "ok thanks"),
    *("perfect, thank you. now the tests", "perfecto, gracias", "wunderbar, danke", "太好了", "すごい"),
)


@pytest.mark.parametrize("message", APPROVED)
def test_approval_may_be_the_yes_that_a_task_waits_for(message: str) -> None:
    found = classify(message, previous=CODING, tools=TOOLS)
    assert found.inherited
    assert {"write", "edit", "exec"} <= set(found.tool_allowlist or TOOLS)


@pytest.mark.parametrize("message", ["...", "?", "\x00\ufffd", "\ufffd", "。。。"])
def test_nothing_is_known_of_what_nobody_can_read(message: str) -> None:
    found = classify(message, tools=TOOLS)
    assert found.tool_allowlist is None


@pytest.mark.parametrize("message", ["thanks!", "thank you so much", "hey, thanks!", "bye", "good night"])
def test_thanks_and_goodbyes_alone_end_a_task(message: str) -> None:
    assert classify(message, previous=CODING, tools=TOOLS).categories == (Category.CASUAL,)


def test_a_failing_build_is_not_asked_of_the_web_alone() -> None:
    found = classify("hey, what's up with the build failing?", tools=TOOLS)
    assert {"exec", "read"} <= set(found.tool_allowlist or TOOLS)


@pytest.mark.parametrize("message", ["go", "yes please", "do it", "continue", "да, давай", "继续", "続けて"])
def test_an_order_to_go_on_with_something_unknown_hides_nothing(message: str) -> None:
    assert classify(message, tools=TOOLS).tool_allowlist is None


def test_a_task_that_was_not_recognized_lends_all_tools() -> None:
    found = classify("yes, go", previous=Previous(()), tools=TOOLS)
    assert found.inherited
    assert found.tool_allowlist is None


def test_a_complex_task_lends_all_tools() -> None:
    found = classify("yes", previous=Previous((Category.COMPLEX,)), tools=TOOLS)
    assert found.tool_allowlist is None


def test_after_a_long_time_nobody_knows_what_a_yes_is_said_to() -> None:
    found = classify("yes, go", previous=Previous((Category.CODING,), age_s=86_400), tools=TOOLS)
    assert not found.inherited
    assert found.tool_allowlist is None
    assert "rule.too_long_ago" in found.reasons


def test_what_is_inherited_is_less_sure_the_longer_ago_it_was() -> None:
    now, later = (
        classify("yes, go", previous=Previous((Category.CODING,), age_s=age, confidence=0.8))
        for age in (0, 1800)
    )
    assert now.confidence == pytest.approx(0.8)
    assert later.confidence == pytest.approx(0.4)


def test_what_a_follow_up_asks_for_itself_is_added() -> None:
    found = classify("and what about the bitcoin price?", previous=CODING)
    assert {Category.CODING, Category.CRYPTO} <= set(found.categories)


@pytest.mark.parametrize(
    "message",
    [
        "thanks!",
        "ok, thanks, bye",
        "hello there",
        "tell me a joke",
        "what is the weather in Oslo?",
        "draw a cat",
    ],
)
def test_a_message_that_stands_for_itself_inherits_nothing(message: str) -> None:
    found = classify(message, previous=CODING)
    assert not found.inherited
    assert Category.CODING not in found.categories


def test_a_disabled_category_is_not_inherited() -> None:
    without = PreflightRules(categories={Category.CODING: CategoryConfig(disabled=True)})
    assert classify("yes, go", previous=CODING, tools=TOOLS, config=without).categories == ()


@pytest.mark.parametrize(
    "message",
    [
        "Yes, please proceed with the change to the new flights. Thank you!",
        "Ja, bitte mach weiter mit der Buchung.",
    ],
)
def test_a_consent_to_something_named_goes_on_with_the_task(message: str) -> None:
    found = classify(message, previous=CODING, tools=TOOLS)
    assert found.inherited
    assert found.memory.max_facts > 0

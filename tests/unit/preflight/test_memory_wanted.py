"""Questions that stored facts may answer keep the tools of memory, more so in a session that recalls."""

import pytest

from context.preflight.config import CategoryConfig, PreflightRules
from context.preflight.decide import classify
from context.preflight.types import Category, LearnedWeights, MemoryParams

TOOLS = ("exec", "read", "web_search", "web_fetch", "memory_search", "memory_get", "message", "write")
MEMORY = {"memory_search", "memory_get"}
RECALLS = LearnedWeights(recalls=True)
NO_MEMORY = PreflightRules(categories={Category.MEMORY: CategoryConfig(disabled=True)})


def kept(message: str, **given: object) -> set[str] | None:
    found = classify(message, tools=TOOLS, **given)  # type: ignore[arg-type]
    return None if found.tool_allowlist is None else set(found.tool_allowlist)


@pytest.mark.parametrize(
    "message",
    [
        "What does the patient typically have with his eggs?",
        "What surgery did the patient have?",
        "Who is her doctor?",
        "Which room is the lecture in?",
        "When do they leave for the coast?",
        "What was the price of the second offer?",
    ],
)
def test_a_question_about_known_people_and_things_may_be_answered_from_memory(message: str) -> None:
    found = kept(message)
    assert found is None or found >= MEMORY


@pytest.mark.parametrize(
    "message",
    [
        "what is the weather in Oslo?",
        "Explain photosynthesis",
        "search for bread recipes",
        "who is Ada Lovelace?",
    ],
)
def test_a_question_about_the_world_keeps_what_research_needs(message: str) -> None:
    assert kept(message) == {"exec", "read", "web_search", "web_fetch", "message"}


@pytest.mark.parametrize("message", ["who is Ada Lovelace?", "which port does the API listen on?"])
def test_a_question_in_a_session_that_recalls_counts_as_memory_too(message: str) -> None:
    found = classify(message, tools=TOOLS, weights=RECALLS)
    assert Category.MEMORY in found.categories
    assert found.memory == MemoryParams(25, 1000)
    assert found.tool_allowlist is not None
    assert set(found.tool_allowlist) >= MEMORY
    assert "session.recalls" in found.evidence.features


@pytest.mark.parametrize("message", ["hey there", "fix the bug in parser.py", "draw a cat"])
def test_what_asks_nothing_is_the_same_in_a_session_that_recalls(message: str) -> None:
    assert classify(message, weights=RECALLS).categories == classify(message).categories


def test_a_policy_without_memory_keeps_it_out() -> None:
    asked = "Who is her doctor?"
    assert kept(asked, config=NO_MEMORY) == {"exec", "read", "web_search", "web_fetch", "message"}
    assert Category.MEMORY not in classify(asked, config=NO_MEMORY, weights=RECALLS).categories

"""The hint: a block of its own before the new user message, or the end of the system prompt."""

import json
from dataclasses import replace

import pytest

from context.preflight.types import annotate, with_hint_at_its_end
from context.types import Wire
from tests.unit.histories import answers
from tests.unit.windows import ask, counted

HINT = "[Context: research task | tools: web_search | thinking: low]"


def test_the_hint_stands_before_the_users_words_and_is_counted() -> None:
    (before,) = ask("Who runs the depot?")
    (after,) = annotate([before], HINT)
    assert after.body["content"] == [
        {"type": "text", "text": HINT},
        {"type": "text", "text": "Who runs the depot?"},
    ]
    assert after.tokens > before.tokens


@pytest.mark.parametrize("wire", Wire)
def test_a_message_of_parts_gets_a_part_before_them(wire: Wire) -> None:
    kind = "input_text" if wire is Wire.RESPONSES else "text"
    (message,) = ask(wire=wire)
    parts = [{"type": kind, "text": "And now?"}]
    body = {**message.body, "content": parts}
    (after,) = annotate([replace(message, raw=json.dumps(body))], HINT)
    assert after.body["content"] == [{"type": kind, "text": HINT}, *parts]


def test_only_the_message_that_begins_the_turn_is_annotated() -> None:
    first, last = ask("One."), ask("Two.")
    assert annotate([*first, *last], HINT)[0] is first[0]


def test_results_alone_are_never_annotated() -> None:
    results = counted(answers(["c1"], "found"))
    assert annotate(results, HINT) == results


@pytest.mark.parametrize("hint", [None, "", "  "])
def test_without_a_hint_nothing_changes(hint: str | None) -> None:
    messages = ask()
    assert annotate(messages, hint)[0] is messages[0]


@pytest.mark.parametrize(
    ("prompt", "hint", "written"),
    [
        ("Be kind.", HINT, f"Be kind.\n\n{HINT}"),
        ("", HINT, HINT),
        ("Be kind.", None, "Be kind."),
        ("", None, ""),
    ],
)
def test_the_system_prompt_comes_before_its_hint(prompt: str, hint: str | None, written: str) -> None:
    assert with_hint_at_its_end(prompt, hint) == written

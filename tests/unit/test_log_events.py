"""Log events: static past-tense names, ids and numbers beside them, and nothing that could hold words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sources import PACKAGES, parsed, place, python_files

LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
NAME = re.compile(r"[a-z]+(?:_[a-z]+)*")
WORDY = {
    *(
        "answer",
        "arguments",
        "args",
        "body",
        "content",
        "detail",
        "focus",
        "goal",
        "intent",
        "key",
        "message",
    ),
    *("messages", "name", "prompt", "question", "query", "said", "text", "title", "tool", "tools", "words"),
}
"""Names under which a log line would hold what somebody said, or a secret."""

MAY_BE_WORDS = {"because", "outcome", "reason"}
"""Names of our own fixed sentences; they are made of numbers and of words of the code."""


def events() -> Iterator[tuple[Path, ast.Call]]:
    """Every call of a logger."""
    for file in python_files(*PACKAGES):
        for node in ast.walk(parsed(file)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in LEVELS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "log"
            ):
                yield file, node


EVENTS = [pytest.param(call, id=f"{place(file)}:{call.lineno}") for file, call in events()]


def test_there_are_events() -> None:
    assert len(EVENTS) > 20


@pytest.mark.parametrize("call", EVENTS)
def test_an_event_has_a_fixed_name_and_nothing_without_one(call: ast.Call) -> None:
    [event] = call.args
    assert isinstance(event, ast.Constant), "a name that is made of values is no name"
    assert NAME.fullmatch(str(event.value))


@pytest.mark.parametrize("call", EVENTS)
def test_an_event_holds_no_words(call: ast.Call) -> None:
    given = {keyword.arg for keyword in call.keywords if keyword.arg}
    assert not given & WORDY
    for keyword in call.keywords:
        written = ast.unparse(keyword.value)
        assert not re.search(r"\b(?:str|repr)\((?:error|exc|e)\)", written), "an error's text may quote a row"
        if keyword.arg not in MAY_BE_WORDS:
            assert not isinstance(keyword.value, ast.JoinedStr)
            assert not written.endswith((".message", ".detail", ".text", ".content"))

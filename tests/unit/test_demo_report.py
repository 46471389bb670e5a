"""The demo's report tells the truth: also when something is wrong, and where nobody watches."""

import io
from typing import Any

import pytest
from rich.console import Console

from afterturn.client import WindowAnswer
from afterturn.context import DemoRequest, print_request, print_table
from afterturn.progress import progress

CALL = {"role": "assistant", "tool_calls": [{"id": "c-1", "type": "function", "function": {}}]}
RESULT = {"role": "tool", "tool_call_id": "c-1", "content": "ok"}
SUMMARY = {
    "text": "Notes.\n## Decisions\n- one\n- two\n- three",
    "tokens": 300,
    "version": 4,
    "model": "extractive",
}


def shown(*, messages: tuple[Any, ...] = (CALL, RESULT), **claims: Any) -> DemoRequest:
    certificate = {
        "fits": True,
        "input_tokens": 2_000,
        "budget": 3_000,
        "context_window": 4_000,
        "max_tokens": 1_000,
        "summary_covers": [1, 40],
        "tail": [41, 50],
        "tail_contiguous": True,
        "tool_pairs_intact": True,
        "excluded": [],
        **claims,
    }
    used = {"breakdown": {"summary": 300, "history": 1_600, "new": 100}, "tokens": {"raw_history": 9_900}}
    answer = {"messages": list(messages), "certificate": certificate, "utilization": used}
    return DemoRequest(7, "Mira", "And now?", WindowAnswer(answer, 2.5), SUMMARY, 8_300, (9.0, 2.5, 3.0))


def printed(request: DemoRequest) -> str:
    console = Console(file=io.StringIO(), width=100)
    print_request(console, request)
    print_table(console, [request])
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_request_is_shown_beside_what_the_whole_history_would_cost() -> None:
    text = printed(shown())
    assert "10,000 with the whole history" in text
    assert "2,000 in the window of 3,000  (20% of the whole)" in text
    assert "messages 1-40: 8,300 tokens -> 300, version 4 by extractive" in text
    assert "between 40 and 41" in text
    assert "3.0 ms (middle of 3)" in text


def test_a_long_section_of_a_summary_is_shortened_and_counted() -> None:
    text = printed(shown())
    assert "| - two" in text
    assert "- three" not in text
    assert "and 1 more lines" in text


@pytest.mark.parametrize("claim", ["fits", "tail_contiguous", "tool_pairs_intact"])
def test_a_claim_that_does_not_hold_is_shouted(claim: str) -> None:
    broken: dict[str, Any] = {claim: False}
    request = shown(**broken)
    assert printed(request).count("NOT ") == 1
    assert not request.is_proven


def test_a_certificate_that_contradicts_its_window_is_not_believed() -> None:
    request = shown(messages=(CALL,))
    assert "NOT 1 calls, 0 results" in printed(request)
    assert not request.is_proven


def test_what_was_left_out_is_named() -> None:
    left_out = {"what": "messages 1-3", "why": "does-not-fit", "tokens": 9}
    assert "messages 1-3: does-not-fit" in printed(shown(excluded=[left_out]))


@pytest.mark.parametrize(("lines", "said"), [(1, [20]), (4, [5, 10, 15, 20]), (100, list(range(1, 21)))])
def test_progress_without_a_terminal_is_a_few_lines(lines: int, said: list[int]) -> None:
    file = io.StringIO()
    with progress(Console(file=file), "turns", 20, lines=lines) as meter:
        for _ in range(20):
            meter.advance()
    assert file.getvalue().splitlines() == [f"turns {done} of 20" for done in said]


def test_progress_on_a_terminal_is_a_bar() -> None:
    file = io.StringIO()
    with progress(Console(file=file, force_terminal=True, width=100), "turns", 2) as meter:
        meter.show(2, "almost")
    assert "━" in file.getvalue()
    assert "2/2" in file.getvalue()

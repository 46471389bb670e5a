"""The check of windows finds what a provider would refuse or a certificate makes up, and nothing else."""

from typing import Any

import pytest

from tests.acceptance.windows import broken_pairs, broken_window

CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}, {"id": "b"}]}
A = {"role": "tool", "tool_call_id": "a", "content": "1"}
B = {"role": "tool", "tool_call_id": "b", "content": "2"}
WORD = {"role": "user", "content": "Thanks."}

PROOF = {
    "fits": True,
    "tail_contiguous": True,
    "tool_pairs_intact": True,
    "input_tokens": 30,
    "max_tokens": 10,
    "context_window": 40,
    "blocks": [{"tokens": 10}, {"tokens": 20}],
    "excluded": [],
    "summary_covers": [1, 6],
    "tail": [7, 8],
}


def window(**changed: Any) -> dict[str, Any]:
    return {"messages": [WORD, CALL, A, B], "certificate": {**PROOF, **changed}}


def test_whole_pairs_pass_in_any_order_of_results() -> None:
    assert broken_pairs([WORD, CALL, B, A, WORD]) == []


def test_a_result_without_its_call_is_found() -> None:
    assert broken_pairs([A, WORD]) == ["message 0 answers a, which nobody asks just before it"]


def test_a_call_without_its_result_is_found() -> None:
    assert broken_pairs([CALL, A, WORD]) == ["b has no result before message 2"]
    assert broken_pairs([CALL, B]) == ["a has no result"]


@pytest.mark.parametrize(
    "changed",
    [{}, {"summary_covers": None, "tail": None}, {"tail": [9, 10], "excluded": [{"what": "messages 7-8"}]}],
    ids=["summary and tail", "after a reset", "left out and said so"],
)
def test_a_window_that_holds_what_it_says_passes(changed: dict[str, Any]) -> None:
    assert broken_window(window(**changed), known_seq=8) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"fits": False}, "the certificate denies fits"),
        ({"blocks": [{"tokens": 10}]}, "the parts hold 10 tokens, the whole 30"),
        ({"max_tokens": 11}, "30 in and 11 out do not fit"),
        ({"tail": [8, 8]}, "nothing stands for what lies between [1, 6] and [8, 8]"),
        ({"tail": None}, "it ends at message 6, and 8 was acknowledged"),
    ],
    ids=["denied", "uncounted", "too large", "torn", "old"],
)
def test_a_claim_that_does_not_hold_is_found(changed: dict[str, Any], said: str) -> None:
    assert broken_window(window(**changed), known_seq=8) == [said]

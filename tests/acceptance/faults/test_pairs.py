"""The check of pairs finds what a provider would refuse, and nothing else."""

from tests.acceptance.faults.pairs import broken_pairs

CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}, {"id": "b"}]}
A = {"role": "tool", "tool_call_id": "a", "content": "1"}
B = {"role": "tool", "tool_call_id": "b", "content": "2"}
WORD = {"role": "user", "content": "Thanks."}


def test_whole_pairs_pass_in_any_order_of_results() -> None:
    assert broken_pairs([WORD, CALL, B, A, WORD]) == []


def test_a_result_without_its_call_is_found() -> None:
    assert broken_pairs([A, WORD]) == ["message 0 answers a, which nobody asks just before it"]


def test_a_call_without_its_result_is_found() -> None:
    assert broken_pairs([CALL, A, WORD]) == ["b has no result before message 2"]
    assert broken_pairs([CALL, B]) == ["a has no result"]

"""The benchmark of shadow mode recalls as a request does."""

import json

from api.context.recall import limits_of
from benchmarks.shadow import memory_of, recall
from context.preflight.config import FULL_MEMORY
from context.preflight.types import MemoryParams
from context.tokens.budget import choose_budget
from context.tokens.text import count_text
from context.types import Message, Role
from models.recall.settings import recall_settings

_LINES = ["Yes, please proceed along the yellow line."]
_LINES += [f"The crane at gate {number} is served by crew {number * 7}." for number in range(1, 60)]
_COVERED = [
    Message(seq, Role.USER, 0, json.dumps({"role": "user", "content": line}))
    for seq, line in enumerate(_LINES, 1)
]


def test_recall_is_held_to_the_limits_of_a_request() -> None:
    few = MemoryParams(max_facts=FULL_MEMORY.max_facts // 3, max_tokens=FULL_MEMORY.max_tokens // 3)
    limits = limits_of(recall_settings(), few, choose_budget(32_000, None))
    question = "Which crew serves the crane at gate 12, gate 30 and gate 44?"
    found = recall(_COVERED, question, few)
    assert found
    assert len(found) <= limits.facts
    assert sum(map(count_text, found)) <= limits.tokens
    assert sum(map(count_text, recall(_COVERED, question, FULL_MEMORY))) > limits.tokens


def test_what_a_request_does_not_recall_is_not_recalled() -> None:
    assert recall(_COVERED, "Yes, please proceed.", FULL_MEMORY) == []
    assert recall(_COVERED, "Which crew serves gate 12?", MemoryParams(max_facts=0, max_tokens=0)) == []
    assert recall(_COVERED, "Thanks!", memory_of(_COVERED, "Thanks!")) == []

"""Facts of two windows: compared by what they hold, kept as digests only."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from context.shadow.facts import (
    DIGEST_BYTES,
    PLANTED,
    FactLoss,
    compare_facts,
    count_blocked,
    count_loss,
    holds,
    needs_of,
    pack,
    planted_turns,
)
from context.text.exact_values import normal
from context.types import Message, Role

SALT = b"0123456789abcdef"
FACTS = [f"WB-{number}" for number in range(1_000, 1_012)]
SOME = st.lists(st.sampled_from(FACTS), unique=True)


def message(role: Role, content: str, seq: int = 1, calls: Sequence[tuple[str, str]] = ()) -> Message:
    made = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    body = {"role": role, "content": content, **({"tool_calls": made} if made else {})}
    ids = tuple(call["id"] for call in made)
    return Message(seq, role, 1, json.dumps(body), call_ids=tuple(map(str, ids)))


@given(SOME, SOME)
def test_what_one_window_holds_is_in_both_or_lacking(served: list[str], other: list[str]) -> None:
    found = compare_facts([f"Here is {fact}." for fact in served], [" and ".join(other)])
    assert found.both == {normal(fact) for fact in served if fact in other}
    assert found.lacking == {normal(fact) for fact in served if fact not in other}


def test_a_fact_in_another_spelling_is_held() -> None:
    found = compare_facts(["It is in plans/stair_v7.dxf for €18,450."], ["`stair_v7.dxf` costs €18,450"])
    assert found.lacking == set()


def test_of_more_facts_than_are_looked_at_the_newest_count() -> None:
    assert compare_facts(FACTS, [], most=2).lacking == {normal(fact) for fact in FACTS[-2:]}


def test_holds_answers_fact_by_fact() -> None:
    assert holds(["Dock 14B is open."], ["14b", "14C"]) == [True, False]


@given(SOME, SOME, SOME)
def test_a_loss_is_never_more_than_what_was_needed(
    both: list[str], lacking: list[str], needed: list[str]
) -> None:
    loss = count_loss(needed, both=pack(both, SALT), lacking=pack(lacking, SALT), salt=SALT)
    assert loss == FactLoss(len(set(needed) & {*both, *lacking}), len(set(needed) & set(lacking)))


def test_digests_show_nothing_and_differ_from_record_to_record() -> None:
    packed = pack(FACTS, SALT)
    assert len(packed) == DIGEST_BYTES * len(FACTS)
    assert b"WB" not in packed
    assert packed != pack(FACTS, b"another salt")
    assert packed == pack([*reversed(FACTS), FACTS[0]], SALT)


def test_a_turn_needs_what_its_user_and_its_answer_name_and_not_what_tools_return() -> None:
    turn = [
        message(Role.USER, "Where is WB-1001?"),
        message(Role.ASSISTANT, "I look.", calls=[("find", '{"order": "WB-1002"}')]),
        message(Role.TOOL, "WB-1003"),
        message(Role.ASSISTANT, "With WB-1004."),
    ]
    needs = needs_of(turn, new=1)
    assert needs.facts == {"wb-1001", "wb-1002", "wb-1004"}
    assert needs.tools == ("find",)


def test_calls_that_the_request_brought_itself_were_not_made_after_it() -> None:
    turn = [
        message(Role.USER, "Where?"),
        message(Role.ASSISTANT, "", calls=[("find", '{"order": "WB-1002"}')]),
        message(Role.TOOL, "here"),
        message(Role.ASSISTANT, "", calls=[("send", "{}")]),
    ]
    needs = needs_of(turn, new=3)
    assert (needs.facts, needs.tools) == (frozenset(), ("send",))


def test_a_call_of_a_hidden_tool_is_blocked_each_time() -> None:
    hidden = pack(["web_fetch"], SALT)
    assert count_blocked(["web_fetch", "read", "web_fetch"], hidden=hidden, salt=SALT) == 2


def test_each_planted_fact_is_said_once_and_no_question_gives_it_away() -> None:
    said = [text for turn in planted_turns() for text in turn]
    for planted in PLANTED:
        assert sum(planted.fact in text for text in said) == 1
        assert not any(planted.fact in one.question for one in PLANTED)

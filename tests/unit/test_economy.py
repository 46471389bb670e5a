"""What the benchmark of the background's cost counts, and what it sets beside."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.economy.__main__ import main
from benchmarks.economy.account import TARIFFS, Bill, Till, cached_tokens, cut_history
from benchmarks.economy.background import Background, Spent
from benchmarks.economy.beside import fitting, run_peers
from benchmarks.economy.lockstep import Live, Outcome, _moment
from benchmarks.economy.model import notes_for_others, plan_of, quoted
from benchmarks.economy.rules import OpenHands, Picoclaw, size_of
from benchmarks.economy.shown import peer_rows, row_of, total
from benchmarks.economy.talks import course, documents, helped, told
from benchmarks.economy.trace import Trace
from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.prompt import PlanInput, plan_response_format
from context.tokens.message import count_message
from context.types import JsonObject, Wire
from context.wire import check_pairs
from tests.unit.artifact_plans.artifacts import sized
from tests.unit.test_served import MEETING, SCENARIO, called, user, write

LONG = " ".join(f"word{n}" for n in range(1_000))


def raw(*words: str) -> list[bytes]:
    return [json.dumps(user(one)).encode() for one in words]


def test_a_prefix_is_cached_from_its_least_length_on_in_steps() -> None:
    assert cached_tokens(raw("short"), raw("short", "more")) == 0
    whole = count_message(user(LONG))
    found = cached_tokens(raw(LONG), raw(LONG, "new"))
    assert whole - 128 < found <= whole
    assert found % 128 == 0
    assert cached_tokens(raw("other", LONG), raw(LONG, "new")) == 0


def test_a_message_that_goes_on_otherwise_is_cached_to_where_it_differs() -> None:
    half = cached_tokens(raw(f"{LONG} {LONG}"), raw(f"{LONG} and then something else {LONG}"))
    whole = count_message(user(f"{LONG} {LONG}"))
    assert 0.4 * whole < half < 0.6 * whole


def test_a_till_leaves_the_new_message_out_of_what_a_cache_could_have() -> None:
    till = Till()
    till.pay([user(LONG)])
    till.pay([user(LONG), {"role": "assistant", "content": "yes"}, user("and?")])
    bill = till.bill
    assert (bill.requests, bill.known) == (2, 0)
    assert bill.new == count_message(user(LONG)) + count_message(user("and?"))
    assert 0.9 < bill.cached_share <= 1.0


def test_a_trace_names_the_first_part_that_changed_and_what_is_read_anew_behind_it() -> None:
    trace = Trace()
    notes = user("<conversation_summary>\n1")
    trace.note([notes, user(LONG)], read_anew=2_000, new=2_000)
    trace.note([notes, user(LONG), user("and?")], read_anew=120, new=10)
    assert not trace.lost, "what only grows loses nothing"
    trace.note([user("<conversation_summary>\n2"), user("and?")], read_anew=1_010, new=10)
    trace.note([user("<conversation_summary>\n2")], read_anew=900, new=0)
    assert trace.lost == {"conversation_summary -> conversation_summary": 1_000, "user -> end": 900}


def test_money_falls_with_the_price_of_what_is_cached() -> None:
    bill = Bill(requests=1, tokens=2_000_000, cached=1_000_000)
    costs = [bill.usd(tariff) for tariff in TARIFFS]
    assert costs == pytest.approx([5.0, 3.75, 2.75, 3.375])


def test_a_platform_that_cuts_sends_whole_turns_up_to_its_room() -> None:
    one = course(
        "x",
        "y",
        [({"messages": [user(f"note {n}"), {"role": "assistant", "content": "ok"}]}, None) for n in range(3)],
    )
    asked = user("what now?")
    turn = sum(count_message(message.body) for message in one.exchanges[0].turn.messages)
    new = count_message(asked)
    assert [m["content"] for m in cut_history(one.exchanges, [asked], new + 2 * turn)] == [
        "note 1",
        "ok",
        "note 2",
        "ok",
        "what now?",
    ]
    assert cut_history(one.exchanges, [asked], new + turn - 1) == [asked]


def test_the_model_plans_every_candidate_once() -> None:
    candidates = [sized(f"a{n}") for n in range(5)]
    request = PlanInput(candidates, ArtifactQuery("which?"), 1_000)
    plan = json.loads(plan_of({"response_format": plan_response_format(request)}) or "")
    assert [one["artifact_id"] for one in plan["artifacts"]] == ["A1", "A2", "A3", "A4", "A5"]
    assert plan_of({"messages": [user("Summarize.")]}) is None


def test_courses_are_read_with_their_evidence_and_their_tools(tmp_path: Path) -> None:
    write(tmp_path / "bfcl_memory" / "a.jsonl", [SCENARIO])
    write(tmp_path / "qmsum" / "a.jsonl", [MEETING])
    messages = [
        user("Look."),
        called("look", "{}"),
        {"role": "tool", "tool_call_id": "c1", "content": "here"},
    ]
    write(tmp_path / "tau_airline" / "a.jsonl", [{"id": n, "messages": messages} for n in range(3)])
    [memory] = told(tmp_path, 60)
    assert [exchange.gold is not None for exchange in memory.exchanges] == [False, False, False, True]
    [document] = documents(tmp_path, 60)
    assert document.tools == ("read_document",)
    assert len(document.exchanges) == 2
    [strung] = helped(tmp_path, 2)
    assert (len(strung.exchanges), strung.tools) == (2, ("look",))


def made(data: str) -> Outcome:
    return Outcome(
        data,
        8_000,
        conversations=1,
        tokens=1_000,
        ours=Bill(2, 500, 0, 100, 1.0, 2),
        cut=Bill(2, 2_000, 500, 100, 2.0, 2),
        background=Background({"summarize": Spent(2, 300, 100)}, {"summaries": 2}, {"summaries": 1}),
    )


def test_sets_add_up_and_net_is_what_is_left_of_the_saving() -> None:
    row = row_of(total([made("a"), made("b")])[0])
    assert row["background_per_token"] == pytest.approx(0.4)
    assert row["net_tokens"] == 2 * (2_000 - 500 - 400)
    assert (row["evidence"], row["cut_evidence"]) == (0.5, 1.0)
    assert (row["made"], row["used"]) == ({"summaries": 4}, {"summaries": 2})
    assert row["net_usd"]["no cache"] > row["net_usd"]["cached at 10 %"]


def test_absent_sets_are_skipped_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["economy", "--data", str(tmp_path), "--sets", "bfcl_memory"])
    assert main() == 1
    assert "bfcl_memory: skipped, no folder" in capsys.readouterr().out


def test_a_course_without_calls_has_no_tools() -> None:
    events: list[tuple[JsonObject, None]] = [({"messages": [user("hello")]}, None)]
    assert course("x", "y", events).tools == ()


def test_the_contexts_of_a_turn_stand_before_its_answers() -> None:
    result = {"role": "tool", "tool_call_id": "c1", "content": "here"}
    steps = [called("look", "{}"), result, called("look", "{}"), result]
    live = Live(course("x", "y", [({"messages": [user("go"), *steps]}, None)]), "s")
    assert [_moment(live, 0, step, 1) for step in range(1)] == [1]
    assert [_moment(live, 0, step, 3) for step in range(3)] == [1, 3, 0]


def test_the_model_reads_what_other_systems_wrap_otherwise_and_leaves_ours_alone() -> None:
    said = "\n".join(f"human: the gate {n} is green" for n in range(40))
    between = {"messages": [user(f"Do this.\n<messages>\nMessages to summarize:\n{said}\n</messages>")]}
    behind = {"messages": [user(said), user("Create a summary of the conversation above:")]}
    for body in (between, behind):
        notes = notes_for_others(body) or ""
        assert "the gate 1 is green" in notes
        assert "Do this" not in notes
        assert "Create a summary" not in notes
    assert notes_for_others({"messages": [user("<transcript>\nx\n</transcript>")]}) is None
    assert notes_for_others({"messages": [user("alone")]}) is None


def test_what_speakers_said_is_quoted_once() -> None:
    notes = '## Objective\n- [1] user: I want "this"\n- and more of it\n- GW-3'
    once = '## Objective\n- [1] user: "I want \'this"\n- "and more of it"\n- GW-3'
    assert quoted(notes) == once
    assert quoted(once) == once


def test_a_request_of_others_that_does_not_fit_is_cut_at_its_head() -> None:
    messages = [user(LONG), user("short"), user("new")]
    assert fitting(messages, 100_000) is messages
    assert fitting(messages, 100) == messages[1:]
    assert fitting(messages, 1) == messages[2:]


STUB = """
import json, sys
asked = json.load(sys.stdin)
for place, turns in enumerate(asked["courses"]):
    for turn, messages in enumerate(turns):
        print(json.dumps({"peer": "p", "course": place, "turn": turn, "place": 1, "messages": messages[:1]}))
    spent = {"calls": 1, "input_tokens": 10, "output_tokens": 5}
    print(json.dumps({"peer": "p", "course": place, "spent": spent}))
"""


def test_others_are_billed_and_graded_as_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "stub.py"
    stub.write_text(STUB)
    monkeypatch.setattr("benchmarks.economy.beside.SCRIPT", stub)
    one = course("a", "y", [({"messages": [user(f"note {n}")]}, None) for n in range(3)])
    peer, *rules = run_peers(Path(sys.executable), [one, one], 8_000, "http://127.0.0.1:9")
    assert [(rule.name, rule.bill.requests, rule.spent.calls) for rule in rules] == [
        *(("OpenHands' rule", 6, 0), ("picoclaw's rule", 6, 0))
    ]
    assert (peer.name, peer.data, peer.bill.requests, peer.over) == ("p", "a", 6, 0)
    assert (peer.spent.calls, peer.spent.tokens) == (2, 30)
    rows = peer_rows([peer], [made("a")])
    assert [row["data"] for row in rows] == ["a", "all"]
    assert rows[0]["net_tokens"] == 2_000 - peer.bill.tokens - 30


def said(number: int) -> list[dict[str, Any]]:
    """A turn with a call, its result and an answer."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        user(f"question {number}"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"result {number}"},
        {"role": "assistant", "content": f"answer {number}"},
    ]


def test_openhands_rule_forgets_the_middle_and_splits_no_pair() -> None:
    written: list[int] = []

    def note(messages: Sequence[dict[str, Any]]) -> str:
        written.append(len(messages))
        return "notes"

    rule = OpenHands(note, 1_000_000)
    sent: list[dict[str, Any]] = []
    for number in range(80):
        turn = said(number)
        sent = rule.send(turn[:1])
        rule.finish(turn[1:])
        assert len(sent) <= 241
        assert check_pairs(sent, Wire.OPENAI) == []
    assert len(written) == 1
    assert sent[0] == user("question 0")
    assert user("notes") in sent
    small = OpenHands(note, size_of(said(0)) * 3)
    for number in range(20):
        assert size_of(small.send(said(number)[:1])) <= size_of(said(0)) * 3
        small.finish(said(number)[1:])


def test_picoclaws_rule_keeps_the_last_messages_and_reads_no_results() -> None:
    read: list[dict[str, Any]] = []

    def note(messages: Sequence[dict[str, Any]]) -> str:
        read.extend(messages)
        return "notes"

    rule = Picoclaw(note, 1_000_000)
    for number in range(6):
        sent = rule.send(said(number)[:1])
        rule.finish(said(number)[1:])
    sent = rule.send([user("and now?")])
    assert sent[0] == {"role": "system", "content": "notes"}
    assert sent[1:] == [*said(5), user("and now?")]
    assert not any(one["role"] == "tool" for one in read)

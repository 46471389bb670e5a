"""What the benchmark of served contexts reads, grades and sets beside."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.served.__main__ import main
from benchmarks.served.baselines import Rivals, newest
from benchmarks.served.figures import half_width, interval, verdict
from benchmarks.served.files import NoDataError, read_rows
from benchmarks.served.measure import Limit, limits_of, read
from benchmarks.served.needs import NeededGold, tasks
from benchmarks.served.planted import channels, errands, foreign_facts, planted_talk, prompts, sessions
from benchmarks.served.sets import GROUP, ROLES, meetings, memories, sample
from benchmarks.served.talks import (
    AnswerGold,
    Ask,
    FactsGold,
    Grade,
    SpanGold,
    Talk,
    make_turns,
    window_texts,
)
from context.shadow.facts import PLANTED
from context.types import JsonObject

BEES = "My sister keeps bees behind the old brewery."


def user(words: str) -> JsonObject:
    return {"role": "user", "content": words}


def talk_of(said: Sequence[str], *asks: Ask) -> Talk:
    return Talk("talk", make_turns({"messages": [user(words)]} for words in said), asks)


def write(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


SCENARIO = {
    "scenario": "keeper",
    "sessions": [{"messages": [user(BEES)]}, {"messages": [user("It rains."), user("It snows.")]}],
    "qa": [{"id": "q1", "question": "Where does she keep bees?", "answers": ["old brewery"]}],
}
MEETING = {
    "id": "m1",
    "turns": [
        ["Ann", "Yes ."],
        ["Bea", "We shall paint the gate green this week ."],
        ["Ann", "The fence can wait until the autumn comes ."],
    ],
    "specific": [{"query": "What of the gate?", "spans": [[0, 1]]}],
}


def test_an_answer_is_found_by_its_words_whatever_stands_between_them() -> None:
    gold = AnswerGold(("Old, Brewery",))
    assert gold.grade([BEES]) == Grade(1.0, 1.0)
    assert gold.grade(["A brewery that is old"]) == Grade(0.0, 0.0)
    assert gold.grade([]).share == 0.0


def test_facts_count_each_for_itself() -> None:
    gold = FactsGold(("WB-20931", "TRN-448-2207"))
    assert gold.grade(["the order wb-20931 has come"]) == Grade(0.5, 0.0, 2)
    assert gold.grade(["WB-20931", "TRN-448-2207"]) == Grade(1.0, 1.0, 2)


def test_a_span_is_weighed_by_its_tokens_and_nods_prove_nothing() -> None:
    talk = talk_of(
        ["Yes .", "We shall paint the gate green this week .", "The fence can wait until autumn ."]
    )
    gold = SpanGold.of(talk.passages, [(1, 2), (3, 3)])
    assert gold.grade(["Yes ."]).share == 0.0
    half = gold.grade(["Bea: we shall paint the GATE green this week"])
    assert 0.4 < half.share < 0.6
    assert half.present == 0.5
    assert gold.grade([turn.text for turn in talk.turns]) == Grade(1.0, 1.0)


def test_a_window_is_read_without_the_new_message_and_with_calls_and_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"place": "attic"}'}}
    shown = [
        user("first"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a trunk"},
        user("What is in the attic?"),
    ]
    texts = "\n".join(window_texts(shown))
    assert "first" in texts
    assert "attic" in texts
    assert "a trunk" in texts
    assert "What is" not in texts


def test_memories_are_read_from_whatever_file_in_both_forms(tmp_path: Path) -> None:
    write(tmp_path / "bfcl_memory" / "other-name.jsonl.gz", [SCENARIO])
    write(tmp_path / "bfcl_memory" / "notes.jsonl", [{"something": "else"}])
    [roles] = memories(tmp_path, ROLES)
    [group] = memories(tmp_path, GROUP)
    assert [turn.text for turn in roles.turns] == [BEES, "It rains.", "It snows."]
    assert [turn.event.get("speaker") for turn in group.turns] == ["Ann", "Bea", "Bea"]
    assert [turn.event["turn_id"] for turn in roles.turns] == ["t1", "t2", "t3"]
    assert roles.asks[0].question == "Where does she keep bees?"


def test_a_meetings_utterances_are_turns_of_their_speakers(tmp_path: Path) -> None:
    write(tmp_path / "qmsum" / "a.jsonl", [MEETING])
    [talk] = meetings(tmp_path, GROUP)
    assert [turn.event["speaker"] for turn in talk.turns] == ["Ann", "Bea", "Ann"]
    assert talk.asks[0].gold.grade([MEETING["turns"][1][1]]) == Grade(1.0, 1.0)  # type: ignore[index]


def test_with_two_roles_who_says_most_is_the_assistant(tmp_path: Path) -> None:
    write(tmp_path / "qmsum" / "a.jsonl", [MEETING])
    [talk] = meetings(tmp_path, ROLES)
    roles = [[message.role.value for message in turn.messages] for turn in talk.turns]
    assert roles == [["user"], ["user", "assistant"]]
    assert not any("speaker" in turn.event for turn in talk.turns)
    assert talk.asks[0].gold.grade([MEETING["turns"][1][1]]) == Grade(1.0, 1.0)  # type: ignore[index]


def test_a_set_that_is_not_there_says_why(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="no folder 'qmsum'"):
        list(meetings(tmp_path, GROUP))
    write(tmp_path / "qmsum" / "a.jsonl", [SCENARIO])
    with pytest.raises(NoDataError, match="rows of this set's shape"):
        list(meetings(tmp_path, GROUP))


def test_rows_end_at_newlines_only(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"x": "one\u2028two\u0085three"}, {"x": "four"}])
    assert len(read_rows(tmp_path, lambda row: "x" in row)) == 2


def test_absent_sets_are_skipped_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["served", "--data", str(tmp_path), "--sets", "bfcl_memory,qmsum"])
    assert main() == 1
    said = capsys.readouterr().out
    assert "bfcl_memory: skipped, no folder" in said
    assert "qmsum: skipped, no folder" in said


def test_the_sample_counts_questions_over_all_talks() -> None:
    talks = [talk_of(["a"], *(Ask(f"{t}{n}", user("?"), AnswerGold(("a",))) for n in "123")) for t in "xyz"]
    assert [ask.ask_id for talk in sample(iter(talks), every_talk=1, every_ask=4) for ask in talk.asks] == [
        "x1",
        "y2",
        "z3",
    ]
    assert len(sample(iter(talks), every_talk=2, every_ask=1)) == 2


def test_budgets_are_read_in_the_widest_window_and_the_tightest_last() -> None:
    assert limits_of([8_000, 4_000], [1_000, None, 2_000]) == [
        Limit(4_000),
        Limit(8_000),
        Limit(8_000, 2_000),
        Limit(8_000, 1_000),
    ]


def test_the_grid_reads_stated_budgets_in_every_larger_window() -> None:
    assert limits_of([8_000, 4_000], [4_000, 1_000], in_each=True) == [
        Limit(4_000, 1_000),
        Limit(8_000, 4_000),
        Limit(8_000, 1_000),
    ]


def test_plain_bm25_and_the_function_find_the_line_that_the_newest_turns_lack() -> None:
    ask = Ask("q", user("Where does my sister keep bees?"), AnswerGold(("old brewery",)))
    talk = talk_of([BEES, *(f"Note {n}: the weather is fine, and nothing else is new." for n in range(40))])
    others = Rivals(talk, ask).at(60, 10_000)
    assert (others.bm25.share, others.function.share, others.newest.share) == (1.0, 1.0, 0.0)
    assert others.whole == Grade(1.0, 1.0)
    assert Rivals(talk, ask).at(60, talk.tokens - 1).whole is None


def test_the_newest_turns_end_with_the_tail_of_one_that_does_not_fit() -> None:
    turns = talk_of(["alpha beta gamma delta epsilon zeta", "the last"]).turns
    assert newest(turns, turns[1].tokens) == ["", "the last"]
    cut, last = newest(turns, turns[1].tokens + turns[0].tokens // 2)
    assert turns[0].text.endswith(cut)
    assert 0 < len(cut) < len(turns[0].text)
    assert last == "the last"


def answer_of(blocks: JsonObject, budget: int) -> JsonObject:
    return {
        "messages": [user(BEES), user("Where?")],
        "certificate": {
            "blocks": [{"source": name, "tokens": tokens} for name, tokens in blocks.items()],
            "input_tokens": sum(blocks.values()),
            "budget": budget,
        },
        "utilization": {"recall": {"status": "shown"}},
    }


def test_others_get_the_tokens_that_the_evidence_took() -> None:
    ask = Ask("q", user("Where?"), AnswerGold(("old brewery",)))
    talk = talk_of([BEES, "It rains."], ask)
    answer = answer_of({"overhead": 3, "history": 10, "recall": 5, "new": 4}, 100)
    reading = read(answer, ask, Limit(8_000, 100), Rivals(talk, ask))
    assert (reading.evidence_tokens, reading.free_tokens, reading.recall) == (15, 78, "shown")
    assert reading.served == Grade(1.0, 1.0)
    assert reading.others.whole == Grade(1.0, 1.0)


def test_a_verdict_needs_more_than_half_of_the_interval() -> None:
    assert verdict([0.0] * 10) == "holds"
    assert verdict([-1.0] * 10) == "BELOW"
    assert verdict([1.0, 1.0, 1.0, 0.0]) == "above"
    mixed = [1.0, -1.0, 0.0, -0.1]
    assert abs(sum(mixed) / 4) < half_width(mixed)
    assert verdict(mixed) == "holds"


def test_an_interval_holds_its_mean_and_stays_a_share() -> None:
    low, high = interval([1.0] * 20)
    assert 0.8 < low < high == 1.0
    low, high = interval([0.0, 0.25, 1.0])
    assert 0.0 <= low < 0.42 < high <= 1.0


def test_facts_are_planted_at_even_distances_and_asked_for() -> None:
    talk = planted_talk("t", [{"messages": [user(f"note {n}")]} for n in range(8)], PLANTED[:3])
    told = [place for place, turn in enumerate(talk.turns) if not turn.text.startswith("note")]
    assert told == [2, 5, 8]
    assert [len(turn.messages) for turn in talk.turns] == [1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1]
    assert [ask.question for ask in talk.asks] == [fact.question for fact in PLANTED[:3]]
    assert all(ask.gold.grade([turn.text for turn in talk.turns]).share == 1.0 for ask in talk.asks)


def test_no_question_gives_its_fact_away_and_every_telling_holds_it() -> None:
    facts = [*PLANTED, *(fact for group in foreign_facts().values() for fact in group)]
    assert len({fact.fact for fact in facts}) == len(facts)
    for fact in facts:
        gold = FactsGold((fact.fact,))
        assert gold.grade([fact.said]).share == 1.0, fact
        assert gold.grade([fact.question, fact.answer]).share == 0.0, fact


def test_sets_without_questions_are_read_and_planted(tmp_path: Path) -> None:
    entry = {"type": "message", "message": user("Look at it."), "timestamp": "2026-01-05T10:00:00Z"}
    reply = {"type": "message", "message": {"role": "assistant", "content": "Done."}}
    write(tmp_path / "pi_sessions" / "some-session.jsonl", [{"type": "session"}, entry, reply])
    write(tmp_path / "livemcp" / "catalog.jsonl", [{"name": "tool"}])
    row = {"messages": [user("Do it."), {"role": "assistant", "content": "Done."}]}
    write(tmp_path / "livemcp" / "runs.jsonl.gz", [row] * 11)
    lines = [{"nick": "a", "text": "hello there"}, {"system": "b has left"}, {"nick": "b", "text": "  "}]
    write(tmp_path / "irc_ubuntu" / "log.jsonl", [{"id": "day", "messages": lines}])
    write(
        tmp_path / "multilingual" / "p.jsonl",
        [{"lang": "zh", "text": "\u4f60\u597d"}, {"lang": "xx", "text": "?"}],
    )
    [session] = sessions(tmp_path, ROLES)
    assert (session.name, len(session.turns), len(session.asks)) == ("some-session", 1 + len(PLANTED), 12)
    assert [len(talk.turns) for talk in errands(tmp_path, ROLES)] == [10 + len(PLANTED), 1 + len(PLANTED)]
    [channel] = channels(tmp_path, GROUP)
    assert len(channel.turns) == 1 + 2 * len(PLANTED)
    assert all(turn.event["speaker"] for turn in channel.turns)
    [languages] = prompts(tmp_path, ROLES)
    assert len(languages.asks) == len(foreign_facts()["zh"])


def called(name: str, arguments: str) -> JsonObject:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_a_task_needs_what_its_next_turn_goes_by_and_its_own_words_do_not_say(tmp_path: Path) -> None:
    padding = " ".join(f"word{n}" for n in range(1_000))
    messages = [
        user(f"I paid with certificate_2765295 for EHGLP3. {padding}"),
        {"role": "assistant", "content": "I see."},
        user("What else?"),
        {"role": "assistant", "content": "Nothing."},
        user("Cancel EHGLP3."),
        called("cancel", '{"reservation": "EHGLP3", "payment": "certificate_2765295"}'),
        {"role": "tool", "tool_call_id": "c1", "content": "cancelled"},
        {"role": "assistant", "content": "It is cancelled."},
    ]
    write(tmp_path / "tau_airline" / "x.jsonl", [{"id": "a1", "messages": messages}])
    [talk] = tasks(tmp_path, ROLES)
    [ask] = talk.asks
    assert len(talk.turns) == 2
    assert isinstance(ask.gold, NeededGold)
    assert ask.gold.facts == {"certificate_2765295"}
    assert ask.gold.grade(["paid with Certificate_2765295"]) == Grade(1.0, 1.0, 1)
    assert ask.gold.grade(["paid with certificate_1"]).lost == 1

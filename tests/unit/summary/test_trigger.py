"""When history is summarized, and how much of it: whole turns, room afterwards, no loop."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.conversation.tool_calls import pairs_intact
from context.conversation.turns import parse_turn_boundaries
from context.summary.trigger import Load, SummaryCut, Thresholds, Trigger, find_trigger, plan_cut
from context.tokens.budget import Budget, HistoryLimit, LimitSource
from context.types import Message
from tests.unit.histories import answers, calls, number, says, torn_histories, whole_histories

THRESHOLDS = Thresholds(message_count=20, keep_messages=6, least_share=0, least_tokens=0)
BUDGET = Budget(10_000, 1_000)


def load_of(messages: list[Message], **fields: Any) -> Load:
    return Load(len(messages), sum(message.tokens for message in messages), **fields)


def talk(turns: int, tokens: int = 10) -> list[Message]:
    said = [says(role) for _ in range(turns) for role in ("user", "assistant")]
    return [replace(message, tokens=tokens) for message in number(said)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"message_count": 20, "keep_messages": 20},
        {"keep_messages": 0},
        {"keep_share": 0.75, "window_share": 0.75},
        {"keep_share": 0.0},
        {"window_share": 1.1},
        {"min_progress": 0.0},
        {"min_progress": 1.0},
        {"price_share": 1.1},
        {"least_share": -0.1},
    ],
)
def test_thresholds_of_which_one_could_never_act_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Thresholds(**wrong)


def test_one_message_more_than_the_count_calls_for_a_summary() -> None:
    assert find_trigger(load_of(talk(10)), BUDGET, THRESHOLDS) is None
    assert find_trigger(Load(21, 210), BUDGET, THRESHOLDS) is Trigger.MESSAGES


def test_a_count_of_messages_alone_calls_for_nothing() -> None:
    """Nine turns of an agent are 90 short messages: 1.8 % of a window of 200,000 tokens stay raw."""
    assert find_trigger(Load(90, 3_600), Budget(200_000, 1_000), Thresholds()) is None
    assert find_trigger(Load(900, 25_000), Budget(128_000, 4_000), Thresholds()) is None


@pytest.mark.parametrize(
    ("tokens", "window", "heavy"),
    [(4_000, 5_000, False), (4_001, 5_000, True), (75_000, 100_000, False), (75_001, 100_000, True)],
)
def test_a_count_calls_where_history_is_above_both_least_numbers(
    tokens: int, window: int, *, heavy: bool
) -> None:
    found = find_trigger(Load(61, tokens), Budget(window, 500), Thresholds(window_share=1.0))
    assert found is (Trigger.MESSAGES if heavy else None)


def test_short_messages_stay_beyond_their_number_up_to_the_least_tokens() -> None:
    long, short = talk(30, tokens=400), talk(40)
    messages = number([*long, *short])
    messages = [
        replace(message, tokens=one.tokens) for message, one in zip(messages, [*long, *short], strict=True)
    ]
    cut = plan_cut(messages, load_of(messages), Budget(100_000, 1_000), Thresholds())
    assert cut is not None
    kept = messages[cut.stop :]
    assert len(kept) > 20
    assert 3_000 <= sum(message.tokens for message in kept) <= 4_400


def test_the_whole_request_counts_and_not_history_alone() -> None:
    history = Load(4, 4_000)
    assert find_trigger(history, BUDGET, THRESHOLDS) is None
    for load in (
        replace(history, system_tokens=2_501),
        replace(history, tools_tokens=2_501),
        replace(history, summary_tokens=2_501),
    ):
        assert find_trigger(load, BUDGET, THRESHOLDS) is Trigger.TOKENS
    assert find_trigger(history, Budget(10_000, 3_501), THRESHOLDS) is Trigger.TOKENS


def test_a_large_system_prompt_alone_is_no_reason() -> None:
    assert find_trigger(Load(4, 100, system_tokens=9_000), BUDGET, THRESHOLDS) is None


def test_a_lower_input_limit_counts_as_a_smaller_window() -> None:
    assert find_trigger(Load(4, 4_000), Budget(100_000, 1_000), THRESHOLDS) is None
    assert (
        find_trigger(Load(4, 4_000), Budget(100_000, 1_000, input_limit=4_500), THRESHOLDS) is Trigger.TOKENS
    )


def limited(tokens: int) -> Budget:
    return Budget(100_000, 1_000, history_limit=HistoryLimit(tokens, LimitSource.TENANT))


def test_history_near_its_limit_calls_for_a_summary_however_large_the_window() -> None:
    assert find_trigger(Load(4, 3_000, system_tokens=40_000), limited(4_000), THRESHOLDS) is None
    assert find_trigger(Load(4, 3_001), limited(4_000), THRESHOLDS) is Trigger.TOKENS
    assert find_trigger(Load(4, 2_000, summary_tokens=1_001), limited(4_000), THRESHOLDS) is Trigger.TOKENS
    assert find_trigger(Load(4, 1_200, summary_tokens=9_000), limited(4_000), THRESHOLDS) is None
    assert find_trigger(Load(4, 3_001), limited(400_000), THRESHOLDS) is None


@pytest.mark.parametrize("limit", [1_000, 4_000, 20_000])
def test_what_stays_raw_leaves_room_below_the_limit_of_history(limit: int) -> None:
    messages = talk(300, tokens=50)
    cut = plan_cut(messages, load_of(messages), limited(limit), Thresholds())
    assert cut is not None
    kept = 50 * (len(messages) - cut.stop)
    assert kept <= limit * 0.3 + 100
    assert find_trigger(Load(len(messages) - cut.stop, kept, 150), limited(limit), Thresholds()) is None


def test_the_window_fills_with_the_tokens_of_its_model() -> None:
    load = Load(4, 5_800)
    assert find_trigger(load, BUDGET, THRESHOLDS) is None
    assert find_trigger(replace(load, model="claude-sonnet-4-5"), BUDGET, THRESHOLDS) is Trigger.TOKENS


def test_an_empty_history_calls_for_nothing() -> None:
    assert find_trigger(Load(0, 0), BUDGET, THRESHOLDS) is None
    assert plan_cut([], Load(0, 0), BUDGET, THRESHOLDS) is None


def test_a_cut_leaves_the_newest_messages_raw() -> None:
    messages = talk(15)
    assert plan_cut(messages, load_of(messages), BUDGET, THRESHOLDS) == SummaryCut(24, 1, 24, 240)


def test_a_cut_leaves_no_more_raw_than_its_share_and_the_rest_of_a_turn() -> None:
    messages = talk(15, tokens=800)
    cut = plan_cut(messages, load_of(messages), BUDGET, THRESHOLDS)
    assert cut is not None
    assert 800 * (30 - cut.stop) < 3_000 + 2 * 800


def test_a_window_full_of_other_things_does_not_call_for_a_summary_at_every_turn() -> None:
    """A session whose system prompt and answer take more than half of the window."""
    budget, messages = Budget(8_000, 800), talk(60, tokens=150)
    start, cuts = 0, 0
    for stop in range(2, len(messages), 2):
        raw = messages[start:stop]
        load = load_of(raw, summary_tokens=300 if start else 0, system_tokens=3_600)
        if find_trigger(load, budget, Thresholds()) is None:
            continue
        cut = plan_cut(raw, load, budget, Thresholds())
        assert cut is not None
        start, cuts = start + cut.stop, cuts + 1
    assert 0 < cuts <= 60 / 4


def test_what_stays_raw_is_no_less_than_half_of_its_share() -> None:
    messages = talk(15, tokens=400)
    load = replace(load_of(messages), system_tokens=6_000)
    cut = plan_cut(messages, load, BUDGET, THRESHOLDS)
    assert cut is not None
    assert 1_500 - 400 < 400 * (30 - cut.stop) <= 3_000


def test_a_turn_that_waits_for_a_result_is_never_cut_nor_what_comes_after_it() -> None:
    waiting = number([*talk(3), says("user", "look"), *calls(["c1"]), says("user", "and?")])
    cut = plan_cut(waiting, Load(40, 400), BUDGET, THRESHOLDS)
    assert cut is None or cut.to_seq <= 6


def test_a_history_that_was_not_read_to_its_end_keeps_its_last_turn() -> None:
    messages = talk(5)
    cut = plan_cut(messages, Load(500, 5_000), BUDGET, THRESHOLDS)
    assert cut is not None
    assert cut.to_seq == 8


def test_one_giant_turn_that_waits_for_nothing_may_go_as_a_whole() -> None:
    turn = talk(1, tokens=5_000)
    assert plan_cut(turn, load_of(turn), BUDGET, THRESHOLDS) == SummaryCut(2, 1, 2, 10_000)


@settings(max_examples=60, deadline=None)
@given(st.one_of(whole_histories(max_turns=12), torn_histories()), st.integers(200, 3_000))
def test_a_cut_is_a_turn_boundary_and_splits_no_pair(messages: list[Message], window: int) -> None:
    cut = plan_cut(messages, load_of(messages), Budget(window, 50), THRESHOLDS)
    if cut is None:
        return
    assert cut.stop in {*parse_turn_boundaries(messages), len(messages)}
    assert (cut.from_seq, cut.to_seq) == (messages[0].seq, messages[cut.stop - 1].seq)
    assert cut.tokens == sum(message.tokens for message in messages[: cut.stop])
    if pairs_intact(messages):
        assert pairs_intact(messages[: cut.stop])
        assert pairs_intact(messages[cut.stop :])


@settings(max_examples=60, deadline=None)
@given(whole_histories(max_turns=12), st.integers(300, 3_000))
def test_cut_after_cut_comes_to_an_end_with_every_pair_whole(messages: list[Message], window: int) -> None:
    budget, cuts = Budget(window, 50), 0
    while (cut := plan_cut(messages, load_of(messages), budget, THRESHOLDS)) is not None:
        messages, cuts = messages[cut.stop :], cuts + 1
        assert pairs_intact(messages)
        if find_trigger(load_of(messages), budget, THRESHOLDS) is None:
            break
    assert cuts <= 12


def test_a_turn_that_ended_with_a_result_is_covered_once_a_later_turn_follows() -> None:
    ended = [says("user"), *calls(["a"]), *answers(["a"])]
    history = [replace(message, tokens=5_000) for message in number([*ended, *ended, says("user")])]
    cut = plan_cut(history, load_of(history), BUDGET, THRESHOLDS)
    assert cut is not None
    assert cut.stop == 6


def test_a_turn_whose_last_result_nobody_has_read_stays_raw_however_full_the_window_is() -> None:
    history = [says("user"), says("assistant"), says("user"), *calls(["a"]), *answers(["a"])]
    history = [replace(message, tokens=5_000) for message in number(history)]
    cut = plan_cut(history, load_of(history), BUDGET, THRESHOLDS)
    assert cut is not None
    assert cut.stop == 2


USUAL = Budget(32_000, 1_000, input_limit=12_000, is_usual=True)
STEPS = {"has_steps": True}


@pytest.mark.parametrize(("budget", "fields"), [(USUAL, {}), (Budget(32_000, 1_000), STEPS)])
def test_history_is_due_once_it_has_cost_as_much_as_a_new_beginning(
    budget: Budget, fields: dict[str, Any]
) -> None:
    load, thresholds = Load(40, 7_500, model="gpt-4o", **fields), Thresholds()
    assert find_trigger(load, budget, thresholds) is Trigger.PRICE
    assert find_trigger(replace(load, has_steps=False), replace(budget, is_usual=False), thresholds) is None
    few, short = replace(load, raw_messages=2), replace(load, raw_tokens=4_000)
    assert find_trigger(few, budget, thresholds) is None
    assert find_trigger(short, budget, thresholds) is None
    assert find_trigger(replace(load, summary_tokens=60_000), Budget(500_000, 1_000), thresholds) is None


@pytest.mark.parametrize("window", [32_000, 128_000, 400_000])
def test_an_agents_history_in_a_fifth_of_its_window_stays_raw_whatever_it_costs(window: int) -> None:
    share, budget = window // 5, Budget(window, 1_000)
    loads = [Load(300, tokens, model="gpt-4o", **STEPS) for tokens in (share - 300, share, share + 1)]
    found = [find_trigger(load, budget, Thresholds()) for load in loads]
    assert found == [None, None, Trigger.PRICE]
    assert find_trigger(loads[0], budget, Thresholds(price_share=0)) is Trigger.PRICE


@pytest.mark.parametrize("window", [64_000, 128_000, 400_000])
def test_an_agents_history_behind_a_summary_stays_raw_in_half_of_that(window: int) -> None:
    share, budget = window // 10, Budget(window, 1_000)
    behind: dict[str, Any] = {"model": "gpt-4o", "summary_tokens": 2_000, **STEPS}
    found = [find_trigger(Load(300, tokens, **behind), budget, Thresholds()) for tokens in (share, share + 1)]
    assert found == [None, Trigger.PRICE]
    assert find_trigger(Load(300, share + 1, model="gpt-4o", **STEPS), budget, Thresholds()) is None


def test_history_stays_raw_for_longer_where_cached_tokens_are_cheap() -> None:
    """A cached token of gpt-4o costs a half of the price, of gpt-4.1 a quarter, of gpt-5 a tenth."""
    due = [
        next(
            messages
            for messages in range(2, 2_000, 2)
            if find_trigger(Load(messages, 100 * messages, model=model, **STEPS), BIG, EAGER)
        )
        for model in ("gpt-4o", "gpt-4.1", "gpt-5")
    ]
    assert due == sorted(set(due))


BIG, EAGER = Budget(400_000, 1_000), Thresholds(least_tokens=1_000, price_share=0)


@pytest.mark.parametrize("tokens", [50, 400, 3_000])
@pytest.mark.parametrize("window", [8_000, 32_000, 128_000])
def test_a_dear_history_is_not_due_again_before_it_has_grown(tokens: int, window: int) -> None:
    budget, messages = Budget(window, 1_000), talk(200, tokens=tokens)
    thresholds, start, cuts = Thresholds(price_share=0), 0, []
    for stop in range(2, len(messages), 2):
        raw = messages[start:stop]
        load = load_of(raw, summary_tokens=1_000 if start else 0, model="gpt-4o", **STEPS)
        if find_trigger(load, budget, thresholds) is None:
            continue
        cut = plan_cut(raw, load, budget, thresholds)
        assert cut is not None
        start += cut.stop
        cuts.append(cut.tokens)
    grown = min(window * 0.75 - 4_000, thresholds.least_tokens)
    assert cuts
    assert min(cuts) >= min(grown, 2_000)


@pytest.mark.parametrize(
    ("newest", "left"), [(1_500, 4), (3_900, 2), (4_100, 2), (15_800, 2), (16_200, 0), (30_000, 0)]
)
def test_a_long_turn_of_an_agent_is_summarized_whole_and_a_short_newest_one_stays(
    newest: int, left: int
) -> None:
    history = [*talk(1, tokens=9_000), *talk(1, tokens=200), *talk(1, tokens=newest // 2)]
    tokens = [message.tokens for message in history]
    history = [replace(message, tokens=count) for message, count in zip(number(history), tokens, strict=True)]
    budget = Budget(128_000, 1_000)
    cut = plan_cut(history, load_of(history, **STEPS), budget, Thresholds())
    assert cut is not None
    assert len(history) - cut.stop == left
    inside = [
        replace(message, tokens=30_000) if not place else message for place, message in enumerate(history)
    ]
    other = plan_cut(inside[:4], load_of(inside[:4]), budget, Thresholds())
    assert other is not None
    assert other.stop == 2


def test_half_as_much_stays_raw_where_a_token_is_paid_for_often() -> None:
    messages, thresholds = talk(80, tokens=500), Thresholds(keep_messages=50)

    def kept(budget: Budget, *, has_steps: bool = False) -> int:
        cut = plan_cut(
            messages, Load(len(messages), 500 * len(messages), has_steps=has_steps), budget, thresholds
        )
        return 500 * len(messages) - (cut.tokens if cut else 0)

    window = Budget(32_000, 1_000)
    assert kept(window, has_steps=True) <= kept(window) // 2 + 1_000
    small = Budget(8_000, 1_000)
    assert kept(small, has_steps=True) == kept(small)
    budget = Budget(32_000, 1_000, input_limit=12_000)
    assert kept(replace(budget, is_usual=True)) <= kept(budget) // 2 + 1_000

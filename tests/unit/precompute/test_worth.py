"""What is made ahead of use: it pays by what others of its kind were used for, within a ceiling."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.precompute.worth import (
    MOST_UNUSED,
    Account,
    Guess,
    Record,
    Worth,
    WorthLimits,
    expected_saving,
    expected_uses,
    pays_at_once,
    worth_making,
)
from context.providers.prompt_cache import CacheRule, cache_rule

LIMITS = WorthLimits()
READING = Guess(uses=1.3, saving=900, tokens=10_000, price_share=0.06)
RICH = Account(background=100_000, spent_today=2_000, spent=20_000, saved=1_000_000, spent_ever=2_000_000)

guesses = st.builds(
    Guess, st.floats(0, 20), st.floats(-5_000, 50_000), st.integers(0, 100_000), st.floats(0, 2)
)
records = st.builds(Record, *[st.integers(0, 1_000)] * 2, st.integers(-10_000, 10**6), st.integers(0, 200))
accounts = st.builds(
    Account, *[st.integers(0, 10**7)] * 3, st.integers(-(10**6), 10**7), st.integers(0, 10**8)
)


def test_it_pays_where_its_uses_save_more_than_its_call() -> None:
    assert worth_making(READING, Record(), RICH, LIMITS) is Worth.PAYS
    dear = replace(READING, price_share=1.0)
    assert worth_making(dear, Record(), RICH, LIMITS) is Worth.SAVES_TOO_LITTLE


def test_what_was_never_used_pays_no_longer() -> None:
    unused = Record(made=200, used=0, unused=MOST_UNUSED - 1)
    assert worth_making(READING, unused, RICH, LIMITS) is Worth.SAVES_TOO_LITTLE
    useful = Record(made=200, used=400, unused=MOST_UNUSED)
    assert worth_making(READING, useful, RICH, LIMITS) is Worth.NEVER_USED
    assert worth_making(READING, replace(useful, unused=MOST_UNUSED - 1), RICH, LIMITS) is Worth.PAYS


def test_a_ceiling_stands_over_it_once_the_allowance_is_spent() -> None:
    most = int((RICH.spent * 0.06 + READING.cost) / LIMITS.ceiling_share)
    at, below = replace(RICH, saved=most), replace(RICH, saved=most - 1)
    assert worth_making(READING, Record(), at, LIMITS) is Worth.PAYS
    assert worth_making(READING, Record(), below, LIMITS) is Worth.OVER_CEILING
    new = replace(below, spent_ever=LIMITS.allowance_tokens - READING.tokens)
    assert worth_making(READING, Record(), new, LIMITS) is Worth.PAYS
    assert worth_making(READING, Record(), replace(new, spent_ever=new.spent_ever + 1), LIMITS) is (
        Worth.OVER_CEILING
    )


def test_a_small_share_of_the_background_explores() -> None:
    doubtful = replace(READING, uses=0.02, tokens=1_000)
    room = replace(RICH, background=150_000)
    assert worth_making(doubtful, Record(), room, LIMITS) is Worth.EXPLORES
    assert worth_making(doubtful, Record(), replace(room, background=149_999), LIMITS) is (
        Worth.SAVES_TOO_LITTLE
    )


@given(guesses, records, accounts)
def test_a_tenant_whose_last_things_had_no_use_pays_no_more_than_the_floor(
    guess: Guess, record: Record, account: Account
) -> None:
    streak = replace(record, unused=MOST_UNUSED)
    found = worth_making(guess, streak, account, LIMITS)
    if found.is_made and guess.cost > 0:
        assert account.spent_today + guess.tokens <= LIMITS.explore_share * account.background


@given(guesses, records, accounts)
def test_what_saves_nothing_when_it_is_used_is_never_made(
    guess: Guess, record: Record, account: Account
) -> None:
    assert not worth_making(replace(guess, saving=-(guess.saving**2)), record, account, LIMITS).is_made


@given(guesses, records, accounts, st.integers(0, 1_000))
def test_more_uses_never_make_it_worth_less(
    guess: Guess, record: Record, account: Account, more: int
) -> None:
    used = replace(record, used=record.used + more)
    before = worth_making(guess, record, account, LIMITS).is_made
    assert worth_making(guess, used, account, LIMITS).is_made >= before


@given(guesses, records, accounts)
def test_beyond_allowance_and_floor_a_thing_stays_under_the_ceiling(
    guess: Guess, record: Record, account: Account
) -> None:
    if worth_making(guess, record, account, LIMITS) is Worth.PAYS and guess.cost > 0:
        spent = account.spent * guess.price_share + guess.cost
        is_new = account.spent_ever + guess.tokens <= LIMITS.allowance_tokens
        assert is_new or spent <= LIMITS.ceiling_share * account.saved


@given(st.floats(0, 20), st.integers(1, 10_000), st.integers(0, 10_000))
def test_a_guess_is_drawn_to_what_was_counted(uses: float, made: int, used: int) -> None:
    guess = replace(READING, uses=uses)
    low, high = sorted((uses, used / made))
    assert low - 1e-6 <= expected_uses(guess, Record(made, used)) <= high + 1e-6
    assert expected_saving(200, Record()) == 200


@given(accounts, st.integers(0, 10_000))
def test_more_spent_is_counted_everywhere(account: Account, tokens: int) -> None:
    more = account.with_more(tokens)
    assert (more.spent_today, more.spent, more.spent_ever) == (
        account.spent_today + tokens,
        account.spent + tokens,
        account.spent_ever + tokens,
    )
    assert (more.background, more.saved) == (account.background, account.saved)


@pytest.mark.parametrize(
    ("saved", "behind", "rule", "pays"),
    [
        (1_500, 100, cache_rule("gpt-4o"), True),
        (1_500, 10_000, cache_rule("gpt-4o"), False),
        (1_500, 100, cache_rule("claude-sonnet-4-5"), True),
        (1_500, 1_000, cache_rule("claude-sonnet-4-5"), False),
        (1_500, 10_000, cache_rule("gpt-4o").as_found(0.0), True),
        (0, 0, cache_rule("gpt-4o"), False),
        (-200, 10_000, cache_rule("gpt-4o").as_found(0.0), False),
    ],
)
def test_a_change_within_a_turn_pays_if_it_saves_more_than_the_turn_costs_anew(
    saved: int, behind: int, rule: CacheRule, pays: bool
) -> None:
    assert pays_at_once(saved, behind, rule) is pays

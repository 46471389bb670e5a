"""The budget of a session: smaller requests change it only where turn after turn brings nothing else."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from context.providers.model_windows import ANY_BUDGET, NARROW_READS, UsualBudget
from context.tokens.budget import LEAST_LASTING, Budget, HistoryLimit, LimitSource

SMALL, LARGE = LEAST_LASTING, 3 * LEAST_LASTING
Named = int | None
turns = st.lists(
    st.lists(st.sampled_from((None, 1, SMALL, LARGE)), min_size=1, max_size=3), min_size=1, max_size=8
)


def after(named: list[list[Named]], usual: UsualBudget = ANY_BUDGET) -> UsualBudget:
    """Take in the budgets of requests, turn by turn."""
    asked = [(one, number) for number, turn in enumerate(named) for one in turn]
    return reduce(lambda usual, one: usual.after(*one), asked, usual)


@given(turns)
def test_it_is_none_after_a_request_without_one_and_never_below_the_least(named: list[list[Named]]) -> None:
    usual = after(named)
    assert usual.tokens in {None, SMALL, LARGE}
    assert 0 <= usual.narrow_turns < NARROW_READS
    if named[-1][-1] is None:
        assert usual == ANY_BUDGET


def test_it_takes_three_turns_however_many_requests_each_has() -> None:
    assert after([[LARGE] * 9] * 2).tokens is None
    assert after([[LARGE]] * 3) == UsualBudget(LARGE)


def test_the_largest_of_the_three_turns_is_the_usual_one() -> None:
    assert after([[SMALL, LARGE], [SMALL], [1, SMALL]]).tokens == LARGE


def test_a_larger_one_counts_at_once_and_a_smaller_one_after_three_turns() -> None:
    usual = UsualBudget(SMALL)
    assert usual.after(LARGE, 9) == UsualBudget(LARGE)
    assert after([[SMALL]] * 2, UsualBudget(LARGE)).tokens == LARGE
    assert after([[SMALL]] * 3, UsualBudget(LARGE)).tokens == SMALL


def test_a_look_with_a_small_budget_between_two_requests_leaves_it() -> None:
    assert after([[1, LARGE]] * 5) == UsualBudget(LARGE)
    assert after([[LARGE, SMALL]] * 5).tokens == LARGE


def test_a_window_is_narrowed_by_what_history_is_not_prepared_for() -> None:
    room = Budget(32_000, 1_000)
    assert not room.is_narrowed
    assert not room.is_lasting
    once, lasting = (
        Budget(32_000, 1_000, input_limit=LARGE),
        Budget(32_000, 1_000, input_limit=LARGE, is_usual=True),
    )
    assert (once.is_narrowed, once.is_lasting) == (True, False)
    assert (lasting.is_narrowed, lasting.is_lasting) == (False, True)
    for tokens, is_narrowed in ((LEAST_LASTING, False), (LEAST_LASTING - 1, True)):
        limited = Budget(32_000, 1_000, history_limit=HistoryLimit(tokens, LimitSource.TENANT))
        assert limited.is_narrowed is is_narrowed

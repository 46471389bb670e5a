"""What a run of reports is worth, and how far the bound stays from it."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from context.tokens import UNCALIBRATED, Calibration, guarantee, observe
from context.tokens.calibration import MOST_REPORTS


def taught(reported: list[int], *, reports: int = 1) -> list[Calibration]:
    """What is known after each of these reports of a context of 10,000 estimated tokens."""

    def learn(known: Calibration, tokens: int) -> Calibration:
        return observe(known, model="gpt-4o", estimated=10_000, reported=tokens, reports=reports)

    return list(accumulate(reported, learn, initial=UNCALIBRATED))


def test_several_reports_teach_more_than_one() -> None:
    one, several = (taught([13_000], reports=count)[-1] for count in (1, MOST_REPORTS))
    assert 1 < one.factor < several.factor < 1.3
    assert one.observations == several.observations == 1


def test_a_long_run_of_reports_teaches_no_more_than_a_few() -> None:
    assert taught([13_000], reports=MOST_REPORTS) == taught([13_000], reports=1_000)


@given(st.floats(1.05, 1.75))
def test_the_bound_covers_a_steady_foreign_tokenizer_from_the_third_report_on(factor: float) -> None:
    reported = round(10_000 * factor)
    for known in taught([reported] * 40, reports=MOST_REPORTS)[3:]:
        assert guarantee(10_000, "gpt-4o", calibration=known) >= reported


def test_the_bound_returns_to_the_estimate_when_reports_agree_with_it() -> None:
    known = taught([13_000] * 80, reports=MOST_REPORTS)[-1]
    assert guarantee(10_000, "gpt-4o", calibration=known) <= 13_000 * 1.02


def test_exact_reports_leave_an_exact_bound_as_it_was() -> None:
    known = taught([10_000] * 30)[-1]
    assert guarantee(10_000, "gpt-4o", calibration=known) == 10_000


@given(st.lists(st.integers(1, 10**7), max_size=30))
def test_no_reports_widen_the_bound_without_limit(reported: list[int]) -> None:
    known = taught(reported)[-1]
    assert guarantee(10_000, "gpt-4o", calibration=known) <= 10_000 * known.factor * 2.8

from hypothesis import given
from hypothesis import strategies as st

from context.priors.types import PRIOR_SCALE
from context.ranking.rank import combine_scores

lexical_scores = st.lists(st.floats(0, 100), min_size=1, max_size=20)


@given(lexical_scores, st.dictionaries(st.integers(0, 0), st.floats(0.01, 1)))
def test_without_priors_scores_are_lexical_whatever_is_novel(
    lexical: list[float], novelty: dict[int, float]
) -> None:
    assert combine_scores(lexical, {}, novelty) == lexical


@given(lexical_scores, st.data())
def test_a_score_is_never_below_the_lexical_one(lexical: list[float], data: st.DataObject) -> None:
    places = st.integers(0, len(lexical) - 1)
    shares = st.floats(0.0, 1.0)
    priors, novelty = (data.draw(st.dictionaries(places, shares)) for _ in range(2))
    scores = combine_scores(lexical, priors, novelty)
    assert all(score >= word for score, word in zip(scores, lexical, strict=True))


def test_a_prior_adds_to_what_words_say() -> None:
    assert combine_scores([5.0, 6.0], {0: 0.1}, {}) == [5.0 + PRIOR_SCALE * 0.1, 6.0]


def test_what_is_novel_and_fits_best_stays_near_what_history_raises() -> None:
    scores = combine_scores([10.0, 9.0, 8.0, 7.0], {1: 0.3, 2: 0.2, 3: 0.2}, {0: 0.7})
    assert sorted(scores, reverse=True).index(scores[0]) == 1


def test_what_is_novel_and_does_not_fit_is_not_raised() -> None:
    assert combine_scores([0.0, 9.0], {1: 0.3}, {0: 1.0})[0] == 0.0

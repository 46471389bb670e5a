"""The room for artifacts: a share at least, and never more than there is of it."""

from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.needs_plan import canonical_tokens, room_for_artifacts


def test_what_history_leaves_is_for_artifacts_and_a_share_at_least() -> None:
    assert room_for_artifacts(10_000, 2_000, share=0.5) == 8_000
    assert room_for_artifacts(10_000, 9_000, share=0.5) == 5_000
    assert room_for_artifacts(-5, 0, share=0.5) == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1))
def test_the_room_is_a_part_of_the_whole(whole: int, raw: int, share: float) -> None:
    assert 0 <= room_for_artifacts(whole, raw, share=share) <= whole


def test_an_unknown_model_has_no_more_room_than_a_known_one() -> None:
    assert canonical_tokens(10_000, "nobody/knows") <= canonical_tokens(10_000, "gpt-4o") <= 10_000

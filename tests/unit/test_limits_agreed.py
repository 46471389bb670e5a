"""For whom a limit holds: users who agree, and never one key's word among several."""

from hypothesis import given
from hypothesis import strategies as st

from context.providers.refused_sizes import AGREEING_USERS, AGREEMENT, Vote, agreed_limit

VOTES = st.lists(
    st.builds(
        Vote,
        st.integers(1, 200_000) | st.sampled_from([9_000, 9_500, 10_000]),
        st.none() | st.sampled_from("abcd"),
        st.none() | st.sampled_from("xyz"),
    ),
    max_size=12,
)


@given(VOTES, st.integers(0, 4))
def test_a_limit_is_one_that_users_saw_alike(votes: list[Vote], keys: int) -> None:
    limit = agreed_limit(votes, keys=keys)
    assert limit == agreed_limit(votes[::-1], keys=keys)
    if limit is not None:
        near = [vote for vote in votes if vote.user_id and limit * AGREEMENT <= vote.limit_tokens <= limit]
        assert limit in {vote.limit_tokens for vote in near}
        assert len({vote.user_id for vote in near}) >= AGREEING_USERS


@given(VOTES)
def test_of_several_keys_none_agrees_with_itself(votes: list[Vote]) -> None:
    of_one_key = [Vote(vote.limit_tokens, vote.user_id, "x") for vote in votes]
    assert agreed_limit(of_one_key, keys=2) is None
    assert agreed_limit(of_one_key, keys=1) == agreed_limit(of_one_key, keys=0)


def test_a_worker_alone_and_a_worker_beside_a_key_are_believed() -> None:
    seen = [Vote(10_000, user, None) for user in "abc"]
    assert agreed_limit(seen, keys=3) == 10_000
    assert agreed_limit([*seen[:2], Vote(10_000, "c", "x")], keys=3) == 10_000

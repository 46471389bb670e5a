"""Results put back whole: the newest that fit, a suffix of them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.split import put_back_newest
from context.types import Message, Role

SIZES = st.lists(st.tuples(st.integers(1, 50), st.one_of(st.none(), st.integers(0, 500))), max_size=12)


@given(SIZES, st.integers(0, 2_000))
def test_what_is_whole_is_a_suffix_of_the_results_and_fits(
    sizes: list[tuple[int, int | None]], room: int
) -> None:
    stored = [Message(seq, Role.TOOL, tokens, "{}") for seq, (tokens, _) in enumerate(sizes, 1)]
    restored = [
        one if more is None else replace(one, tokens=one.tokens + more)
        for one, (_, more) in zip(stored, sizes, strict=True)
    ]
    chosen = put_back_newest(stored, restored, room_tokens=room)
    whole = [one is not before for one, before in zip(chosen, stored, strict=True)]
    large = [place for place, (_, more) in enumerate(sizes) if more is not None]
    kept = [place for place in large if whole[place]]
    assert kept == large[len(large) - len(kept) :]
    assert not kept or sum(one.tokens for one in chosen) <= room
    if len(kept) < len(large):
        first_out = large[len(large) - len(kept) - 1]
        growth = restored[first_out].tokens - stored[first_out].tokens
        assert sum(one.tokens for one in chosen) + growth > room

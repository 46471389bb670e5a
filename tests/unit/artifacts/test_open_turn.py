"""A turn that goes on: whole where it fits, the oldest results as pointers where it does not."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.split import READING_TOKENS, fit_restored
from context.types import Message, Role


def turn(*tokens: int) -> list[Message]:
    """Results of these sizes."""
    return [
        Message(seq, Role.TOOL, size, "{}", answer_ids=(f"c{seq}",)) for seq, size in enumerate(tokens, 1)
    ]


def chosen(pointers: Sequence[int], whole: Sequence[int], room_tokens: int) -> list[int]:
    stored, restored = turn(*pointers), turn(*whole)
    return [message.tokens for message in fit_restored(stored, restored, room_tokens=room_tokens)]


def test_what_fits_is_put_back_whole() -> None:
    assert chosen([100, 100], [2_000, 3_000], 5_000) == [2_000, 3_000]


def test_the_oldest_results_stay_pointers_and_leave_room_for_their_readings() -> None:
    assert chosen([100, 100, 100], [4_000, 4_000, 2_000], 7_000) == [100, 4_000, 2_000]
    assert chosen([100, 100, 100], [4_000, 4_000, 2_000], 6_500) == [100, 100, 2_000]


def test_the_newest_result_is_put_back_whatever_its_size() -> None:
    assert chosen([100, 100], [2_000, 9_000], 1_000) == [100, 9_000]


def test_messages_without_large_results_stay_as_they_are() -> None:
    message = turn(50)[0]
    assert fit_restored([message], [message], room_tokens=10) == [message]


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(200, 9_000)), max_size=8), st.integers(0, 30_000))
def test_it_fits_or_only_the_newest_is_whole(sizes: list[tuple[int, int]], room_tokens: int) -> None:
    found = chosen([small for small, _ in sizes], [large for _, large in sizes], room_tokens)
    pointers = sum(tokens == small for tokens, (small, _) in zip(found[:-1], sizes, strict=False))
    fits = sum(found) + READING_TOKENS * pointers <= room_tokens
    assert fits or all(tokens == small for tokens, (small, _) in zip(found[:-1], sizes, strict=False))

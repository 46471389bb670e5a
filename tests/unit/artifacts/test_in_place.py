"""Which results stand in place: all that fit, else the newest, changing rarely."""

from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.split import choose_in_place

sizes = st.lists(st.integers(1, 5_000), max_size=20).map(lambda found: dict(enumerate(found, 1)))


@given(sizes, st.integers(0, 20_000))
def test_what_stands_in_place_fits_and_is_the_newest_of_what_could(known: dict[int, int], most: int) -> None:
    chosen = choose_in_place(known, most_tokens=most, room_tokens=4 * most)
    assert sum(known[seq] for seq in chosen) <= most
    could = [seq for seq in known if known[seq] <= most]
    assert sorted(chosen) == could[len(could) - len(chosen) :]
    if sum(known[seq] for seq in could) <= most:
        assert chosen == set(could)


def test_the_oldest_leave_in_portions() -> None:
    changes, before = 0, frozenset[int]()
    for number in range(10, 60):
        now = choose_in_place(dict.fromkeys(range(number), 100), most_tokens=2_000, room_tokens=16_000)
        changes += min(now, default=0) != min(before, default=0)
        before = now
    assert changes <= 5, "of 50 results more"

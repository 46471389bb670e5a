"""Which versions stay: all of the newest, few of many, and always the same few."""

from hypothesis import given
from hypothesis import strategies as st

from context.summary.trigger import KEEP_ALL, versions_to_thin


def kept_of(versions: list[int]) -> list[int]:
    """Store one version after the other, thinning each time."""
    kept: list[int] = []
    for version in versions:
        gone = set(versions_to_thin([*kept, version]))
        kept = [one for one in [*kept, version] if one not in gone]
    return kept


def test_of_five_thousand_versions_about_fifty_stay() -> None:
    kept = kept_of(list(range(1, 5_001)))
    assert len(kept) <= KEEP_ALL + (KEEP_ALL // 2 + 1) * 10
    assert min(kept) < 1_000


def test_without_versions_none_may_go() -> None:
    assert versions_to_thin([]) == []


@given(st.sets(st.integers(1, 2_000), max_size=80))
def test_the_newest_versions_all_stay(versions: set[int]) -> None:
    newest = {version for version in versions if version > max(versions) - KEEP_ALL}
    assert not newest & set(versions_to_thin(versions))


@given(st.lists(st.integers(1, 400), unique=True, min_size=1, max_size=120).map(sorted))
def test_what_is_gone_has_one_beside_it_that_is_hardly_newer(versions: list[int]) -> None:
    """A quarter of its age at most, however the thinning came about."""
    kept = kept_of(versions)
    for version in versions:
        age = versions[-1] - version
        assert any(version <= one <= version + age // 4 for one in kept)

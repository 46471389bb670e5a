"""Values in the memory of a process: fresh for a while, and never too many."""

from math import inf

import pytest

from api.cache import FreshCache, RecentCache


def test_a_fresh_value_is_not_read_again() -> None:
    cache = FreshCache[str, int | None](lambda: inf)
    values = iter([None, 2])
    assert [cache.find("a", lambda: next(values)) for _ in range(2)] == [None, None]
    cache.drop("a")
    assert cache.find("a", lambda: next(values)) == 2
    cache.forget()
    assert cache.fresh("a") is None


def test_an_old_value_is_read_again() -> None:
    cache = FreshCache[str, int](lambda: 0)
    values = iter([1, 2])
    assert [cache.find("a", lambda: next(values)) for _ in range(2)] == [1, 2]
    assert cache.fresh("a") is None


def test_a_value_is_as_old_as_its_reading() -> None:
    cache = FreshCache[str, int](lambda: 60)
    assert (cache.keep("a", 1, since=-inf), cache.fresh("a")) == (1, None)
    assert (cache.keep("a", 1), cache.fresh("a")) == (1, 1)


def test_of_too_many_values_the_oldest_goes() -> None:
    cache = FreshCache[str, int](lambda: inf, most=2)
    for number, key in enumerate("abac"):
        cache.keep(key, number)
    assert [cache.fresh(key) for key in "abc"] == [2, None, 3]


def test_a_value_that_cannot_be_read_is_not_kept() -> None:
    cache = FreshCache[str, int](lambda: inf)
    with pytest.raises(ZeroDivisionError):
        cache.find("a", lambda: 1 // 0)
    assert cache.find("a", lambda: 1) == 1


def test_of_too_many_values_the_least_recently_used_goes() -> None:
    cache = RecentCache[str, str](lambda: 4, len)
    for key in ("a", "b", "a", "c"):
        assert cache.find(key, lambda key=key: 2 * key) == 2 * key  # type: ignore[misc]
    assert [cache.get(key) for key in "abc"] == ["aa", None, "cc"]
    cache.keep("d", "heavier")
    assert [cache.get(key) for key in "acd"] == [None] * 3
    assert cache.keep("e", "ee") == cache.get("e")

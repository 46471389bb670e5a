"""Values in the memory of a process: fresh for a while, and never too many."""

import time
from math import inf
from uuid import UUID

import pytest

from api.cache import FreshCache, LessonCache, RecentCache
from api.settings import api_settings


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
    assert cache.keep("d", "heavier") == "heavier"
    assert [cache.get(key) for key in "acd"] == ["aa", "cc", None]  # it would not fit, and drives out nothing
    cache.keep("a", "heavier")
    assert [cache.get(key) for key in "ac"] == [None, "cc"]
    assert cache.keep("e", "ee") == cache.get("e")


@pytest.mark.parametrize("is_settled", [True, False])
def test_the_reports_of_a_settled_model_count_again_after_the_time_of_sampling(
    is_settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons, tenant_id = LessonCache[int](lambda *_: 0, lambda _: is_settled), UUID(int=1)
    began, every_s = time.monotonic(), api_settings().calibration_settled_every_s
    monkeypatch.setattr(time, "monotonic", lambda: began)
    assert not lessons.is_sampled_out(tenant_id, "m")
    lessons.learn(tenant_id, "m", 100)
    found = []
    for passed_s in (0, every_s - 1, every_s):
        monkeypatch.setattr(time, "monotonic", lambda at=began + passed_s: at)
        found.append(lessons.is_sampled_out(tenant_id, "m"))
    assert found == [is_settled, is_settled, False]
    assert not lessons.is_sampled_out(UUID(int=2), "m")

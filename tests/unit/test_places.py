"""Calls of one tenant that are worked on at once, by counts and in order."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import anyio
import pytest
from anyio import Event, create_task_group, wait_all_tasks_blocked

from api.http.errors import ProblemError
from api.http.places import TenantPlaces

ONE, OTHER = UUID(int=1), UUID(int=2)
LONG_S = 300.0


class Calls:
    """Calls that stay until they are let go."""

    def __init__(self, places: TenantPlaces) -> None:
        self._places = places
        self.inside: list[str] = []
        self.refused: list[str] = []
        self._ends: dict[str, Event] = {}

    async def call(self, name: str, tenant_id: UUID) -> None:
        self._ends[name] = Event()
        try:
            await self._places.enter(tenant_id)
        except ProblemError:
            self.refused.append(name)
            return
        self.inside.append(name)
        try:
            await self._ends[name].wait()
        finally:
            self.inside.remove(name)
            self._places.leave(tenant_id)

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await wait_all_tasks_blocked()


@asynccontextmanager
async def calling(
    places: TenantPlaces, *wanted: tuple[str, UUID]
) -> AsyncIterator[tuple[Calls, anyio.abc.TaskGroup]]:
    calls = Calls(places)
    async with create_task_group() as tasks:
        for name, tenant_id in wanted:
            tasks.start_soon(calls.call, name, tenant_id)
            await wait_all_tasks_blocked()
        yield calls, tasks
        tasks.cancel_scope.cancel()


def test_a_tenant_that_fills_its_places_leaves_those_of_others_free() -> None:
    async def run() -> None:
        places = TenantPlaces(most=2, most_waiting=0, wait_s=LONG_S)
        wanted = [("a", ONE), ("b", ONE), ("c", ONE), ("d", OTHER), ("e", OTHER)]
        async with calling(places, *wanted) as (calls, _):
            assert calls.inside == ["a", "b", "d", "e"]
            assert calls.refused == ["c"]

    anyio.run(run)


def test_calls_wait_for_a_place_in_the_order_in_which_they_came() -> None:
    async def run() -> None:
        places = TenantPlaces(most=1, most_waiting=2, wait_s=LONG_S)
        async with calling(places, ("a", ONE), ("b", ONE), ("c", ONE), ("d", ONE)) as (calls, tasks):
            assert (calls.inside, calls.refused) == (["a"], ["d"])
            await calls.end("a")
            assert calls.inside == ["b"]
            tasks.start_soon(calls.call, "e", ONE)
            await wait_all_tasks_blocked()
            await calls.end("b")
            assert calls.inside == ["c"]
            await calls.end("c")
            assert (calls.inside, calls.refused) == (["e"], ["d"])

    anyio.run(run)


@pytest.mark.parametrize("most", [1, 3])
def test_all_places_are_free_again_when_the_calls_are_over(most: int) -> None:
    async def run() -> None:
        places = TenantPlaces(most=most, most_waiting=9, wait_s=LONG_S)
        async with calling(places, *[(f"{number}", ONE) for number in range(9)]):
            pass
        assert places._rooms == {}

    anyio.run(run)


def test_a_call_that_waited_for_too_long_is_refused_and_one_that_was_cut_off_takes_no_place() -> None:
    async def run() -> None:
        places = TenantPlaces(most=1, most_waiting=9, wait_s=0.01)
        async with calling(places, ("a", ONE)) as (calls, _):
            await calls.call("late", ONE)
            assert calls.refused == ["late"]
            with anyio.move_on_after(0.001):
                await calls.call("cut off", ONE)
            await calls.end("a")
            assert places._rooms == {}
            assert calls.refused == ["late"]

    anyio.run(run)

"""A few wait for one session; who comes later is sent away at once, and others hear nothing of it."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import anyio
import pytest

from api.http.errors import ProblemError
from api.http.waiting import EVERYBODY, Key, Turnstile

PATIENCE_S = 5.0
TENANT, OTHER = uuid4(), uuid4()
ONE: Key = (TENANT, "s1")


class Scene:
    """Calls that come in and stay until they are let go, by a clock that the test moves."""

    def __init__(self) -> None:
        self.time = 0.0
        self.patience_s = PATIENCE_S
        self.turnstile = Turnstile(now=lambda: self.time)
        self.inside: list[str] = []
        self.unready: set[str] = set()
        self.sent_away: list[str] = []
        self.goes = anyio.Event()
        self.told: set[tuple[str, object]] = set()

    async def call(self, name: str, key: Key = ONE) -> None:
        try:
            async with self.turnstile.passed({key: 2, EVERYBODY: 5}) as entry:
                if name not in self.unready:
                    self.turnstile.begin(entry, self.patience_s)
                self.inside.append(name)
                await self.goes.wait()
                self.inside.remove(name)
        except ProblemError as error:
            self.told.add((error.code, error.numbers["outcome"]))
            self.sent_away.append(name)


async def settle() -> None:
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


def play(act: Callable[[Scene, Any], Awaitable[None]]) -> Scene:
    async def run() -> Scene:
        scene = Scene()
        async with anyio.create_task_group() as calls:
            await act(scene, calls)
            scene.goes.set()
        return scene

    return anyio.run(run)


def test_so_many_are_inside_and_the_next_waits_for_one_to_leave() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        for name in "abc":
            calls.start_soon(scene.call, name)
        await settle()
        assert scene.inside == ["a", "b"]
        scene.goes.set()
        await settle()
        assert (scene.inside, scene.sent_away) == ([], [])

    assert play(act).sent_away == []


def test_who_comes_while_the_first_has_waited_for_long_is_sent_away_at_once() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        for name in "ab":
            calls.start_soon(scene.call, name)
        await settle()
        scene.time = PATIENCE_S
        for name in "cde":
            calls.start_soon(scene.call, name)
        await settle()
        assert (scene.inside, scene.sent_away) == (["a", "b"], ["c", "d", "e"])
        calls.start_soon(scene.call, "f", (TENANT, "s2"))
        calls.start_soon(scene.call, "g", (OTHER, "s1"))
        await settle()
        assert scene.inside == ["a", "b", "f", "g"]

    play(act)


def test_many_held_sessions_leave_places_to_those_who_only_read() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        for number in range(7):
            calls.start_soon(scene.call, str(number), (TENANT, f"s{number}"))
        await settle()
        assert len(scene.inside) == 5
        scene.time = PATIENCE_S
        calls.start_soon(scene.call, "late", (TENANT, "s9"))
        await settle()
        assert scene.sent_away == ["late"]
        assert scene.told == {("unavailable", "none")}

    assert play(act).inside == []


def test_who_waits_gives_up_when_patience_is_over() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        scene.patience_s = 0.01
        for name in "abc":
            calls.start_soon(scene.call, name)
        with anyio.fail_after(60):
            while not scene.sent_away:
                scene.time += 0.01
                await anyio.sleep(0.01)
        assert (scene.inside, scene.sent_away) == (["a", "b"], ["c"])

    play(act)


def test_nobody_loses_patience_with_a_call_that_waits_for_its_own_start() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        scene.unready = {"a", "b"}
        for name in "abc":
            calls.start_soon(scene.call, name)
        await settle()
        scene.time = 100 * PATIENCE_S
        calls.start_soon(scene.call, "d")
        await settle()
        assert (scene.inside, scene.sent_away) == (["a", "b"], [])

    assert play(act).sent_away == []


def test_a_call_about_many_sessions_waits_for_the_one_that_is_held() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        for name in "ab":
            calls.start_soon(scene.call, name)
        await settle()
        scene.time = PATIENCE_S
        many: dict[Key, int] = {(TENANT, f"s{number}"): 2 for number in range(9)}
        with pytest.raises(ProblemError):
            async with scene.turnstile.passed(many):
                pass
        async with scene.turnstile.passed({key: most for key, most in many.items() if key != ONE}):
            calls.start_soon(scene.call, "f", (TENANT, "s2"))
            await settle()
        assert scene.inside == ["a", "b", "f"]

    play(act)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_who_fails_inside_leaves_its_place(error: type[BaseException]) -> None:
    async def run() -> None:
        turnstile = Turnstile()
        for _ in range(3):
            with pytest.raises(error):
                async with turnstile.passed({ONE: 1}):
                    raise error
        assert not turnstile._inside

    anyio.run(run)

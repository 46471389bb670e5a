"""A few wait for one session; who comes later is sent away at once, and others hear nothing of it."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from api.http.errors import ProblemError
from api.http.waiting import Key, Turnstile

PATIENCE_S = 5.0
ONE: Key = (b"key", "s1")


class Scene:
    """Calls that come in and stay until they are let go, by a clock that the test moves."""

    def __init__(self) -> None:
        self.time = 0.0
        self.patience_s = PATIENCE_S
        self.turnstile = Turnstile(5, now=lambda: self.time)
        self.inside: list[str] = []
        self.sent_away: list[str] = []
        self.goes = anyio.Event()
        self.told: set[tuple[str, object]] = set()

    async def call(self, name: str, key: Key = ONE) -> None:
        try:
            async with self.turnstile.passed(key, most=2, patience_s=self.patience_s):
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
        calls.start_soon(scene.call, "f", (b"key", "s2"))
        calls.start_soon(scene.call, "g", (b"other", "s1"))
        await settle()
        assert scene.inside == ["a", "b", "f", "g"]

    play(act)


def test_many_held_sessions_leave_places_to_those_who_only_read() -> None:
    async def act(scene: Scene, calls: Any) -> None:
        for number in range(7):
            calls.start_soon(scene.call, str(number), (b"key", f"s{number}"))
        await settle()
        assert len(scene.inside) == 5
        scene.time = PATIENCE_S
        calls.start_soon(scene.call, "late", (b"key", "s9"))
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


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_who_fails_inside_leaves_its_place(error: type[BaseException]) -> None:
    async def run() -> None:
        turnstile = Turnstile(1)
        for _ in range(3):
            with pytest.raises(error):
                async with turnstile.passed(ONE, most=1, patience_s=PATIENCE_S):
                    raise error
        assert not turnstile._inside
        assert not turnstile._all

    anyio.run(run)

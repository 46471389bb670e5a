"""Flows: the client's logic as generators of effects, run by a blocking or an asynchronous runner.

A flow yields an effect; a runner performs the effect and sends the result back. All decisions stand in flows.
A runner knows how to send bytes, how to wait and how to go on in the background, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, cast

import httpx


@dataclass(frozen=True)
class Fetch:
    """Effect: send a request and read the whole answer; the result is a `Reply`.

    Attributes:
        method: The HTTP method.
        path: The path below the base address, with the query.
        content: The encoded body; None without a body.
        headers: Headers of this call.
        timeout_s: Longest time of the call, in seconds, > 0.
    """

    method: str
    path: str
    content: bytes | None
    headers: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True)
class Pause:
    """Effect: wait; the result is True if the client is closed meanwhile.

    Attributes:
        seconds: The time to wait, >= 0.
    """

    seconds: float


@dataclass(frozen=True)
class Background:
    """Effect: run another flow beside the caller, unless such a flow already runs.

    Attributes:
        make: Builds the flow.
    """

    make: Callable[[], Flow[None]]


Effect: TypeAlias = "Fetch | Pause | Background"
T = TypeVar("T")
P = ParamSpec("P")
Core = TypeVar("Core")
Flow: TypeAlias = Generator["Effect", Any, T]


@dataclass(frozen=True)
class Reply:
    """The answer to a `Fetch`.

    Attributes:
        status: The HTTP status.
        headers: The headers of the answer.
        content: The decoded body.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class _Ended(Exception):  # noqa: N818 - no error: carries the result of a flow
    def __init__(self, value: Any) -> None:
        self.value = value


def _resume(flow: Flow[Any], result: Any, error: BaseException | None) -> Effect:
    """Go on with a flow until its next effect."""
    try:
        return flow.send(result) if error is None else flow.throw(error)
    except StopIteration as end:
        raise _Ended(end.value) from None


@dataclass
class Runner:
    """Runs flows and blocks meanwhile; safe to use from many threads.

    Attributes:
        http: The connections.
    """

    http: httpx.Client
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _starting: threading.Lock = field(default_factory=threading.Lock)

    def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end and return its result."""
        result: Any = None
        error: BaseException | None = None
        while True:
            try:
                effect = _resume(flow, result, error)
            except _Ended as end:
                value: T = end.value
                return value
            result = error = None
            try:
                result = self._perform(effect)
            except BaseException as caught:  # noqa: BLE001 - handed to the flow, which decides
                error = caught

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Fetch):
            return self._fetch(effect)
        if isinstance(effect, Pause):
            return self._stopping.wait(effect.seconds)
        return self._start(effect)

    def _fetch(self, effect: Fetch) -> Reply:
        request = self.http.build_request(
            effect.method,
            effect.path,
            content=effect.content,
            headers=effect.headers,
            timeout=effect.timeout_s,
        )
        ends_at = time.monotonic() + effect.timeout_s
        response = self.http.send(request, stream=True)
        try:
            parts = []
            for part in response.iter_bytes():
                parts.append(part)
                if time.monotonic() > ends_at:
                    raise httpx.ReadTimeout("the answer came too slowly", request=request)
            return Reply(response.status_code, response.headers, b"".join(parts))
        finally:
            response.close()

    def _start(self, effect: Background) -> None:
        with self._starting:
            if self._stopping.is_set() or (self._thread and self._thread.is_alive()):
                return
            self._thread = threading.Thread(
                target=self.run, args=(effect.make(),), name="afterturn-outbox", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """End the background flow and close every connection."""
        self._stopping.set()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join()
        self.http.close()


@dataclass
class AsyncRunner:
    """Runs flows in an event loop of asyncio.

    Attributes:
        http: The connections.
    """

    http: httpx.AsyncClient
    _task: asyncio.Task[None] | None = None
    _stopped: bool = False

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow to its end and return its result."""
        result: Any = None
        error: BaseException | None = None
        while True:
            try:
                effect = _resume(flow, result, error)
            except _Ended as end:
                value: T = end.value
                return value
            result = error = None
            try:
                result = await self._perform(effect)
            except BaseException as caught:  # noqa: BLE001 - handed to the flow, which decides
                error = caught

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Fetch):
            return await self._fetch(effect)
        if isinstance(effect, Pause):
            return await asyncio.sleep(effect.seconds)
        return self.start(effect)

    async def _fetch(self, effect: Fetch) -> Reply:
        request = self.http.build_request(
            effect.method,
            effect.path,
            content=effect.content,
            headers=effect.headers,
            timeout=effect.timeout_s,
        )
        try:
            response = await asyncio.wait_for(self.http.send(request), effect.timeout_s)
        except asyncio.TimeoutError:
            raise httpx.ReadTimeout("the answer came too slowly", request=request) from None
        return Reply(response.status_code, response.headers, response.content)

    def start(self, effect: Background) -> None:
        """Run a flow as a task of the loop, unless one runs."""
        if not self._stopped and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self.run(effect.make()))

    async def close(self) -> None:
        """End the background task and close every connection."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self.http.aclose()


def blocking(method: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """Make a blocking method of a core's flow: the same name, arguments and documentation."""

    @wraps(method)
    def call(shell: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return cast("T", shell._runner.run(method(shell._core, *args, **kwargs)))  # noqa: SLF001 - its colour

    return cast("Callable[Concatenate[Any, P], T]", call)


def awaited(
    method: Callable[Concatenate[Any, P], Flow[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Make a coroutine method of a core's flow: the same name, arguments and documentation."""

    @wraps(method)
    async def call(shell: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return cast("T", await shell._runner.run(method(shell._core, *args, **kwargs)))  # noqa: SLF001 - its colour

    return cast("Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]", call)


class BlockingShell(Generic[Core]):
    """A core with a blocking runner."""

    def __init__(self, core: Core, runner: Runner) -> None:
        """Share a runner."""
        self._core, self._runner = core, runner


class AsyncShell(Generic[Core]):
    """A core with an asynchronous runner."""

    def __init__(self, core: Core, runner: AsyncRunner) -> None:
        """Share a runner."""
        self._core, self._runner = core, runner

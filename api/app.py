"""The application: routers, errors, and the duration of each answer."""

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial

from anyio import to_thread
from fastapi import FastAPI
from fastapi_offline import FastAPIOffline
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import events, keys, metrics, model_limits, plans, usage, work
from api.artifacts import attachments
from api.artifacts import routes as artifacts
from api.catalogs import budgets, prior_sets
from api.catalogs import routes as catalogs
from api.context import compress
from api.context import routes as contexts
from api.context.first_reads import prepare_catalogs
from api.http import errors, health
from api.http.caller_limits import KeepPlaces, TenantPlaces, limits
from api.http.errors import NoteDeeds
from api.http.middleware import (
    GuardAnswers,
    KeepAnswers,
    MeasureRequests,
    NameRequests,
    RequestTimes,
    TraceRequests,
)
from api.http.openapi import API_VERSION, describe_calls
from api.http.process_group import group
from api.inspector import routes as inspector
from api.mcp.door import McpDoor
from api.preflight import routes as preflight_calls
from api.sessions import erase, history, sync, tenant
from api.sessions import routes as sessions
from api.settings import MCP_PATH, api_settings
from api.shadow import routes as shadow
from api.turns import append, changes
from api.turns import routes as turns
from context.tokens import count_text
from models.process_start import require_settings
from models.settings import RELEASE
from models.telemetry.counters import flushing
from models.telemetry.tracing import close_traces, name_process, tracing_settings

API_HEADER = (b"afterturn-api", API_VERSION.encode())
"""Tells clients whether they fit."""


class DescribeAnswers:
    """Say in headers how long the server took, in milliseconds, and the version of the API."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Time a request."""
        started = time.perf_counter()

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start":
                spent_ms = (time.perf_counter() - started) * 1000
                message["headers"] = [
                    *message.get("headers", []),
                    (b"server-timing", f"total;dur={spent_ms:.2f}".encode()),
                    API_HEADER,
                ]
            await send(message)

        await self.app(scope, receive, timed if scope["type"] == "http" else send)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Check the settings, set the number of threads, and load ranks and catalogs before the first request."""
    require_settings()
    to_thread.current_default_thread_limiter().total_tokens = api_settings().api_threads
    await to_thread.run_sync(count_text, "warm")
    await to_thread.run_sync(prepare_catalogs)
    _spare_collections()
    limits.open()
    group.tell_ready()
    try:
        with flushing():
            async with app.state.mcp.open():
                yield
    finally:
        await to_thread.run_sync(close_traces)
        await to_thread.run_sync(limits.close)


@cache
def _spare_collections() -> None:
    """Keep the garbage collector from what lives as long as the process; once for each process."""
    gc.collect()
    gc.freeze()


def make_app() -> FastAPI:
    """Build the application."""
    app = FastAPIOffline(  # its pages come from the package: a machine without the internet shows them too
        title="Afterturn",
        version=API_VERSION,
        summary=f"The background half of a chat platform: turns in, contexts out. Release {RELEASE}.",
        lifespan=_lifespan,
    )
    limits.begin()
    for router in (
        turns.router,
        append.router,
        changes.router,
        sync.router,
        tenant.router,
        history.router,
        history.windows,
        contexts.router,
        compress.router,
        model_limits.router,
        sessions.router,
        shadow.router,
        erase.router,
        attachments.router,
        artifacts.router,
        artifacts.listing,
        catalogs.router,
        prior_sets.router,
        budgets.router,
        plans.router,
        preflight_calls.router,
        usage.router,
        work.router,
        events.router,
        keys.router,
        tenant.retention,
        health.router,
        metrics.router,
        inspector.router,
    ):
        app.include_router(router)
    app.state.mcp = McpDoor()
    app.router.routes.append(Route(MCP_PATH, app.state.mcp, include_in_schema=False))
    errors.install(app)
    _bound_tenants(app)
    for around in (KeepAnswers, GuardAnswers, DescribeAnswers):
        app.add_middleware(around)
    app.state.snapshots, app.state.request_times = metrics.Snapshots(), RequestTimes()
    app.add_middleware(MeasureRequests, times=app.state.request_times)
    if tracing_settings().traces:
        name_process("api")
        app.add_middleware(TraceRequests)
    app.add_middleware(NameRequests)
    app.add_middleware(NoteDeeds)
    app.openapi = cache(partial(describe_calls, app))  # type: ignore[method-assign]
    return app


def _bound_tenants(app: FastAPI) -> None:
    """Bound the calls and the event streams of a tenant."""
    settings = api_settings()
    app.state.places = None
    app.state.event_places = TenantPlaces(
        most=settings.tenant_event_streams,
        most_waiting=0,
        wait_s=0,
        said="event streams of this tenant are open",
    )
    if settings.tenant_calls:
        app.state.places = TenantPlaces(
            most=settings.tenant_calls,
            most_waiting=settings.tenant_calls_waiting,
            wait_s=settings.tenant_wait_s,
        )
        app.add_middleware(KeepPlaces, places=app.state.places)

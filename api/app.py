"""The application: routes, middleware, and the OpenAPI document."""

import gc
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi_offline import FastAPIOffline
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import keys, metrics, model_limits, plans, usage, work
from api.artifacts import attachments
from api.artifacts import routes as artifacts
from api.cache import forgetting_unused
from api.catalogs import budgets, prior_sets
from api.catalogs import routes as catalogs
from api.context import compress
from api.context import routes as contexts
from api.context.first_reads import prepare_catalogs
from api.http import errors, health
from api.http.call import read_ids
from api.http.caller_limits import WRITERS_SHARE, KeepPlaces, TenantPlaces, limits
from api.http.errors import NoteDeeds
from api.http.middleware import (
    GuardAnswers,
    KeepAnswers,
    MeasureRequests,
    NameRequests,
    RequestTimes,
    SplitPaths,
    TraceRequests,
)
from api.http.process_group import group
from api.inspector import routes as inspector
from api.mcp.door import McpDoor
from api.preflight import routes as preflight_calls
from api.sessions import erase, history, sync, tenant
from api.sessions import routes as sessions
from api.settings import API_VERSION, MCP_PATH, api_settings
from api.shadow import routes as shadow
from api.turns import append
from api.turns import routes as turns
from context.tokens import count_text
from models.base_settings import RELEASE
from models.process_start import require_settings
from models.telemetry.counters import flushing
from models.telemetry.settings import tracing_settings
from models.telemetry.tracing import close_traces, name_process

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
            async with app.state.mcp.open(), forgetting_unused():
                yield
    finally:
        await to_thread.run_sync(close_traces)
        await to_thread.run_sync(limits.close)


GC_ALLOCATIONS = 10_000
"""Objects allocated between two looks of the garbage collector at young objects; Python's own is 700."""


@cache
def _spare_collections() -> None:
    """Keep the garbage collector from what lives as long as the process; once for each process.

    An answer allocates some ten thousand objects that go with it: to look for cycles 40 times meanwhile
    takes a thirtieth of its time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS)


@cache
def _routes() -> Sequence[BaseRoute]:
    """Collect the routes, once for all applications of a process: to read their parameters takes long."""
    together = APIRouter(dependencies=[Depends(read_ids)])
    for router in (
        turns.router,
        append.router,
        turns.changes,
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
        prior_sets.shares,
        budgets.router,
        plans.router,
        preflight_calls.router,
        usage.router,
        work.router,
        work.events,
        keys.router,
        tenant.retention,
        health.router,
        metrics.router,
        inspector.router,
    ):
        together.include_router(router)
    return together.routes


def make_app() -> FastAPI:
    """Build the application."""
    app = FastAPIOffline(  # its pages come from the package: a machine without the internet shows them too
        title="Afterturn",
        version=API_VERSION,
        summary=f"The background half of a chat platform: turns in, contexts out. Release {RELEASE}.",
        lifespan=_lifespan,
    )
    limits.begin()
    app.router.routes.extend(_routes())
    app.state.mcp = McpDoor()
    app.router.routes.append(Route(MCP_PATH, app.state.mcp, include_in_schema=False))
    errors.install(app)
    _bound_tenants(app)
    for around in (SplitPaths, KeepAnswers, GuardAnswers, DescribeAnswers):
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
    app.state.places = app.state.change_places = None
    app.state.event_places = TenantPlaces(
        most=settings.tenant_event_streams,
        most_waiting=0,
        wait_s=0,
        said="event streams of this tenant are open",
    )
    if settings.tenant_calls:
        bounded = partial(
            TenantPlaces, most_waiting=settings.tenant_calls_waiting, wait_s=settings.tenant_wait_s
        )
        changes = max(int(settings.tenant_calls * WRITERS_SHARE), 1)
        app.state.places = bounded(most=settings.tenant_calls)
        app.state.change_places = bounded(most=changes, said="calls of this tenant change sessions")
        app.add_middleware(KeepPlaces, places=app.state.places, change_places=app.state.change_places)


PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "An RFC 9457 problem document; numbers and the name of the field stand beside these.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "A stable slug."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, in a sentence."},
        "field": {"type": "string", "description": "Which field, where it is one."},
        "limit": {"type": "integer", "description": "The limit that was passed, where it was one."},
        "held": {"type": "boolean", "description": "Whether others changed the same rows for too long."},
    },
}
KEY = {"type": "http", "scheme": "bearer", "description": "A key that `afterturn keys create` printed."}

_EXAMPLES = Path(__file__).parent / "answers" / "examples.json"
_HEADERS = {
    "X-Request-Id": {
        "description": "The name of the request in traces and logs; sent by the caller, or made here.",
        "schema": {"type": "string"},
    },
    "X-Trace-Id": {
        "description": "The id of the request's trace; where traces are on, and this one is sent.",
        "schema": {"type": "string"},
    },
    "Server-Timing": {
        "description": "How long the server took, in milliseconds.",
        "schema": {"type": "string"},
    },
}
_RETRY = {
    "Retry-After": {
        "description": "Seconds after which the call may be sent again; where sending again helps.",
        "schema": {"type": "integer"},
    }
}
_REFUSAL = {
    "description": "The call was refused, and nothing was changed.",
    "headers": {**_HEADERS, **_RETRY},
    "content": {
        "application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "example": {
                "field": "session_id",
                "type": "invalid-input",
                "title": "Invalid input",
                "status": 422,
                "detail": "session_id: must have 1 to 200 characters",
            },
        }
    },
}
_SIGNED = "/v1/"
_OF_THE_FRAMEWORK = ("HTTPValidationError", "ValidationError")


def describe_calls(app: FastAPI) -> dict[str, Any]:
    """Write the OpenAPI document of an application.

    Args:
        app: The application with all routes.

    Returns:
        The document; the framework's own error form is replaced by the problem document.
    """
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    parts = document.setdefault("components", {})
    schemas = {**parts.get("schemas", {}), "Problem": PROBLEM}
    parts["schemas"] = {name: schemas[name] for name in schemas if name not in _OF_THE_FRAMEWORK}
    parts["securitySchemes"] = {"key": KEY}
    examples = json.loads(_EXAMPLES.read_bytes())
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            for answer in operation["responses"].values():
                answer["headers"] = _HEADERS
                for content in answer.get("content", {}).values():
                    content.pop("itemSchema", None)  # of a later version of OpenAPI than the document's
                    content["example"] = examples[operation["operationId"]]
            operation["responses"]["default"] = _REFUSAL
            if path.startswith(_SIGNED):
                operation["security"] = [{"key": []}]
    return document

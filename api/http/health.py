"""Liveness and readiness."""

from collections.abc import Sequence
from typing import Any

import orjson
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy import text

from api.answers.base import answers
from api.answers.sessions import AliveAnswer, ReadyAnswer, ServiceAnswer
from api.http.process_group import group
from api.settings import API_VERSION, api_settings
from context.tokens import count_text
from models.base_settings import RELEASE, newest_migration
from models.database import Transaction, read_transaction
from models.due_work.heartbeat import MODELS_IN_USE, Sign, last_signs
from models.encryption.masters import find_missing_masters

router = APIRouter(tags=["health"])

_SERVICE = {
    "name": "Afterturn",
    "version": API_VERSION,
    "release": RELEASE,
    "docs": "/docs",
    "openapi": "/openapi.json",
    "inspector": "/inspector",
    "mcp": "/mcp",
    "ready": "/readyz",
}


@router.get("/", **answers(ServiceAnswer, "get_service", "Get name and addresses of the service"))
async def show_service(request: Request) -> Response:
    """Answer with the service's name and the addresses of its pages; a browser is led to the description."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/docs")
    shown = api_settings().inspector
    pages = _SERVICE if shown else {key: value for key, value in _SERVICE.items() if key != "inspector"}
    return Response(orjson.dumps(pages), media_type="application/json")


@router.get("/healthz", **answers(AliveAnswer, "check_alive", "Check that the process is alive"))
async def is_alive() -> dict[str, str]:
    """Answer that the process is alive, and with its release."""
    return {"status": "ok", "release": RELEASE}


NEEDED_MIGRATION = newest_migration()
"""The newest migration of this release: a database before it lacks columns; a later database has all."""

_THREADS = 2
_threads: RunVar[CapacityLimiter] = RunVar("threads of health")
"""Own threads for health checks, so that checks never wait behind blocked calls."""


@router.get(
    "/readyz",
    **answers(
        ReadyAnswer,
        "check_ready",
        "Check that requests can be served",
        s503="Requests cannot be served, with the reason.",
    ),
)
async def is_ready() -> Response:
    """Answer whether requests can be served, with the last activity and models of each background role."""
    try:
        threads = _threads.get()
    except LookupError:
        threads = CapacityLimiter(_THREADS)
        _threads.set(threads)
    return await to_thread.run_sync(_look, limiter=threads)


def _look() -> Response:
    serving = sum(one.is_ready for one in group.members()) if group.size > 1 else 1
    checks: dict[str, Any] = {"tokenizer": count_text("ready") > 0, "processes": f"{serving} of {group.size}"}
    is_behind = True
    signs: dict[str, Sign] = {}
    try:
        with read_transaction() as db:
            found = db.execute(text("select version_num from alembic_version")).scalar()
            checks["migration"] = _migration(found)
            is_behind = checks["migration"] != found
            checks["writable"] = _writable(db)
            signs = last_signs(db)
            checks["text_keys"] = _text_keys(find_missing_masters(db))
        checks["database"] = True
    except Exception as error:  # noqa: BLE001 (whatever is wrong, the answer is "not ready" and its kind)
        checks["database"] = type(error).__name__
    ready = all(checks.get(name) is True for name in ("database", "writable", "text_keys", "tokenizer"))
    ready = ready and not is_behind
    content = {
        "status": "ready" if ready else "not ready",
        "checks": checks,
        "last_seen": {role: sign.seen_at for role, sign in signs.items()},
        "models": _models(signs["worker"]) if "worker" in signs else {},
    }
    return Response(orjson.dumps(content), 200 if ready else 503, media_type="application/json")


def _migration(found: str | None) -> str:
    """Name the database's migration, and the needed one if the database is behind this release."""
    if found and found >= NEEDED_MIGRATION:
        return found
    return f"at {found or 'none'}, this release needs {NEEDED_MIGRATION}: run `afterturn migrate`"


def _writable(db: Transaction) -> bool | str:
    """Tell whether the database accepts writes; without writes, reads are answered but turns refused."""
    refuses = text("select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean")
    return "the database takes no changes now" if db.execute(refuses).scalar_one() else True


def _models(sign: Sign) -> dict[str, str]:
    return {purpose: sign.detail[purpose] for purpose in MODELS_IN_USE if purpose in sign.detail}


def _text_keys(missing: Sequence[str]) -> bool | str:
    return f"AFTERTURN_TEXT_KEYS lacks, or has wrong: {', '.join(missing)}" if missing else True

"""Liveness and readiness."""

from collections.abc import Sequence
from typing import Any

import orjson
from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Response
from sqlalchemy import text

from context.tokens import count_text
from models.database import Transaction, read_transaction
from models.due_work.heartbeat import MODELS_IN_USE, Sign, last_signs
from models.rekeying.audit import find_missing_masters

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def is_alive() -> dict[str, str]:
    """Answer that the process is alive."""
    return {"status": "ok"}


_THREADS = 2
_threads: RunVar[CapacityLimiter] = RunVar("threads of health")
"""Own threads for health checks, so that checks never wait behind blocked calls."""


@router.get("/readyz")
async def is_ready() -> Response:
    """Answer whether requests can be served, with the last activity and models of each background role."""
    try:
        threads = _threads.get()
    except LookupError:
        threads = CapacityLimiter(_THREADS)
        _threads.set(threads)
    return await to_thread.run_sync(_look, limiter=threads)


def _look() -> Response:
    checks: dict[str, Any] = {"tokenizer": count_text("ready") > 0}
    signs: dict[str, Sign] = {}
    try:
        with read_transaction() as db:
            checks["migration"] = db.execute(text("select version_num from alembic_version")).scalar()
            checks["writable"] = _writable(db)
            signs = last_signs(db)
            checks["text_keys"] = _text_keys(find_missing_masters(db))
        checks["database"] = True
    except Exception as error:  # noqa: BLE001 (whatever is wrong, the answer is "not ready" and its kind)
        checks["database"] = type(error).__name__
    ready = all(checks.get(name) is True for name in ("database", "writable", "text_keys", "tokenizer"))
    ready = ready and bool(checks.get("migration"))
    content = {
        "status": "ready" if ready else "not ready",
        "checks": checks,
        "last_seen": {role: sign.seen_at for role, sign in signs.items()},
        "models": _models(signs["worker"]) if "worker" in signs else {},
    }
    return Response(orjson.dumps(content), 200 if ready else 503, media_type="application/json")


def _writable(db: Transaction) -> bool | str:
    """Tell whether the database accepts writes; without writes, reads are answered but turns refused."""
    refuses = text("select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean")
    return "the database takes no changes now" if db.execute(refuses).scalar_one() else True


def _models(sign: Sign) -> dict[str, str]:
    return {purpose: sign.detail[purpose] for purpose in MODELS_IN_USE if purpose in sign.detail}


def _text_keys(missing: Sequence[str]) -> bool | str:
    return f"AFTERTURN_TEXT_KEYS lacks, or has wrong: {', '.join(missing)}" if missing else True

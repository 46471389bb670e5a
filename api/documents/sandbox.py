"""Reading of a document in a child process: a decompression bomb costs a refusal, never the server."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import BoundedSemaphore, Condition
from uuid import UUID

from api.documents.child import MEMORY, Extracted, Limits
from api.errors import ProblemError
from models.row_security import caller_tenant
from models.settings import ArtifactSettings

ROOT = Path(__file__).parents[2]
AT_ONCE = 3
"""Most documents read at once; each may use the whole memory allowed for a document."""

OF_A_TENANT = 2
"""Most documents of a tenant read at once, so that a busy tenant leaves places to others."""

WAIT_S = 5.0
"""Longest wait of a document for its turn, in seconds; a waiting document blocks a thread."""

_places = BoundedSemaphore(AT_ONCE)


class _OwnPlaces:
    """Places of each tenant; an idle tenant takes no memory."""

    def __init__(self) -> None:
        self._taken: dict[UUID | None, int] = {}
        self._changed = Condition()

    def acquire(self, tenant_id: UUID | None, timeout_s: float) -> bool:
        with self._changed:
            is_free = self._changed.wait_for(
                lambda: self._taken.get(tenant_id, 0) < OF_A_TENANT, timeout=timeout_s
            )
            if is_free:
                self._taken[tenant_id] = self._taken.get(tenant_id, 0) + 1
            return is_free

    def release(self, tenant_id: UUID | None) -> None:
        with self._changed:
            self._taken[tenant_id] -= 1
            if not self._taken[tenant_id]:
                del self._taken[tenant_id]
            self._changed.notify_all()


_own_places = _OwnPlaces()


def extract_apart(module: str, data: bytes, settings: ArtifactSettings) -> Extracted:
    """Read a document in a child process, by a module of the package.

    Args:
        module: `api.documents.html` or `api.documents.pdf`.
        data: The document.
        settings: The limits.

    Raises:
        ProblemError: The document is refused, exceeds its limits, or too many documents are being read.
    """
    with _place():
        return _answer(_run(module, data, settings))


@contextmanager
def _place() -> Iterator[None]:
    """Hold a place of the tenant, then a place of the process.

    Raises:
        ProblemError: No place becomes free in time.
    """
    tenant_id, ends = caller_tenant(), time.monotonic() + WAIT_S
    if not _own_places.acquire(tenant_id, WAIT_S):
        raise _full()
    try:
        if not _places.acquire(timeout=max(ends - time.monotonic(), 0.0)):
            raise _full()
        try:
            yield
        finally:
            _places.release()
    finally:
        _own_places.release(tenant_id)


def _full() -> ProblemError:
    return ProblemError("unavailable", "other documents are being read; nothing was changed, try again")


def _run(module: str, data: bytes, settings: ArtifactSettings) -> "subprocess.CompletedProcess[bytes]":
    limits = Limits(
        memory_bytes=settings.pdf_memory_bytes,
        cpu_s=int(settings.pdf_timeout_s) + 1,
        most_chars=settings.attachment_max_chars,
        most_pages=settings.pdf_max_pages,
        most_stream_bytes=settings.pdf_max_stream_bytes,
    )
    command = [sys.executable, "-E", "-s", "-B", "-m", module, json.dumps(asdict(limits))]
    try:
        return subprocess.run(  # noqa: S603 (our own interpreter on our own module)
            command,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={},
            timeout=settings.pdf_timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _refused(f"took longer than {settings.pdf_timeout_s:g} s to read") from None


def _answer(ended: "subprocess.CompletedProcess[bytes]") -> Extracted:
    if ended.returncode == MEMORY:
        raise _refused("needs more memory to be read than a document may take")
    if ended.returncode != 0 or not ended.stdout:
        raise _refused("cannot be read: it is damaged, or costs more to read than a document may")
    answer = json.loads(ended.stdout)
    if "refused" in answer:
        numbers = {} if answer["limit"] is None else {"limit": answer["limit"]}
        raise _refused(answer["refused"], **numbers)
    return Extracted(answer["text"], answer["title"], tuple(answer["notes"]))


def _refused(why: str, **numbers: object) -> ProblemError:
    return ProblemError("invalid-input", f"content: {why}", field="content", **numbers)

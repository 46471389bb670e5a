"""Reading of a document in a child process: a decompression bomb costs a refusal, never the server."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Condition
from uuid import UUID

from api.artifacts.documents.child import MEMORY, DocumentLimits, Extracted
from api.http.errors import ProblemError
from api.http.process_group import Row, SharedRows, group
from models.artifacts.settings import ArtifactSettings
from models.tenants.row_security import caller_tenant

ROOT = Path(__file__).parents[3]
AT_ONCE = 3
"""Most documents read at once; each may use the whole memory allowed for a document."""

OF_A_TENANT = 2
"""Of these, so many may be one tenant's while no other reads any; else it has one, and leaves one free."""

LOOK_S = 0.05
"""Seconds between two looks for a place, while a document waits."""

WAIT_S = 5.0
"""Longest wait of a document for its turn, in seconds; a waiting document blocks a thread."""


class ReaderPlaces:
    """The places at which the processes of the group read documents, by tenant."""

    def __init__(self) -> None:
        """Begin with every place free."""
        self._rows = SharedRows(f"{group.size}H", sum, sets=1)
        self._changed = Condition()
        group.at_death(self._forget)

    @contextmanager
    def held(self, tenant_id: UUID | None, wait_s: float) -> Iterator[None]:
        """Hold a place of the tenant.

        Raises:
            ProblemError: None becomes free in time.
        """
        until = time.monotonic() + wait_s
        while not self._take(str(tenant_id)):
            if time.monotonic() >= until:
                raise _full()
            with self._changed:  # a place that another process leaves rings no bell here
                self._changed.wait(LOOK_S)
        try:
            yield
        finally:
            with self._rows.held(str(tenant_id)) as (mark, rows):
                rows[mark] = self._with(rows[mark], -1)
            with self._changed:
                self._changed.notify_all()

    def taken(self) -> int:
        """Count the documents that are read now."""
        with self._rows.held("") as (_, rows):
            return sum(map(sum, rows.values()))

    def _take(self, tenant: str) -> bool:
        with self._rows.held(tenant) as (mark, rows):
            row = rows.get(mark, (0,) * group.size)
            own, taken = sum(row), sum(map(sum, rows.values()))
            most = OF_A_TENANT if own == taken else 1
            if own >= most or taken >= AT_ONCE:
                return False
            rows[mark] = self._with(row, 1)
        return True

    def _forget(self, place: int) -> None:
        self._rows.edit_all(lambda row: tuple(0 if at == place else count for at, count in enumerate(row)))

    @staticmethod
    def _with(row: Row, by: int) -> Row:
        return tuple(count + by if at == group.own else count for at, count in enumerate(row))


places = ReaderPlaces()


def extract_apart(module: str, data: bytes, settings: ArtifactSettings) -> Extracted:
    """Read a document in a child process, by a module of the package.

    Args:
        module: `api.artifacts.documents.html` or `api.artifacts.documents.pdf`.
        data: The document.
        settings: The limits.

    Raises:
        ProblemError: The document is refused, exceeds its limits, or too many documents are being read.
    """
    with places.held(caller_tenant(), WAIT_S):
        return _answer(_run(module, data, settings))


def _full() -> ProblemError:
    return ProblemError("unavailable", "other documents are being read; nothing was changed, try again")


def _run(module: str, data: bytes, settings: ArtifactSettings) -> "subprocess.CompletedProcess[bytes]":
    limits = DocumentLimits(
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

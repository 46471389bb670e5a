"""Serve the API."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from api.http.head_limits import BoundedHeads
from api.http.process_group import group, usable_cores
from api.settings import api_settings
from models.process_start import or_exit, require_settings, tell_start
from models.telemetry.logging import configure_logging

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 (the folder within has a name of its own)
_PREFIX = "afterturn-api-"


_M_ARENA_MAX, _ARENAS = -8, 2
"""Number of the option in glibc's malloc.h, and arenas of memory that all threads of the process share."""


def main() -> None:
    """Listen until told to stop; requests under way are finished first."""
    configure_logging()
    share_arenas()
    with or_exit():
        require_settings()
        settings = api_settings()
    tell_start("api")
    group.widen(settings.api_processes or usable_cores())
    if group.size == 1:
        server = uvicorn.Server(_config())
        with suppress(KeyboardInterrupt):
            server.run()
        sys.exit(0 if server.started else STARTUP_FAILURE)
    with TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=_memory()) as figures:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures  # before the package is imported
        status = _serve_together()
    if status < 0:  # end by the signal, as a process alone does
        signal.signal(-status, signal.SIG_DFL)
        signal.raise_signal(-status)
    sys.exit(status)


def share_arenas() -> None:
    """Let all threads allocate from few arenas: each keeps the most that it ever held at once.

    A C library other than glibc has no such option.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def _memory() -> str | None:
    """Find a folder in memory for values of metrics: on a full disk, to write a mapped file kills.

    Folders of processes that were killed are removed.
    """
    if not os.access(_IN_MEMORY, os.W_OK):
        return None
    for left in _IN_MEMORY.glob(f"{_PREFIX}*"):
        if not Path("/proc", left.name.removeprefix(_PREFIX).partition("-")[0]).exists():
            rmtree(left, ignore_errors=True)
    return str(_IN_MEMORY)


def _serve_together() -> int:
    from api.context.first_reads import warm_ranking  # noqa: PLC0415 (after the group has its size)
    from api.http.parent import serve_together  # noqa: PLC0415 (the same)

    warm_ranking()  # ranks and tables are loaded once for all processes
    return serve_together(_config())


def _config() -> uvicorn.Config:
    from api.app import make_app  # noqa: PLC0415 (after the group has its size)

    return uvicorn.Config(
        make_app(),
        http=BoundedHeads,
        host=api_settings().api_host,
        port=api_settings().api_port,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()

"""More workers beside the two processes of the stack: each waits for a model most of its time."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from afterturn.stack.compose import ROOT
from afterturn.stack.roles import Addresses, application_environment, worker_command

STOPS_WITHIN_S = 30.0


@contextmanager
def more_workers(at: Addresses, processes: int) -> Iterator[int | None]:
    """Run a second worker with so many processes, none for 0. Gives its pid."""
    if processes == 0:
        yield None
        return
    port = urlsplit(at.base_url).port or 0
    settings = application_environment(database_url=at.database_url, broker_url=at.broker_url, api_port=port)
    _, *arguments = worker_command(concurrency=processes, name="more")
    with (at.directory / "logs" / "more-workers.log").open("wb") as log:
        started = subprocess.Popen(  # noqa: S603 (our own command)
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, **settings, "AFTERTURN_PROCESS": "worker"},
            stdout=log,
            stderr=log,
        )
        try:
            yield started.pid
        finally:
            started.terminate()
            started.wait(STOPS_WITHIN_S)

"""A worker whose broker gives up on a hint after a second: it delivers it again while the work is done.

python -m tests.acceptance.faults.short_sighted; it adds each work that begins to the file that BEGUN names.
"""

import os
from pathlib import Path
from typing import Any

from celery.signals import task_prerun

from afterturn.stack.roles import worker_command
from workers.app import app

PATIENCE_S = 1


def note(args: tuple[Any, ...], **_: Any) -> None:
    """Write down whose turn it is."""
    with Path(os.environ["BEGUN"]).open("a") as begun:
        begun.write(" ".join(map(str, args)) + "\n")


def main() -> None:
    """Work as any worker does, but acknowledge hints only at their end."""
    options = {"visibility_timeout": PATIENCE_S, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **options}
    app.conf.task_acks_late = True
    task_prerun.connect(note)
    app.worker_main(worker_command(concurrency=2, name="short-sighted")[5:])


if __name__ == "__main__":
    main()

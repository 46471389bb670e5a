"""A worker whose broker gives up on a bell after a second: it delivers it again while the work is done.

python -m tests.acceptance.faults.short_sighted; it adds the id of each bell to the file that BEGUN names.
"""

import os
from pathlib import Path
from typing import Any

from celery.signals import task_prerun

from afterturn.stack.roles import worker_command
from workers.app import app
from workers.settings import TaskName

PATIENCE_S = 1


def note(task_id: str, task: Any, **_: Any) -> None:
    """Write down which bell it is."""
    if task.name == TaskName.BELL:
        with Path(os.environ["BEGUN"]).open("a") as begun:
            begun.write(f"{task_id}\n")


def main() -> None:
    """Work as any worker does, but acknowledge bells only at their end."""
    options = {"visibility_timeout": PATIENCE_S, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **options}
    app.conf.task_acks_late = True
    task_prerun.connect(note)
    app.worker_main(worker_command(concurrency=2, name="short-sighted")[5:])


if __name__ == "__main__":
    main()

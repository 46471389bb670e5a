"""What a stack leaves in the process table, found without asking the stack."""

import os
from contextlib import suppress
from pathlib import Path


def processes_about(place: Path) -> list[str]:
    """Every live process whose command line, environment or working directory names a place.

    Args:
        place: A path that nothing else on the machine mentions.
    """
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) in (os.getpid(), os.getppid()):
            continue
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            traces = command + (entry / "environ").read_bytes() + os.fsencode((entry / "cwd").readlink())
            if os.fsencode(place) in traces:
                found.append(f"{entry.name} {command.decode(errors='replace')}")
    return found

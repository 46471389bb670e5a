"""A small owner of a stack, for tests that kill it: says each event on its output, then waits."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from afterturn.progress import Stopped, stop_signals
from afterturn.stack.processes import Event
from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack, StackError


def say(event: Event) -> None:
    """One line an event."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Own the two servers, in the directory that is named or a temporary one, until stopped."""
    directory = Path(arguments[0]) if arguments else None
    try:
        with stop_signals():
            say({"event": "owner"})
            with Stack(directory, roles=SERVERS, tell=say) as stack:
                while True:
                    stack.poll(60)
    except Stopped:
        return 0
    except StackError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

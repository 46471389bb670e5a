"""Fuzz the API until so many requests were sent: `python -m tests.fuzz --requests 100000 [--seed N]`."""

import argparse
import logging
import os
import secrets
import sys
import time

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack

SHOWN = 30


def main() -> int:
    """Fuzz, and say what came of it. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.requests} requests", flush=True)  # noqa: T201
    with Stack(roles=SERVERS) as stack:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        os.environ["AFTERTURN_BROKER_URL"] = stack.at.broker_url
        os.environ["AFTERTURN_MAX_WAIT_MS"] = "50"
        return _run(given.seed, given.requests)


def _run(seed: int, requests: int) -> int:
    # Settings are read at import, and the database's address is known only now.
    import structlog  # noqa: PLC0415

    from models import session  # noqa: PLC0415
    from models.tenant import SCOPES, create_key, ensure_tenant  # noqa: PLC0415
    from tests.fuzz.run import fuzz, open_door  # noqa: PLC0415

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with session.transaction() as db:
        key = create_key(db, ensure_tenant(db, "fuzz"), label="fuzz", scopes=SCOPES)
    started = time.monotonic()
    with open_door(key) as door:
        result = fuzz(door, seed, requests)
    spent_s = time.monotonic() - started
    for (operation, status, kind), times in sorted(door.counts.items()):
        print(f"{operation:20} {status} {kind:24} {times:7}")  # noqa: T201
    for (kind, outcome), times in sorted(result.background.outcomes.items()):
        print(f"work {kind:15} {outcome:40} {times:7}")  # noqa: T201
    slow = sorted(door.slowest.items(), key=lambda entry: -entry[1])[:5]
    print("slowest: " + ", ".join(f"{operation} {took_s:.2f} s" for operation, took_s in slow))  # noqa: T201
    print(f"{door.requests} requests in {spent_s:.0f} s; {result.compared} messages read back")  # noqa: T201
    for fault in door.faults[:SHOWN]:
        print(f"FAULT {fault}\n")  # noqa: T201
    print(f"{len(door.faults)} faults, seed {seed}")  # noqa: T201
    return 1 if door.faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""A storm: random faults while several clients talk, and at the end every promise must be kept.

A second beat runs beside the stack's, and a dispatcher and a worker that reach the broker by a wire.

python -m tests.acceptance.faults.chaos [--seconds 60] [--seed N] [--clients 4]
"""

import argparse
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from afterturn.stack.roles import StackRole, beat_command, dispatcher_command, worker_command
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.faults.crowd import Crowd
from tests.acceptance.faults.processes import process
from tests.acceptance.faults.storm import Storm
from tests.acceptance.faults.wire import Wire, wire_to
from tests.acceptance.platform import ROLES, Platform, environment
from tests.oracle import find_remains


def main() -> int:
    """Run a storm, let it settle, and say which promises were broken.

    Returns:
        0 where none was, else 1.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    say(f"seed {given.seed}, {given.seconds:g} s, {given.clients} clients")
    with ScriptedServer() as model:
        os.environ.update(environment(model))
        with Stack(roles=ROLES) as stack:
            platform = Platform(stack, model)
            crowd = Crowd(platform, given.seed)
            with more_processes(platform) as wire:
                storm = Storm(platform, given.seed, wire)
                with crowd.talking(given.clients):
                    storm.blow(given.seconds)
                    storm.allow_commits()
                model.script.clear()
                faults = [
                    *crowd.faults,
                    *unkept(platform),
                    *find_remains(platform.database_url, crowd.erased),
                ]
            report(platform, storm, crowd, faults)
            platform.close()
    return 1 if faults else 0


@contextmanager
def more_processes(platform: Platform) -> Iterator[Wire]:
    """A second beat, and a dispatcher and a worker behind a wire to the broker."""
    port = urlsplit(platform.broker_url).port or 0
    settings = platform.environment_of(StackRole.DISPATCHER)
    with tempfile.TemporaryDirectory() as place, wire_to(port) as wire:
        near = {**settings, "AFTERTURN_BROKER_URL": platform.broker_url.replace(f":{port}", f":{wire.port}")}
        logs = Path(place)
        with (
            process(beat_command(str(logs / "schedule")), settings, logs / "beat"),
            process(dispatcher_command(), near, logs / "dispatcher"),
            process(worker_command(concurrency=1, name="wired"), near, logs / "worker"),
        ):
            yield wire


def unkept(platform: Platform) -> list[str]:
    """What is wrong after all has come to rest."""
    try:
        platform.keeps_its_promises()
    except AssertionError as broken:
        return [str(broken)]
    return []


def report(platform: Platform, storm: Storm, crowd: Crowd, faults: list[str]) -> None:
    """Say what was done to it, what it did meanwhile, and what it broke."""
    for fault, times in sorted(storm.done.items()):
        say(f"  {times:4} x {fault}")
    [(summaries,)] = platform.rows("select count(*) from summary where state = 'active'")
    states = platform.rows("select state, count(*) from llm_call group by state order by state")
    say(
        f"{platform.log.turns} turns acknowledged, {crowd.contexts} contexts, {crowd.resets} resets, "
        f"{len(crowd.erased)} sessions erased, {summaries} summaries, "
        f"calls of the model: {', '.join(f'{count} {state}' for state, count in states)}"
    )
    for fault in faults:
        say(f"BROKEN {fault}")
    say(f"{len(faults)} promises broken")


def say(line: str) -> None:
    """One line for whoever watches."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""Upgrade under traffic, and go back: `make test-upgrade FROM=REF`.

Checks out an earlier release, runs its API and background on an embedded PostgreSQL and Valkey, and walks
through the steps of docs/how-to/upgrade.md while clients talk: migrate, old API with new workers, both
together, new API with old workers, new alone, back to old on the new schema, migrations taken back, and
forward again. Exit 1 where a call was answered wrongly, an acknowledged turn is lost, or a process ended.
"""

import argparse
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.roles import SERVERS, application_environment
from afterturn.stack.stack import Stack
from benchmarks.soak.call import Book
from benchmarks.soak.oracle import look_into_tables, read_back
from benchmarks.soak.platform import Platform, Tenant
from benchmarks.soak.run import Plan, scripted_model, settings, settle
from benchmarks.upgrade.course import Course, count_refusals
from benchmarks.upgrade.releases import ROOT, Release, UpgradeError, check_out, find_previous
from benchmarks.upgrade.traffic import Balanced, talking

CLIENTS = 4
DATABASE = "upgrading"
MOST_SHOWN = 20


def main() -> int:
    """Run the course. Returns the exit code."""
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix="afterturn-upgrade-") as place:
        try:
            faults = _run(asked, Path(place))
        except UpgradeError as error:
            _tell(f"upgrade: {error}")
            return 1
    for fault in faults[:MOST_SHOWN]:
        _tell(f"BROKEN {fault}")
    _tell(f"{len(faults)} promises broken")
    return 1 if faults else 0


def _run(asked: argparse.Namespace, place: Path) -> list[str]:
    folder = asked.folder
    if folder is None:
        ref = asked.ref or find_previous()
        folder = place / "old"
        check_out(ref, folder)
        _tell(f"from {ref[:12]} to this tree, seed {asked.seed}")
    plan = Plan(1, asked.seed, CLIENTS, asked.rate, 2, searches=False, model_s=0.3, faulty=0.0)
    with (
        scripted_model(plan) as model,
        Stack(roles=SERVERS) as stack,
        ReservedPorts() as ports,
        psycopg.connect(stack.at.database_url, autocommit=True) as server,
    ):
        server.execute(f"create database {DATABASE}")
        url = stack.at.database_url.rpartition("/")[0] + f"/{DATABASE}"
        shared = {
            **settings(model.base_url),
            **application_environment(database_url=url, broker_url=stack.at.broker_url, api_port=0),
        }
        logs = asked.logs or place
        logs.mkdir(parents=True, exist_ok=True)
        old, new = Release("old", folder.resolve(), shared, logs), Release("new", ROOT, shared, logs)
        book, began = Book(), time.monotonic()
        listens = {"old": ports.reserve(), "new": ports.reserve()}
        course = Course(old, new, [], listens, book, asked.dwell_s, _tell)
        try:
            course.begin()
            tenants = [[_tenant(old, course, f"c{number}", book, began)] for number in range(CLIENTS)]
            platforms = [Platform(f"{asked.seed} {n}", group, book) for n, group in enumerate(tenants)]
            for platform in platforms:
                platform.prepare()
            with talking(platforms, asked.rate, asked.seed):
                course.walk()
            settle(url, book)
            every = [tenant for group in tenants for tenant in group]
            book.faults += [fault for tenant in every for fault in read_back(tenant)]
            with psycopg.connect(url, autocommit=True) as database:
                book.faults += look_into_tables(database, every, model.served())
        finally:
            course.end()
    turns = sum(len(session.turns) for tenant in every for session in tenant.sessions)
    refusals = count_refusals(book)
    _tell(f"{len(book.calls)} calls, {turns} turns acknowledged, 5xx or no answer: {dict(refusals) or 0}")
    return book.faults


def _tenant(release: Release, course: Course, label: str, book: Book, began: float) -> Tenant:
    """Make a tenant and its key by the old release's command."""
    key = release.run("-m", "afterturn", "keys", "create", "upgrade", "--tenant", label).split()[-1]
    return Tenant(label, Balanced(course.urls, key, book, began))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.upgrade",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--from", dest="ref", default=os.environ.get("FROM"), help="a tag or a commit")
    parser.add_argument("--folder", type=Path, help="files of an earlier release, instead of a commit")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="decides every step")
    parser.add_argument("--rate", type=float, default=6, help="steps a second of all clients")
    parser.add_argument("--dwell-s", type=float, default=20, help="traffic after each step")
    parser.add_argument("--logs", type=Path, help="where logs stay")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

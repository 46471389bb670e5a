"""What requests get, at the door: `python -m benchmarks.served --sets bfcl_memory --budgets 1000,2000`.

Starts a stack with the built-in summarizer, posts conversations as turns, waits until the background is at
rest, reads contexts, and looks for the evidence in the messages that come back. Beside them stand, at the
tokens that history, summary, recall and artifacts took there: plain BM25 over turns, the newest turns, all of
history where it fits, and the recall function over all turns. Exit 1 where a call failed.

Stated budgets are read in the widest window (with --grid in each), no budget in every window. Each window
has sessions of its own.
A set is a folder of the data; its files may have any name that ends in .jsonl or .jsonl.gz.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.report import save
from benchmarks.served.door import Door, open_door
from benchmarks.served.figures import rows_of
from benchmarks.served.files import NoDataError
from benchmarks.served.measure import Case, Measured, Measurement, limits_of
from benchmarks.served.sets import SETS, sample
from benchmarks.served.shown import show

WINDOWS = (8_000, 32_000, 128_000)
BUDGETS = (1_000, 2_000, 4_000, 7_000, None)
MOST_FAILURES = 20


def main() -> int:
    """Measure the sets that are there, print the tables, keep the numbers. Returns the exit code."""
    asked = _asked()
    cases = _cases(asked)
    if not cases:
        print("nothing to measure")
        return 1
    limits = limits_of(asked.windows, asked.budgets, in_each=asked.grid)
    url, key = asked.base_url, asked.api_key
    with open_door(url, key, asked.database_url) as door:
        measured = [Measurement(door, case, rest_s=asked.rest_s).measure(limits, _tell) for case in cases]
    rows = [row for one in measured for row in rows_of(one)]
    show(rows)
    _show_calls(door, measured)
    _keep(asked.json, rows, measured, door)
    return 1 if door.failures else 0


def _cases(asked: argparse.Namespace) -> list[Case]:
    """Read the sets that are there; say of the others why they are left out."""
    cases = []
    for name in asked.sets:
        known = SETS[name]
        for form in (one for one in known.forms if one in (asked.forms or known.usual)):
            talks = known.load(asked.data, form)
            try:
                chosen = sample(talks, every_talk=asked.every_talk, every_ask=asked.every)
            except NoDataError as missing:
                print(f"{name}: skipped, {missing}; --data or AFTERTURN_DATA names its parent")
                break
            cases += [Case(name, form, chosen)] if chosen else []
    return cases


def _tell(line: str) -> None:
    print(line, flush=True)


def _show_calls(door: Door, measured: Sequence[Measured]) -> None:
    for one in measured:
        turns = sum(len(talk.turns) for talk in one.case.talks)
        print(
            f"{one.case.data} ({one.case.form}): {len(one.case.talks)} conversations of {turns:,} turns, "
            f"posted in {one.posted_s:.0f} s, at rest in {one.rested_s:.0f} s; "
            f"{one.asked} contexts in {one.read_s:.0f} s"
        )
    print(f"{door.calls:,} calls, {len(door.failures)} failures")
    for line in door.failures[:MOST_FAILURES]:
        print(f"  {line}")


def _keep(path: Path | None, rows: list[dict[str, Any]], measured: Sequence[Measured], door: Door) -> None:
    readings = [
        {"data": one.case.data, "form": one.case.form, **asdict(reading)}
        for one in measured
        for reading in one.readings
    ]
    found = {"rows": rows, "failures": door.failures[:100], "readings": readings}
    if path:
        path.write_text(json.dumps(found, indent=1) + "\n")
    else:
        save("served", found)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.served",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data = Path(os.environ.get("AFTERTURN_DATA", Path(__file__).parents[2] / "../shared/data"))
    parser.add_argument("--data", type=Path, default=data, help="the folder that holds a folder for each set")
    parser.add_argument("--sets", type=_sets, default=list(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--forms", type=_words, help="roles, group; else each set's usual ones")
    parser.add_argument("--windows", type=_numbers, default=list(WINDOWS), help="of the model, in tokens")
    parser.add_argument("--budgets", type=_budgets, default=list(BUDGETS), help="input tokens, or none")
    parser.add_argument("--grid", action="store_true", help="stated budgets in every window that is larger")
    parser.add_argument("--every", type=_positive, default=1, metavar="N", help="ask every N-th question")
    parser.add_argument("--every-talk", type=_positive, default=1, metavar="N", help="post every N-th talk")
    parser.add_argument("--rest-s", type=float, default=600, help="the longest wait for the background")
    parser.add_argument("--json", type=Path, help="where the numbers go; else benchmarks/results/served.json")
    parser.add_argument("--base-url", help="a stack that runs, instead of one of our own; with --api-key")
    parser.add_argument("--api-key", default=os.environ.get("AFTERTURN_API_KEY"), help="a key of its")
    parser.add_argument("--database-url", default="", help="its database, to see all due work end")
    asked = parser.parse_args()
    if asked.base_url and not asked.api_key:
        parser.error("--base-url needs --api-key, or AFTERTURN_API_KEY")
    return asked


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _sets(text: str) -> list[str]:
    names = _words(text)
    if unknown := set(names) - set(SETS):
        raise argparse.ArgumentTypeError(f"no such set: {', '.join(sorted(unknown))}")
    return names


def _positive(text: str) -> int:
    value = int(text.replace("_", ""))
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _numbers(text: str) -> list[int]:
    return [_positive(word) for word in _words(text)]


def _budgets(text: str) -> list[int | None]:
    return [None if word == "none" else _positive(word) for word in _words(text)]


if __name__ == "__main__":
    sys.exit(main())

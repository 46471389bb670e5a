"""Numbers that were measured before, read again: other habits can be worked out in a second."""

import json
from typing import Any

from benchmarks.report import RESULTS
from benchmarks.scaling.backlog import QueueCost
from benchmarks.scaling.meter import Cost
from benchmarks.scaling.steps import Life
from benchmarks.scaling.trial import Observed, Trial


def read_saved() -> tuple[Life, list[QueueCost], list[Trial]]:
    """What the last run measured.

    Raises:
        FileNotFoundError: There was none.
    """
    saved: dict[str, Any] = json.loads((RESULTS / "scaling.json").read_text())
    life = Life(
        costs={name: Cost(**cost) for name, cost in saved["costs"].items()},
        jobs_per_turn=saved["jobs_per_turn"],
        calls_per_job=saved["calls_per_job"],
        turns=saved["turns"],
        bytes_per_turn=saved["bytes_per_turn"],
    )
    return life, [QueueCost(**one) for one in saved["queue"]], [_trial(one) for one in saved["trials"]]


def _trial(saved: dict[str, Any]) -> Trial:
    both = {name: Observed(**saved[name]) for name in ("measured", "simulated")}
    return Trial(**{**saved, **both})

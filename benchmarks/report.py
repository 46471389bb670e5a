"""Where a benchmark's numbers go: a table for people, JSON for programs."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def save(name: str, results: Any) -> Path:
    """Write one benchmark's numbers to `benchmarks/results/NAME.json`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(results, indent=2) + "\n")
    return path

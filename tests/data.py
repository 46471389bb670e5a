"""The shared data, where it is there: what the tests read of real conversations and never ship."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("AFTERTURN_DATA", ROOT / "../shared/data"))


def data_dir(name: str) -> Path:
    """Name one data set's folder; skip the test, with the reason, where it is absent."""
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"no data set {name!r} under {DATA}; set AFTERTURN_DATA to its parent folder")
    return folder


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, gzipped or not; lines end at newline characters only."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]

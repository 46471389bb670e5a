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


def jsonl_files(folder: Path) -> list[Path]:
    """List the files of JSON lines in a folder, gzipped or not, by name; none where it is missing."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])


def session_file() -> Path:
    """Find the recorded coding session, whatever its file is called; skip the test where there is none."""
    files = jsonl_files(data_dir("pi_sessions"))
    if not files:
        pytest.skip("the folder 'pi_sessions' holds no file of JSON lines")
    return files[0]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines, gzipped or not; lines end at newline characters only."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]

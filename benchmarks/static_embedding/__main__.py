"""Measure a static embedding beside the words of a catalog: does it find tools that share no word?

python -m benchmarks.static_embedding --python PYTHON, an interpreter with `wordllama` (256 dimensions, 16 MB
of weights in its wheel, no compiler, no download).

Recall at k as in `benchmarks.ranking`. The sum is the score of the words, as a share of the best entry's, and
the cosine times a weight. The weight is the best of a few on half 0 of all catalogs; half 1 judges it.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.ranking import CUTS, bm25_ranker
from benchmarks.ranking_data import SHELVES, Shelf, read_shelf
from benchmarks.report import save
from context.ranking.intent import correct_intent, read_intent
from context.ranking.scoring import score_entries

SCRIPT = Path(__file__).parent / "embed.py"
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)

Scores = NDArray[np.float32]
"""A row for each request, a column for each entry."""


def embed(python: Path, shelf: Shelf) -> tuple[Scores, dict[str, float]]:
    """Compute the cosine of each request and each entry, in another interpreter.

    Args:
        python: An interpreter with wordllama.
        shelf: The catalog and its requests.

    Returns:
        The cosines; and the CPU seconds to load, the CPU milliseconds of a request, and the MiB of memory.

    Raises:
        subprocess.CalledProcessError: The interpreter has no wordllama.
    """
    asked = json.dumps([list(shelf.texts), [request.text for request in shelf.requests]])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "vectors.npz"
        ran = subprocess.run(  # noqa: S603 (an interpreter that the caller names)
            [str(python), str(SCRIPT), str(path)], input=asked, capture_output=True, text=True, check=True
        )
        with np.load(path) as vectors:
            cosines: Scores = vectors["requests"] @ vectors["texts"].T
    cost: dict[str, float] = json.loads(ran.stdout)
    return cosines, cost


def score_words(shelf: Shelf) -> Scores:
    """Score the words of each request, as shares of its best entry's score."""
    rows = [
        score_entries(shelf.index, correct_intent(shelf.index, read_intent(request.text)))
        for request in shelf.requests
    ]
    scores = np.asarray(rows, dtype=np.float32)
    best: Scores = scores.max(axis=1, keepdims=True)
    return np.divide(scores, best, out=np.zeros_like(scores), where=best > 0)


def score_bm25(shelf: Shelf) -> Scores:
    """Give the first entries of plain BM25 scores in their order."""
    ranked, scores = bm25_ranker(shelf.texts), np.zeros((len(shelf.requests), len(shelf.texts)), np.float32)
    for row, request in zip(scores, shelf.requests, strict=True):
        for order, place in enumerate(ranked(request.text)):
            row[place] = 1 / (1 + order)
    return scores


def recall(shelf: Shelf, scores: Scores) -> list[list[float]]:
    """Measure recall at each cut: of all requests, of half 0, of half 1."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, : CUTS[-1]]
    shares: dict[int, list[list[float]]] = {0: [], 1: []}
    for places, request in zip(first, shelf.requests, strict=True):
        names = [shelf.names[place] for place in places]
        found = [len(request.tools.intersection(names[:cut])) / len(request.tools) for cut in CUTS]
        shares[request.half].append(found)
    return [_means(each) for each in (shares[0] + shares[1], shares[0], shares[1])]


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [fmean(column) for column in zip(*rows, strict=True)]


def choose_weight(shelves: Sequence[Shelf], words: Sequence[Scores], cosines: Sequence[Scores]) -> float:
    """Choose the weight of the cosine by the mean of all cuts on half 0, each catalog alike."""

    def on_half_0(weight: float) -> float:
        return fmean(
            fmean(recall(shelf, word + weight * cosine)[1])
            for shelf, word, cosine in zip(shelves, words, cosines, strict=True)
        )

    return max(WEIGHTS, key=on_half_0)


def show(rows: Sequence[dict[str, Any]], cost: dict[str, float], weight: float) -> None:
    """Print the table."""
    table = Table(
        "data", "tools", "method", *(f"@{cut}" for cut in CUTS), *(f"half 1 @{cut}" for cut in CUTS)
    )
    for row in rows:
        every, _, judged = row["recall"]
        table.add_row(
            row["data"], str(row["tools"]), row["method"], *(f"{value:.3f}" for value in (*every, *judged))
        )
    console = Console(width=150)
    console.print(table)
    console.print(
        f"Weight of the cosine: {weight}. The embedding loads in {cost['load_s']:.2f} s of CPU, takes "
        f"{cost['memory_mib']:.0f} MiB of a process and {cost['embed_ms']:.2f} ms of CPU for each request."
    )


def main() -> None:
    """Print the table and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.static_embedding", description=__doc__)
    parser.add_argument("--python", type=Path, required=True, help="an interpreter with wordllama")
    asked = parser.parse_args()
    shelves = [read_shelf(name) for name in SHELVES]
    embedded = [embed(asked.python, shelf) for shelf in shelves]
    cosines, words = [each[0] for each in embedded], [score_words(shelf) for shelf in shelves]
    weight = choose_weight(shelves, words, cosines)
    rows = []
    for shelf, word, cosine in zip(shelves, words, cosines, strict=True):
        ways = {"BM25": score_bm25(shelf), "embedding": cosine, "ours": word, "sum": word + weight * cosine}
        for method, scores in ways.items():
            graded = recall(shelf, scores)
            rows.append({"data": shelf.name, "tools": len(shelf.names), "method": method, "recall": graded})
    cost = max((each[1] for each in embedded), key=lambda each: each["memory_mib"])
    show(rows, cost, weight)
    save("static_embedding", {"rows": rows, "weight": weight, "cost": cost})


if __name__ == "__main__":
    main()

"""Sums of readings: shares with their intervals, the paired difference to plain BM25, and a verdict."""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from benchmarks.served.measure import Limit, Measured, Reading, by_limit
from context.types import wilson

_Z = 1.959963984540054
BLOCKS = ("summary", "history", "recall", "user_recall", "artifact")


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean of values in [0, 1]: Wilson's for 0 and 1, else by their spread."""
    if set(values) <= {0.0, 1.0} and (share := wilson(int(sum(values)), len(values))):
        return share.low, share.high
    half = half_width(values)
    return max(fmean(values) - half, 0.0), min(fmean(values) + half, 1.0)


def half_width(values: Sequence[float]) -> float:
    """Half of the 95 % interval of a mean; 0 for one value."""
    return _Z * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def verdict(differences: Sequence[float]) -> str:
    """Say whether served is not below BM25, with half of the interval of the difference as tolerance."""
    mean, half = fmean(differences), half_width(differences)
    if mean < -half:
        return "BELOW"
    return "above" if mean > half else "holds"


def rows_of(measured: Measured) -> list[dict[str, Any]]:
    """One row for each limit."""
    return [_row(measured, limit, readings) for limit, readings in by_limit(measured)]


def _row(measured: Measured, limit: Limit, readings: Sequence[Reading]) -> dict[str, Any]:
    served = [one.served.share for one in readings]
    differences = [one.served.share - one.others.bm25.share for one in readings]
    whole = [one.others.whole.share for one in readings if one.others.whole]
    function = fmean(one.others.function.share for one in readings)
    return {
        "data": measured.case.data,
        "form": measured.case.form,
        "window": limit.window,
        "budget": limit.budget,
        "asks": len(readings),
        "served": fmean(served),
        "served_interval": interval(served),
        "served_present": fmean(one.served.present for one in readings),
        "bm25": fmean(one.others.bm25.share for one in readings),
        "bm25_present": fmean(one.others.bm25.present for one in readings),
        "newest": fmean(one.others.newest.share for one in readings),
        "whole": fmean(whole) if whole else None,
        "whole_fits": len(whole),
        "function": function,
        "function_gap": function - fmean(served),
        "over_bm25": fmean(differences),
        "tolerance": half_width(differences),
        "verdict": verdict(differences),
        "pieces": sum(one.served.pieces for one in readings),
        "lost": {
            "served": sum(one.served.lost for one in readings),
            "bm25": sum(one.others.bm25.lost for one in readings),
            "newest": sum(one.others.newest.lost for one in readings),
        },
        "evidence_tokens": fmean(one.evidence_tokens for one in readings),
        "used_tokens": fmean(sum(one.blocks.values()) for one in readings),
        "free_tokens": fmean(one.free_tokens for one in readings),
        "blocks": {name: fmean(one.blocks.get(name, 0) for one in readings) for name in BLOCKS},
        "recall": dict(Counter(one.recall for one in readings).most_common()),
    }

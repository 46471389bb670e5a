"""Judge the bound of Claude's text on recorded counts, each set of recordings left out in turn.

python -m benchmarks.claude_bound

Sets are requests by endpoint, and a recorded coding session: the messages between two calls, and the windows
grown from them. A set needs the text factor with which none of its counts is above the bound. The factor for
a set is the largest that the other sets need, and `MARGIN` more.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from benchmarks.report import save
from benchmarks.token_counts import DATA, Part, delta_parts, measure, read_jsonl, text_parts
from context.tokens import EMPTY, ModelFamily, Request, family_of, guarantee
from context.tokens.calibration import high_tokens
from context.tokens.families import profile_of

MARGIN = 1.025
"""Distance of the factor in force from the largest that any recording needs."""

LEAST_TOKENS = 300
"""Fewest tokens of a judged part: shorter parts are mostly wrapping, which other constants bound."""

MODEL = "claude-opus-4-5"
SESSION = "coding session"


@dataclass(frozen=True)
class Need:
    """Text factor that a recorded count needs.

    Attributes:
        part: The recorded count.
        factor: The least factor with a bound not below the count.
        bound: The bound in force, before calibration.
    """

    part: Part
    factor: float
    bound: int


def need_of(part: Part) -> Need:
    """Compute the text factor that a recorded count needs; the bound is linear in the factor."""
    profile = profile_of(part.model)
    two, three = (
        high_tokens(part.count, replace(profile, text=(1.0, factor)), part.request) for factor in (2.0, 3.0)
    )
    text = three - two
    factor = 2.0 + (part.reported - two) / text if text else 0.0
    return Need(part, factor, guarantee(part.count, part.model, part.request))


def session_windows(parts: Sequence[Part], starts: Sequence[bool]) -> list[Part]:
    """Add up what was said in a session, from the start or from the last compaction on.

    Args:
        parts: What was said between two calls, in order.
        starts: True for parts that begin a window.
    """
    windows: list[Part] = []
    count, reported = EMPTY, 0
    for part, is_start in zip(parts, starts, strict=True):
        count, reported = (EMPTY, 0) if is_start else (count, reported)
        count, reported = count + part.count, reported + part.reported
        windows.append(replace(part, group="windows", count=count, reported=reported, request=Request()))
    return windows


def read_session() -> tuple[list[Part], list[Part]]:
    """Read the recorded session: parts, and the windows that grew of them."""
    entries = read_jsonl(min((DATA / "pi_sessions").glob("*.jsonl*")))
    rows = [row for row in read_jsonl(DATA / "token_truth" / "pi_deltas.jsonl") if row["between_tokens"] > 0]
    compactions = [entry["i"] for entry in entries if entry["type"] == "compaction"]
    parts, ends = delta_parts(rows, entries), [-1, *(row["to_i"] for row in rows)]
    starts = [any(before < compaction <= end for compaction in compactions) for before, end in pairwise(ends)]
    return parts, session_windows(parts, starts)


def read_sets() -> dict[str, list[Part]]:
    """Read all recorded counts of Claude's older tokenizer, by set."""
    sets: dict[str, list[Part]] = defaultdict(list)
    for record in read_jsonl(DATA / "token_truth" / "text.jsonl.gz"):
        if family_of(record["model"]) is ModelFamily.ANTHROPIC:
            part = text_parts([record])[0]
            if profile_of(part.model).text == profile_of(MODEL).text:
                sets[record["api"]].append(part)
    parts, windows = read_session()
    sets[SESSION] = [part for part in parts if part.reported >= LEAST_TOKENS] + windows
    return sets


def judge(sets: Mapping[str, Sequence[Part]]) -> list[dict[str, Any]]:
    """Judge each set by the factor of the others."""
    needs = {name: [need_of(part) for part in parts] for name, parts in sets.items()}
    rows = []
    for name, own in needs.items():
        others = max(need.factor for other, each in needs.items() if other != name for need in each)
        rows.append(
            {
                "set": name,
                "records": len(own),
                "needed": max(need.factor for need in own),
                "of_others": others * MARGIN,
                "under_left_out": sum(need.factor > others * MARGIN for need in own),
                "under": sum(need.bound < need.part.reported for need in own),
                "overhead": fmean(need.bound / need.part.reported for need in own),
            }
        )
    return rows


def judge_windows(windows: Sequence[Part]) -> dict[str, Any]:
    """Judge the bound of growing windows, before and after each teaches the calibration."""
    samples = measure(windows)
    return {
        "windows": len(samples),
        "under": sum(sample.undercounts for sample in samples),
        "overhead": fmean(need_of(part).bound / part.reported for part in windows),
        "overhead_calibrated": fmean(sample.bound / sample.reported for sample in samples),
    }


def main() -> None:
    """Print the tables and keep the numbers."""
    rows, windows = judge(read_sets()), judge_windows(read_session()[1])
    print(f"factor in force {profile_of(MODEL).text[1]}, margin {MARGIN}")
    heads = f"{'set':<26}{'n':>5}{'needed':>9}{'of others':>11}{'under, left out':>17}"
    print(f"{heads}{'under':>7}{'overhead':>10}")
    for row in rows:
        print(
            f"{row['set']:<26}{row['records']:>5}{row['needed']:>9.3f}{row['of_others']:>11.3f}"
            f"{row['under_left_out']:>17}{row['under']:>7}{row['overhead']:>9.2f}x"
        )
    print(
        f"windows of the session: {windows['windows']}, under {windows['under']}, "
        f"overhead {windows['overhead']:.3f}x, calibrated {windows['overhead_calibrated']:.3f}x"
    )
    save("claude_bound", {"sets": rows, "windows": windows})


if __name__ == "__main__":
    main()

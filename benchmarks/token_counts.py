"""Token counts against what providers reported: errors, the guarantee's under-counts, and counting speed.

Run as `python -m benchmarks.token_counts`; the recordings are looked for under AFTERTURN_DATA.
"""

import gzip
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import save
from benchmarks.token_truth import Request as Recorded
from benchmarks.token_truth import read_request
from context.tokens import (
    UNCALIBRATED,
    Calibration,
    Count,
    EncodingName,
    Request,
    count_openai_chat,
    count_text,
    estimate,
    estimate_tokens_by_length,
    family_of,
    guarantee,
    load_encoding,
    measure_message,
    measure_tools,
    observe,
    total,
)
from context.tokens.pieces import json_text, pieces_of
from context.types import JsonObject

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("AFTERTURN_DATA", ROOT / "../shared/data"))


@dataclass(frozen=True)
class Sample:
    """One measured record: what was reported and what each way of counting says."""

    group: str
    model: str
    reported: int
    before: int
    after: int
    bound: int
    by_four: float
    by_two_fifths: float
    plain: int

    @property
    def undercounts(self) -> bool:
        """Whether the guarantee was too low."""
        return self.bound < self.reported


@dataclass(frozen=True)
class Part:
    """What is needed to count one record: its size and what goes with it."""

    group: str
    model: str
    reported: int
    count: Count
    chars: int
    plain: int
    request: Request | None


def read_jsonl(path: Path) -> list[JsonObject]:
    """Read JSON lines, gzipped or not."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def text_parts(records: Iterable[JsonObject]) -> list[Part]:
    """Count recorded requests."""
    return [_part(read_request(record)) for record in records]


def _part(recorded: Recorded) -> Part:
    counts = [measure_message(body, recorded.wire, model=recorded.model) for body in recorded.messages]
    texts = [text for body in recorded.messages for text in pieces_of(body).texts]
    texts += [json_text(tool) for tool in recorded.tools] + [json_text(recorded.schema)]
    request = Request(
        tools=measure_tools(recorded.tools),
        schema_tokens=count_text(json_text(recorded.schema)),
        forced=recorded.forced,
        thinking=recorded.thinking,
    )
    group = f"{recorded.api.partition('.')[0]} {family_of(recorded.model)}"
    chars, plain = sum(map(len, texts)), sum(map(count_text, texts))
    return Part(group, recorded.model, recorded.reported, total(counts), chars, plain, request)


def delta_parts(deltas: Iterable[JsonObject], entries: Iterable[JsonObject]) -> list[Part]:
    """Count what was said between two calls of a session; its tokens are a difference of two reports."""
    by_index = {entry["i"]: entry for entry in entries}
    parts = []
    for delta in deltas:
        between = (by_index.get(i) for i in range(delta["from_i"] + 1, delta["to_i"]))
        bodies = [entry["message"] for entry in between if entry and entry["type"] == "message"]
        bodies = [{**body, "name": None} for body in bodies]
        texts = [text for body in bodies for text in pieces_of(body).texts]
        count = total(measure_message(body, model=delta["model"]) for body in bodies)
        chars, plain = sum(map(len, texts)), sum(map(count_text, texts))
        parts.append(
            Part("session deltas", delta["model"], delta["between_tokens"], count, chars, plain, None)
        )
    return [part for part in parts if part.reported > 0]


def measure(parts: Iterable[Part]) -> list[Sample]:
    """Predict each record, then learn from it: calibration never sees a record before it is predicted."""
    known: dict[tuple[str, str], Calibration] = defaultdict(lambda: UNCALIBRATED)
    samples = []
    for part in parts:
        key = (part.group, part.model)
        calibration = known[key]
        before = estimate(part.count, part.model, part.request)
        samples.append(
            Sample(
                group=part.group,
                model=part.model,
                reported=part.reported,
                before=before,
                after=estimate(part.count, part.model, part.request, calibration=calibration),
                bound=guarantee(part.count, part.model, part.request, calibration=calibration),
                by_four=part.chars / 4,
                by_two_fifths=part.chars * 2 / 5,
                plain=part.plain,
            )
        )
        known[key] = observe(calibration, model=part.model, estimated=before, reported=part.reported)
    return samples


def summarize(samples: list[Sample]) -> dict[str, Any]:
    """Put numbers on one group."""

    def error(of: Callable[[Sample], float]) -> float:
        return statistics.median(abs(of(sample) - sample.reported) / sample.reported for sample in samples)

    under = [sample for sample in samples if sample.undercounts]
    worst = max((sample.reported - sample.bound for sample in under), default=0)
    return {
        "records": len(samples),
        "median_error": {
            "chars/4": error(lambda sample: sample.by_four),
            "chars*2/5": error(lambda sample: sample.by_two_fifths),
            "o200k": error(lambda sample: sample.plain),
            "before": error(lambda sample: sample.before),
            "after": error(lambda sample: sample.after),
        },
        "bound": {
            "median_ratio": statistics.median(sample.bound / sample.reported for sample in samples),
            "total_ratio": sum(sample.bound for sample in samples)
            / sum(sample.reported for sample in samples),
            "under_share": len(under) / len(samples),
            "under_worst_tokens": worst,
            "under_worst_share": max(
                ((sample.reported - sample.bound) / sample.reported for sample in under), default=0.0
            ),
        },
        "o200k_under_share": sum(sample.plain < sample.reported for sample in samples) / len(samples),
    }


def by_group(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Sort samples into groups, the group of all of them last."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.group].append(sample)
    return groups


def published_errors(records: Iterable[JsonObject]) -> dict[str, tuple[int, int]]:
    """Compare the published chat counts: id -> (published, ours)."""
    chats = [record for record in records if record.get("messages")]
    return {
        record["id"]: (
            record["prompt_tokens"],
            count_openai_chat(record["messages"], record["model"], record.get("tools") or ()),
        )
        for record in chats
    }


def speed() -> dict[str, float]:
    """Measure loading and counting: seconds, and million characters a second."""
    load_encoding.cache_clear()
    began = time.perf_counter()
    load_encoding()
    loaded = time.perf_counter()
    load_encoding(EncodingName.WIDE)
    both = time.perf_counter()
    prose = "The dispatcher claims due work by a lease, then asks a worker (call_0x1f) to do it.\n" * 40_000
    cases = {
        "prose": prose,
        "one letter": "a" * 1_000_000,
        "blanks": " " * 1_000_000,
        "Chinese": "中文" * 500_000,
    }
    rates = {}
    for name, text in cases.items():
        start = time.perf_counter()
        count_text(text)
        rates[f"{name}, Mchar/s"] = len(text) / (time.perf_counter() - start) / 1e6
    start = time.perf_counter()
    estimate_tokens_by_length(prose)
    rates["by length, Mchar/s"] = len(prose) / (time.perf_counter() - start) / 1e6
    return {"load o200k, s": loaded - began, "load wide, s": both - loaded, **rates}


def run() -> dict[str, Any]:
    """Measure everything there is data for."""
    truth = DATA / "token_truth"
    samples = measure(text_parts(read_jsonl(truth / "text.jsonl.gz")))
    images = measure(text_parts(read_jsonl(truth / "images.jsonl.gz")))
    session = read_jsonl(min((DATA / "pi_sessions").glob("*.jsonl*")))
    deltas = measure(delta_parts(read_jsonl(truth / "pi_deltas.jsonl"), session))
    groups = {name: summarize(group) for name, group in sorted(by_group(samples).items())}
    groups["all requests"] = summarize(samples)
    groups |= {f"images: {name}": summarize(group) for name, group in sorted(by_group(images).items())}
    groups["all images"] = summarize(images)
    groups["session deltas"] = summarize(deltas)
    return {
        "groups": groups,
        "published": published_errors(read_jsonl(truth / "openai_published.jsonl")),
        "speed": speed(),
    }


def show(results: dict[str, Any]) -> None:
    """Print the tables."""
    head = f"{'median error':34}{'n':>5}{'chars/4':>9}{'chars*2/5':>11}{'o200k':>8}{'before':>8}{'after':>8}"
    print(head + f"{'bound':>8}{'under':>8}{'worst':>8}")
    for name, group in results["groups"].items():
        errors, bound = group["median_error"], group["bound"]
        print(
            f"{name:34}{group['records']:5}{errors['chars/4']:9.1%}{errors['chars*2/5']:11.1%}{errors['o200k']:8.1%}"
            f"{errors['before']:8.1%}{errors['after']:8.1%}{bound['median_ratio']:7.2f}x{bound['under_share']:8.1%}"
            f"{bound['under_worst_tokens']:8}"
        )
    print("\npublished chat counts (published, ours)")
    for name, (published, ours) in results["published"].items():
        print(f"  {name:34}{published:6}{ours:6}{ours - published:+6}")
    print("\nspeed")
    for name, value in results["speed"].items():
        print(f"  {name:34}{value:8.2f}")


def main() -> int:
    """Measure, print, and keep the numbers."""
    if not (DATA / "token_truth").is_dir():
        print(f"no recordings under {DATA}; set AFTERTURN_DATA", file=sys.stderr)
        return 1
    results = run()
    show(results)
    save("token_counts", results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

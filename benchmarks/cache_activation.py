"""Replay a real session with a prompt cache: when should a summary take effect?

python -m benchmarks.cache_activation

Every policy answers the same recorded requests, at the recorded times or with other pauses between turns.
Prices are ratios to one uncached input token; the summarizer's input is priced as a small model's. First, the
cache model itself is held against the usage that the provider reported.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.cache_replay import Pattern, Policy, Recording, Replay, Tally, read_recording
from benchmarks.report import save
from context.providers.prompt_cache import cache_ttl_s
from context.summary.trigger import Thresholds
from context.tokens.budget import Budget
from context.window.activation import IMMEDIATE, ActivationSettings
from tests.data import DATA, jsonl_files

WINDOWS = (64_000, 128_000, 200_000)
MAX_TOKENS = 8_192
NOTES_TOKENS = 1_300
"""What the summaries of the recorded session themselves come to, in its model's tokens."""

MANY = 100_000
"""A message count that never triggers: then only the window does."""

HOUR_S = 3_600.0


@dataclass(frozen=True)
class Prices:
    """What a token costs, against an uncached one without a cache."""

    name: str
    cached: float
    written: float
    summarizer: float = 0.05


PRICES = (
    Prices("Anthropic", cached=0.1, written=1.25),
    Prices("OpenAI, half", cached=0.5, written=1.0),
    Prices("OpenAI, quarter", cached=0.25, written=1.0),
)

PATTERNS: dict[str, Pattern] = {
    "as recorded": lambda _turn, pause_s: pause_s,
    "pauses x 10": lambda _turn, pause_s: pause_s * 10,
    "an hour off each 10 turns": lambda turn, pause_s: HOUR_S if turn % 10 == 0 else pause_s,
    "an hour before each turn": lambda _turn, _pause_s: HOUR_S,
}

AWARE = ActivationSettings()
BY_WINDOW = Thresholds(message_count=MANY)
ROLLING = Thresholds(message_count=21, keep_messages=20, window_share=0.31)
EARLY = Thresholds(message_count=MANY, window_share=0.525)

POLICIES = (
    Policy("never, oldest turns fall out", None, IMMEDIATE),
    Policy("every turn (rolling)", ROLLING, IMMEDIATE),
    Policy("at once at 75 %", BY_WINDOW, IMMEDIATE),
    Policy("at once at 52.5 %", EARLY, IMMEDIATE),
    Policy("cache-aware", BY_WINDOW, AWARE),
)
BY_COUNT = (
    Policy("at once at 60 messages", Thresholds(), IMMEDIATE),
    Policy("cache-aware, 60 messages", Thresholds(), AWARE),
)


def cost(tally: Tally, prices: Prices) -> float:
    """What a replay costs, in uncached input tokens."""
    spent = tally.cached * prices.cached + tally.uncached * prices.written
    return spent + tally.summarizer_tokens * prices.summarizer


def check_model(recording: Recording) -> dict[str, int]:
    """Hold the cache model against the reported usage of the very requests that were sent."""
    ttl_s, last = cache_ttl_s(recording.model), 0
    said = {"reported cached": 0, "predicted cached": 0, "explained misses": 0, "unexplained misses": 0}
    for asked in recording.asked:
        shrunk = asked.prompt_tokens < last * 0.9
        predicted = 0 if asked.pause_s > ttl_s or shrunk else last
        said["reported cached"] += asked.usage["cacheRead"]
        said["predicted cached"] += predicted
        if last and asked.usage["cacheRead"] < last / 2:
            said["unexplained misses" if predicted else "explained misses"] += 1
        last = asked.prompt_tokens
    return said


def replays(recording: Recording) -> Iterator[tuple[str, int, str, Tally]]:
    """Every pattern, window and policy."""
    for pattern, pauses in PATTERNS.items():
        for window in WINDOWS:
            for policy in POLICIES + BY_COUNT:
                budget = Budget(window, MAX_TOKENS)
                replay = Replay(recording, policy, budget, notes_tokens=NOTES_TOKENS, pattern=pauses)
                yield pattern, window, policy.name, replay.run()


def describe(pattern: str, window: int, policy: str, tally: Tally) -> dict[str, object]:
    """One replay's numbers."""
    return {
        "pattern": pattern,
        "window": window,
        "policy": policy,
        "cached_tokens": tally.cached,
        "uncached_tokens": tally.uncached,
        "breaks": tally.breaks,
        "broken_tokens": tally.broken_tokens,
        "activations": tally.activations,
        "summaries": tally.summaries,
        "summarizer_tokens": tally.summarizer_tokens,
        "median_raw_tokens": tally.median_raw,
        "requests_with_history_left_out": tally.unseen,
        "requests_over_budget": tally.over,
        "cost": {prices.name: round(cost(tally, prices)) for prices in PRICES},
    }


def show(console: Console, pattern: str, window: int, rows: list[tuple[str, Tally]]) -> None:
    """Print one table: a line a policy; costs relative to swapping at once at 75 %."""
    floor = dict(rows)["at once at 75 %"]
    table = Table(title=f"{pattern}, window of {window:,} tokens")
    columns = (
        "policy",
        "cached",
        "uncached",
        "breaks",
        "lost to breaks",
        "took effect",
        "summaries",
        "raw",
        "left out",
    )
    for name in (*columns, *(prices.name for prices in PRICES)):
        table.add_column(name, justify="left" if name in {"policy", "took effect"} else "right")
    for name, tally in rows:
        table.add_row(
            name,
            f"{tally.cached / 1e6:.2f}M",
            f"{tally.uncached / 1e6:.2f}M",
            str(tally.breaks),
            f"{tally.broken_tokens / 1e3:.0f}k",
            ", ".join(f"{count} {why}" for why, count in tally.activations.items()),
            str(tally.summaries),
            f"{tally.median_raw / 1e3:.0f}k",
            str(tally.unseen),
            *(f"{cost(tally, prices) / cost(floor, prices):.0%}" for prices in PRICES),
        )
    console.print(table)


def main() -> None:
    """Print every table and keep the numbers."""
    console = Console(width=180)
    recording = read_recording(jsonl_files(DATA / "pi_sessions")[0])
    console.print(
        f"{len(recording.asked)} requests of {recording.model}, {len(recording.messages)} messages, "
        f"{recording.scale:.2f} of its tokens for one of ours; prices: {PRICES}"
    )
    checked = check_model(recording)
    console.print("cache model against reported usage:", checked)
    results = list(replays(recording))
    for pattern in PATTERNS:
        for window in WINDOWS:
            show(console, pattern, window, [(p, t) for a, w, p, t in results if (a, w) == (pattern, window)])
    console.print("costs are relative to `at once at 75 %` of the same table; lower is cheaper")
    save("cache_activation", {"model": checked, "replays": [describe(*result) for result in results]})


if __name__ == "__main__":
    main()

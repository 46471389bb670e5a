"""Replay a recorded session under a policy of summarizing, and count what a prompt cache gives of it."""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from context.conversation.turns import split_turns
from context.providers.prompt_cache import cache_ttl_s
from context.summary.trigger import Load, SummaryCut, Thresholds, find_trigger, plan_cut
from context.tokens import count_message
from context.tokens.budget import Budget
from context.types import Message, Role
from context.window.activation import ActivationSettings, Moment, choose_activation, prepare_thresholds
from tests.data import read_jsonl

Pattern = Callable[[int, float], float]
"""From a turn's number and the pause before it, in seconds, to the pause to replay."""


@dataclass(frozen=True)
class Asked:
    """A request to the model: how much of the log it carried, and when.

    Attributes:
        stop: It could carry `messages[:stop]`.
        pause_s: Seconds since the request before it.
        turn: The number of its turn, from 0.
        opens: Whether it is the first of its turn.
        usage: What the provider reported.
    """

    stop: int
    pause_s: float
    turn: int
    opens: bool
    usage: dict[str, int]

    @property
    def prompt_tokens(self) -> int:
        """All input that the provider billed, cached or not."""
        return self.usage["input"] + self.usage["cacheRead"] + self.usage["cacheWrite"]


@dataclass(frozen=True)
class Recording:
    """A session as it was recorded: its messages in the model's tokens, and its requests."""

    model: str
    messages: list[Message]
    asked: list[Asked]
    fixed_tokens: int
    scale: float


def read_recording(path: Path) -> Recording:
    """Read a session; tokens are scaled so that counted growth matches the reported growth."""
    entries = [entry for entry in read_jsonl(path) if entry["type"] == "message"]
    messages = [_message(seq, entry["message"]) for seq, entry in enumerate(entries, 1)]
    asked = _requests(entries)
    counted = list(accumulate((message.tokens for message in messages), initial=0))
    grown = [
        ((after.prompt_tokens - before.prompt_tokens), counted[after.stop] - counted[before.stop])
        for before, after in pairwise(asked)
        if after.prompt_tokens > before.prompt_tokens
    ]
    scale = sum(real for real, _ in grown) / sum(ours for _, ours in grown)
    scaled = [replace(message, tokens=round(message.tokens * scale)) for message in messages]
    fixed = asked[0].prompt_tokens - scaled[0].tokens
    model = next(entry["meta"]["model"] for entry in entries if entry.get("meta", {}).get("model"))
    return Recording(model, scaled, asked, max(fixed, 0), scale)


def _message(seq: int, body: dict[str, Any]) -> Message:
    calls = tuple(call["id"] for call in body.get("tool_calls") or ())
    answers = (body["tool_call_id"],) if body.get("tool_call_id") else ()
    sent = {key: value for key, value in body.items() if key != "reasoning_content"}
    return Message(seq, Role(body["role"]), count_message(sent), json.dumps(sent), calls, answers)


def _requests(entries: Sequence[dict[str, Any]]) -> list[Asked]:
    asked: list[Asked] = []
    turn, opens, last = -1, False, _time(entries[0])
    for index, entry in enumerate(entries):
        if entry["message"]["role"] == "user":
            turn, opens = turn + 1, True
        usage = entry.get("meta", {}).get("usage")
        if not usage or not usage["totalTokens"]:
            continue
        asked.append(Asked(index, (_time(entry) - last).total_seconds(), turn, opens, usage))
        opens, last = False, _time(entry)
    return asked


def _time(entry: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["timestamp"])


@dataclass(frozen=True)
class Policy:
    """When a session is summarized, and when that takes effect; no thresholds: never."""

    name: str
    thresholds: Thresholds | None
    activation: ActivationSettings


@dataclass
class Tally:
    """What a replay spent, in tokens of the model."""

    cached: int = 0
    uncached: int = 0
    breaks: int = 0
    broken_tokens: int = 0
    activations: dict[str, int] = field(default_factory=dict)
    summaries: int = 0
    summarizer_tokens: int = 0
    over: int = 0
    unseen: int = 0
    raw_tokens: list[int] = field(default_factory=list)

    @property
    def input_tokens(self) -> int:
        """All input, cached or not."""
        return self.cached + self.uncached

    @property
    def median_raw(self) -> int:
        """How much raw history a request had, at the median."""
        return round(statistics.median(self.raw_tokens))

    def count(self, activation: str) -> None:
        """Note why a summary took effect."""
        self.activations[activation] = self.activations.get(activation, 0) + 1


@dataclass(frozen=True)
class _Notes:
    """A summary: how far it goes, and what it costs."""

    stop: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class _Sent:
    """The prefix that the provider remembers of the last request."""

    notes: _Notes
    start: int
    tokens: int


class Replay:
    """A session under a policy: what is in force, what is prepared, and what the provider remembers."""

    def __init__(
        self, recording: Recording, policy: Policy, budget: Budget, *, notes_tokens: int, pattern: Pattern
    ) -> None:
        self.recording, self.policy, self.budget = recording, policy, budget
        self.notes_tokens, self.pattern = notes_tokens, pattern
        self.before = list(accumulate((message.tokens for message in recording.messages), initial=0))
        self.turns = split_turns(recording.messages)
        self.active, self.prepared = _Notes(), None if policy.thresholds is None else _Notes()
        self.sent: _Sent | None = None
        self.tally = Tally()

    def run(self) -> Tally:
        """Replay every request; the worker has done its part by the time of the next turn."""
        for asked in self.recording.asked:
            pause_s = self.pattern(asked.turn, asked.pause_s) if asked.opens else asked.pause_s
            if asked.opens:
                self._work(asked.stop)
            self._request(asked.stop, pause_s)
        return self.tally

    def _load(self, notes: _Notes, stop: int) -> Load:
        return Load(
            raw_messages=stop - notes.stop,
            raw_tokens=self.before[stop] - self.before[notes.stop],
            summary_tokens=notes.tokens,
            system_tokens=self.recording.fixed_tokens,
        )

    def _pressed(self, stop: int) -> bool:
        thresholds = self.policy.thresholds
        return bool(thresholds and find_trigger(self._load(self.active, stop), self.budget, thresholds))

    def _work(self, stop: int) -> None:
        """What the summarizer does after a turn; under pressure, what it made takes effect at once."""
        thresholds = self.policy.thresholds
        if thresholds is None:
            return
        pressed = self._pressed(stop)
        base = self.prepared or self.active
        load = self._load(base, stop)
        early = prepare_thresholds(thresholds, self.policy.activation, pressed=pressed)
        if find_trigger(load, self.budget, early):
            cut = plan_cut(self.recording.messages[base.stop : stop], load, self.budget, early)
            if cut:
                self._summarize(base, cut)
        self._activate(Moment(self.recording.model, 0, pressed=pressed))

    def _summarize(self, base: _Notes, cut: SummaryCut) -> None:
        self.tally.summaries += 1
        self.tally.summarizer_tokens += cut.tokens + base.tokens
        tokens = min(self.notes_tokens, (cut.tokens + base.tokens) // 2)
        self.prepared = _Notes(base.stop + cut.stop, tokens)

    def _activate(self, moment: Moment) -> None:
        why = choose_activation(moment, self.policy.activation)
        if why and self.prepared and self.prepared.stop > self.active.stop:
            self.active = self.prepared
            self.tally.count(why)

    def _request(self, stop: int, pause_s: float) -> None:
        unfit = self._start(stop) > self.active.stop
        self._activate(Moment(self.recording.model, pause_s, pressed=unfit))
        start = self._start(stop)
        head = self.recording.fixed_tokens + self.active.tokens
        tokens = head + self.before[stop] - self.before[start]
        self.tally.raw_tokens.append(tokens - head)
        self.tally.over += tokens > self.budget.input_tokens
        self.tally.unseen += start > self.active.stop
        warm = pause_s <= cache_ttl_s(self.recording.model, self.policy.activation.cache_ttl_s)
        cached = self._common(start) if warm else 0
        if warm and self.sent and cached < self.sent.tokens:
            self.tally.breaks += 1
            self.tally.broken_tokens += self.sent.tokens - cached
        self.tally.cached += cached
        self.tally.uncached += tokens - cached
        self.sent = _Sent(self.active, start, tokens)

    def _common(self, start: int) -> int:
        """The prefix that this request shares with the last one."""
        if self.sent is None:
            return 0
        if self.sent.notes != self.active:
            return self.recording.fixed_tokens
        if self.sent.start != start:
            return self.recording.fixed_tokens + self.active.tokens
        return self.sent.tokens

    def _start(self, stop: int) -> int:
        """Where the raw tail starts: after the summary, or where the newest whole turns that fit start."""
        room = self.budget.input_tokens - self.recording.fixed_tokens - self.active.tokens
        starts = [turn.start for turn in self.turns if self.active.stop <= turn.start < stop]
        fitting = (start for start in starts if self.before[stop] - self.before[start] <= room)
        return next(fitting, starts[-1] if starts else stop)

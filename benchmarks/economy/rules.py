"""Rules of systems whose packages are too heavy to run here, written anew from their public sources.

OpenHands' `LLMSummarizingCondenser` (software-agent-sdk): more than 240 events, or a refusal for length, make
it forget the middle: the first two events stay, a note follows, then the newest half. picoclaw's default
manager (pkg/agent/context_legacy.go): after a turn, more than 20 messages or 75 % of the window at two fifths
of a token a character are summarized up to the last four, results of tools unread, more than ten messages in
two halves that are merged; a request that is too large drops the older half of its turns.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import httpx

from benchmarks.economy.background import Spent
from context.tokens.message import count_message
from context.types import JsonObject

MAX_EVENTS, KEPT_FIRST = 240, 2
MOST_MESSAGES, KEPT_LAST, MOST_AT_ONCE, WINDOW_SHARE = 20, 4, 10, 0.75

Write = Callable[[Sequence[JsonObject]], str]


class Rule(Protocol):
    """What a system keeps of a conversation."""

    def send(self, new: Sequence[JsonObject]) -> list[JsonObject]:
        """Take in what is new, and write the next request."""

    def finish(self, rest: Sequence[JsonObject]) -> None:
        """Take in the rest of a turn, which is over."""


class OpenHands:
    """The rule of the summarizing condenser."""

    name = "OpenHands' rule"

    def __init__(self, write: Write, room: int) -> None:
        """Begin with nothing."""
        self._write, self._room = write, room
        self._kept: list[JsonObject] = []

    def send(self, new: Sequence[JsonObject]) -> list[JsonObject]:
        """Forget the middle of too many events, or of too long a request."""
        self._kept += new
        if len(self._kept) > MAX_EVENTS:
            self._forget(MAX_EVENTS // 2)
        while size_of(self._kept) > self._room and self._forget(len(self._kept) // 2):
            pass
        return list(self._kept)

    def finish(self, rest: Sequence[JsonObject]) -> None:
        """Keep all of it."""
        self._kept += rest

    def _forget(self, target: int) -> bool:
        first = whole_from(self._kept, KEPT_FIRST)
        last = whole_from(self._kept, max(len(self._kept) - max(target - first - 1, 1), first))
        forgotten = self._kept[first:last]
        if len(forgotten) < 2:
            return False
        note = {"role": "user", "content": self._write(forgotten)}
        self._kept = [*self._kept[:first], note, *self._kept[last:]]
        return True


class Picoclaw:
    """The rule of the default manager."""

    name = "picoclaw's rule"

    def __init__(self, write: Write, room: int) -> None:
        """Begin with nothing."""
        self._write, self._room = write, room
        self._kept: list[JsonObject] = []
        self._notes = ""

    def send(self, new: Sequence[JsonObject]) -> list[JsonObject]:
        """Drop the older half of the turns while the request is too large."""
        self._kept += new
        while size_of(self._request()) > self._room and self._drop():
            pass
        return self._request()

    def finish(self, rest: Sequence[JsonObject]) -> None:
        """Summarize what is older than the last messages, if there are too many."""
        self._kept += rest
        written = sum(len(str(one.get("content") or "")) for one in self._kept) * 2 // 5
        if len(self._kept) > MOST_MESSAGES or written > self._room * WINDOW_SHARE:
            self._summarize()

    def _request(self) -> list[JsonObject]:
        notes = [{"role": "system", "content": self._notes}] if self._notes else []
        return [*notes, *self._kept]

    def _drop(self) -> bool:
        starts = turn_starts(self._kept)
        if len(starts) < 2:
            return False
        middle = starts[len(starts) // 2]
        self._notes = f"{self._notes}\n\n[{middle} oldest messages dropped]".strip()
        self._kept = self._kept[middle:]
        return True

    def _summarize(self) -> None:
        most = len(self._kept) - KEPT_LAST
        cut = max((start for start in turn_starts(self._kept) if start <= most), default=0)
        said = [
            one
            for one in self._kept[:cut]
            if one["role"] in {"user", "assistant"}
            and len(str(one.get("content") or "")) // 2 <= self._room // 2
        ]
        if not said:
            return
        before = [{"role": "user", "content": self._notes}] if self._notes else []
        if len(said) > MOST_AT_ONCE:
            halves = [said[: len(said) // 2], said[len(said) // 2 :]]
            said = [{"role": "user", "content": self._write(half)} for half in halves]
            before = []
        self._notes = self._write([*before, *said])
        self._kept = self._kept[cut:]


def size_of(messages: Sequence[JsonObject]) -> int:
    """Count the tokens of messages."""
    return sum(map(count_message, messages))


def turn_starts(messages: Sequence[JsonObject]) -> list[int]:
    """List the places of the users' messages."""
    return [place for place, one in enumerate(messages) if one["role"] == "user"]


def whole_from(messages: Sequence[JsonObject], place: int) -> int:
    """Move a cut behind the results of a call, so that no pair is split."""
    while place < len(messages) and messages[place]["role"] == "tool":
        place += 1
    return place


def run_rules(
    courses: Sequence[Sequence[Sequence[JsonObject]]],
    moments: Sequence[Sequence[Sequence[int]]],
    *,
    room: int,
    model_url: str,
) -> Iterator[dict[str, Any]]:
    """Run every rule on every conversation, and yield lines like those of the systems that run themselves.

    Args:
        courses: Messages, by conversation and turn.
        moments: Numbers of a turn's messages at its requests, by conversation and turn.
        room: The most tokens of a request.
        model_url: Where the scripted model answers.
    """
    for kind in (OpenHands, Picoclaw):
        for place, turns in enumerate(courses):
            spent = Spent()
            with httpx.Client(trust_env=False, timeout=60) as client:
                rule = kind(_writer(client, model_url, spent), room)
                yield from _live(rule, kind.name, place, turns, moments[place])
            yield {"peer": kind.name, "course": place, "spent": vars(spent)}


def _live(
    rule: Rule,
    name: str,
    course: int,
    turns: Sequence[Sequence[JsonObject]],
    moments: Sequence[Sequence[int]],
) -> Iterator[dict[str, Any]]:
    for number, (turn, places) in enumerate(zip(turns, moments, strict=True)):
        done = 0
        for place in places:
            sent = rule.send(turn[done:place])
            done = place
            yield {"peer": name, "course": course, "turn": number, "place": place, "messages": sent}
        rule.finish(turn[done:])


def _writer(client: httpx.Client, url: str, spent: Spent) -> Write:
    def write(messages: Sequence[JsonObject]) -> str:
        said = "\n".join(f"{one['role']}: {one.get('content') or one.get('tool_calls')}" for one in messages)
        prompt = f"Summarize this conversation.\n<messages>\n{said}\n</messages>"
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]}
        answer = client.post(f"{url}/chat/completions", json=body).raise_for_status().json()
        usage = answer["usage"]
        spent.add(Spent(1, usage["prompt_tokens"], usage["completion_tokens"]))
        return str(answer["choices"][0]["message"]["content"])

    return write

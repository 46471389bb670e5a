"""Conversations for a slow model: short, with facts planted, and all in English."""

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, takewhile
from pathlib import Path

from afterturn.conversations.bundled import bundled_conversation
from afterturn.conversations.formats import EventLine
from benchmarks.extractive_summaries import read_conversations
from benchmarks.served.planted import events_of, planted_talk
from benchmarks.served.sets import SETS
from benchmarks.served.talks import Talk, make_turns
from context.shadow.facts import PLANTED, planted_turns
from context.types import JsonObject

SHARED = ("tau_airline", "bfcl_memory", "qmsum")
FACTS = 6
LEAST_TOKENS = 2_500
"""A shorter conversation fits a window of 4,000 tokens, and calls for no summary."""


def read_talks(data: Path, *, each: int, most_tokens: int) -> Iterator[Talk]:
    """Read the bundled conversations, and some of each shared set that is there.

    Args:
        data: Folder of the shared sets.
        each: Number of conversations of a set.
        most_tokens: Longest part of a conversation.
    """
    bundled = [event.body() for event in bundled_conversation().events]
    yield _planted("bundled", bundled, most_tokens)
    said = [{"messages": [_of("user", asked), _of("assistant", told)]} for asked, told in planted_turns()]
    yield _planted("staircase", said, most_tokens)
    for name in SHARED:
        found = (_planted(f"{name}-{place}", events, most_tokens) for place, events in _shared(data, name))
        yield from islice((talk for talk in found if talk.tokens >= LEAST_TOKENS), each)


def _shared(data: Path, name: str) -> Iterator[tuple[int, list[JsonObject]]]:
    if not (data / name).is_dir():
        print(f"{name}: skipped, not under {data}; AFTERTURN_DATA names its parent")
    elif name in {"bfcl_memory", "qmsum"}:
        known = SETS[name]
        for place, talk in enumerate(known.load(data, known.usual[0])):
            yield place, [turn.event for turn in talk.turns]
    else:
        os.environ.setdefault("AFTERTURN_DATA", str(data))
        for place, bodies in enumerate(read_conversations(name)):
            yield place, events_of([EventLine(body) for body in bodies])


def _planted(name: str, events: Sequence[JsonObject], most_tokens: int) -> Talk:
    """Cut a conversation to its beginning, plant facts in it, and number its turns anew."""
    turns = make_turns(map(_bare, events))
    sums = accumulate(turn.tokens for turn in turns)
    kept = [turn for turn, _ in takewhile(lambda pair: pair[1] <= most_tokens, zip(turns, sums, strict=True))]
    return planted_talk(name, [_bare(turn.event) for turn in kept], PLANTED[:FACTS])


def _bare(event: JsonObject) -> JsonObject:
    """Keep messages and speaker of an event; its id changes with its place."""
    return {key: event[key] for key in ("messages", "speaker") if key in event}


def _of(role: str, content: str) -> JsonObject:
    return {"role": role, "content": content}

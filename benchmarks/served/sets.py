"""The data sets as conversations with questions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.served.files import read_rows
from benchmarks.served.needs import tasks
from benchmarks.served.planted import channels, errands, prompts, sessions
from benchmarks.served.talks import AnswerGold, Ask, SpanGold, Talk, make_turns
from context.types import JsonObject

ROLES, GROUP = "roles", "group"
"""Two forms of a talk: roles alone, or several people, each named."""

PEOPLE = ("Ann", "Bea", "Cem")
"""Who speaks in the group form of talks that name nobody: one person a part."""


def memories(data: Path, form: str) -> Iterator[Talk]:
    """One person tells about himself in several parts; all of a scenario is one session."""
    for row in read_rows(data / "bfcl_memory", lambda row: {"scenario", "sessions", "qa"} <= row.keys()):
        told = [
            (PEOPLE[place % len(PEOPLE)], message)
            for place, part in enumerate(row["sessions"])
            for message in part["messages"]
        ]
        turns = make_turns(
            {"messages": [message], **({"speaker": speaker} if form == GROUP else {})}
            for speaker, message in told
        )
        asks = tuple(
            Ask(one["id"], _user(one["question"]), AnswerGold(tuple(map(str, one["answers"]))))
            for one in row["qa"]
        )
        yield Talk(str(row["scenario"]), turns, asks)


def meetings(data: Path, form: str) -> Iterator[Talk]:
    """A meeting, each utterance a turn of its speaker; the spans that answer a question are known."""
    for row in read_rows(data / "qmsum", lambda row: {"turns", "specific"} <= row.keys()):
        turns = make_turns(
            {"messages": [_user(words)], **({"speaker": speaker} if form == GROUP else {})}
            for speaker, words in row["turns"]
        )
        talk = Talk(str(row["id"]), turns)
        asks = tuple(
            Ask(
                f"{row['id']}-{place}",
                _user(one["query"]),
                SpanGold.of(talk.passages, [(first + 1, last + 1) for first, last in one["spans"]]),
            )
            for place, one in enumerate(row["specific"])
        )
        yield replace(talk, asks=asks)


def _user(words: str) -> JsonObject:
    return {"role": "user", "content": words}


Loader = Callable[[Path, str], Iterator[Talk]]

SETS: Mapping[str, tuple[Loader, tuple[str, ...]]] = {
    "bfcl_memory": (memories, (ROLES, GROUP)),
    "qmsum": (meetings, (GROUP,)),
    "tau_airline": (tasks, (ROLES,)),
    "pi_sessions": (sessions, (ROLES,)),
    "livemcp": (errands, (ROLES,)),
    "irc_ubuntu": (channels, (GROUP,)),
    "multilingual": (prompts, (ROLES,)),
}
"""By name: how a set is read, and the forms in which it is posted."""


def sample(talks: Iterator[Talk], *, every_talk: int, every_ask: int) -> list[Talk]:
    """Take every so-manieth conversation and, of all their questions, every so-manieth."""
    taken: list[Talk] = []
    seen = 0
    for place, talk in enumerate(talks):
        if place % every_talk:
            continue
        asks = tuple(ask for number, ask in enumerate(talk.asks, seen) if number % every_ask == 0)
        seen += len(talk.asks)
        if asks:
            taken.append(replace(talk, asks=asks))
    return taken

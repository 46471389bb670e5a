"""The data sets as conversations with questions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from afterturn.conversations.formats import EventLine
from benchmarks.served.files import read_rows
from benchmarks.served.needs import tasks
from benchmarks.served.planted import channels, errands, events_of, prompts, sessions, trajectories
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
        yield Talk(str(row["scenario"]), turns, _questions(row))


def users(data: Path, _form: str) -> Iterator[Talk]:
    """One person tells about himself in several sessions, and has agents run errands in others.

    A scenario is a user. The errands lie evenly between the sessions that tell; nobody asks for them.
    """
    errands = trajectories(data)
    for row in read_rows(data / "bfcl_memory", lambda row: {"scenario", "sessions", "qa"} <= row.keys()):
        told = [[{"messages": [message]} for message in part["messages"]] for part in row["sessions"]]
        after = [len(errands) * (place + 1) // len(told) for place in range(len(told))]
        sessions = [
            session
            for part, first, last in zip(told, [0, *after], after, strict=False)
            for session in (part, *errands[first:last])
        ]
        turns = make_turns(event for session in sessions for event in session)
        breaks = tuple(accumulate(map(len, sessions)))
        yield Talk(str(row["scenario"]), turns, _questions(row), breaks)


def _questions(row: JsonObject) -> tuple[Ask, ...]:
    return tuple(
        Ask(one["id"], _user(one["question"]), AnswerGold(tuple(map(str, one["answers"]))))
        for one in row["qa"]
    )


def meetings(data: Path, form: str) -> Iterator[Talk]:
    """A meeting; the spans that answer a question are known.

    As a group each utterance is a turn of its speaker. With two roles, who says most is the assistant.
    """
    for row in read_rows(data / "qmsum", lambda row: {"turns", "specific"} <= row.keys()):
        said = [(str(speaker), str(words)) for speaker, words in row["turns"]]
        talk = Talk(str(row["id"]), make_turns(_of_people(said) if form == GROUP else _of_two(said)))
        asks = tuple(
            Ask(
                f"{row['id']}-{place}",
                _user(one["query"]),
                SpanGold.of(talk.passages, [(first + 1, last + 1) for first, last in one["spans"]]),
            )
            for place, one in enumerate(row["specific"])
        )
        yield replace(talk, asks=asks)


def _of_people(said: Sequence[tuple[str, str]]) -> list[JsonObject]:
    return [{"messages": [_user(words)], "speaker": speaker} for speaker, words in said]


def _of_two(said: Sequence[tuple[str, str]]) -> list[JsonObject]:
    [(leader, _)] = Counter(speaker for speaker, _ in said).most_common(1)
    roles = (
        "assistant" if place and speaker == leader else "user" for place, (speaker, _) in enumerate(said)
    )
    return events_of(
        [EventLine({"role": role, "content": words}) for role, (_, words) in zip(roles, said, strict=True)]
    )


def _user(words: str) -> JsonObject:
    return {"role": "user", "content": words}


Loader = Callable[[Path, str], Iterator[Talk]]


@dataclass(frozen=True)
class DataSet:
    """How a set is read.

    Attributes:
        load: Reads it in a form.
        forms: In which it can be posted.
        usual: In which it is, where nobody says.
    """

    load: Loader
    forms: tuple[str, ...]
    usual: tuple[str, ...]


SETS: Mapping[str, DataSet] = {
    "bfcl_memory": DataSet(memories, (ROLES, GROUP), (ROLES, GROUP)),
    "bfcl_users": DataSet(users, (ROLES,), (ROLES,)),
    "qmsum": DataSet(meetings, (ROLES, GROUP), (GROUP,)),
    "tau_airline": DataSet(tasks, (ROLES,), (ROLES,)),
    "pi_sessions": DataSet(sessions, (ROLES,), (ROLES,)),
    "livemcp": DataSet(errands, (ROLES,), (ROLES,)),
    "irc_ubuntu": DataSet(channels, (GROUP,), (GROUP,)),
    "multilingual": DataSet(prompts, (ROLES,), (ROLES,)),
}


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

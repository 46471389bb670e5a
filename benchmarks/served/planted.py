"""Conversations without questions of their own: facts are planted in them, and asked for at the end."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from afterturn.conversations.formats import EventLine, Transcript, to_conversation
from benchmarks.served.files import read_files, read_rows
from benchmarks.served.talks import Ask, FactsGold, Talk, make_turns
from context.shadow.facts import PLANTED, Planted
from context.types import JsonObject

FOREIGN = Path(__file__).parent / "planted.json"
"""Facts of the same kind in other languages, by the names that the data has for these."""

TOGETHER = 10
"""So many trajectories of agents make one session."""

TELLER, HEARER = "Ann", "Bea"
"""Who speaks of planted facts among people."""


def sessions(data: Path, _form: str) -> Iterator[Talk]:
    """Read recorded sessions of a coding agent, one a file."""
    for name, rows in read_files(data / "pi_sessions", _is_entry):
        entries = [EventLine(row["message"], at=row.get("timestamp")) for row in rows]
        yield planted_talk(name, events_of(entries), PLANTED)


def errands(data: Path, _form: str) -> Iterator[Talk]:
    """Read trajectories of agents with many tools; several make one session."""
    every = trajectories(data)
    for start in range(0, len(every), TOGETHER):
        events = [event for one in every[start : start + TOGETHER] for event in one]
        yield planted_talk(f"errands-{start}", events, PLANTED)


def trajectories(data: Path) -> list[list[JsonObject]]:
    """Read trajectories of agents, each as its turns."""
    rows = read_rows(data / "livemcp", lambda row: isinstance(row.get("messages"), list))
    return [events_of([EventLine(body) for body in row["messages"]]) for row in rows]


def channels(data: Path, _form: str) -> Iterator[Talk]:
    """Read channels of many people, each line a turn of its speaker."""
    for row in read_rows(data / "irc_ubuntu", lambda row: any(map(_is_line, row.get("messages") or ()))):
        events = [_said(line["text"], line["nick"]) for line in row["messages"] if _is_line(line)]
        yield planted_talk(str(row["id"]), events, PLANTED, among_people=True)


def prompts(data: Path, _form: str) -> Iterator[Talk]:
    """Read what people ask in many languages as one session; each language has facts of its own."""
    rows = read_rows(data / "multilingual", lambda row: {"lang", "text"} <= row.keys())
    known = foreign_facts()
    facts = [fact for lang in dict.fromkeys(row["lang"] for row in rows) for fact in known.get(lang, ())]
    yield planted_talk("languages", [_said(row["text"]) for row in rows], facts)


def planted_talk(
    name: str, events: Sequence[JsonObject], facts: Sequence[Planted], *, among_people: bool = False
) -> Talk:
    """Plant facts at even distances, none at either end, and ask for each.

    Args:
        name: The conversation's.
        events: Its turns.
        facts: What is planted, in this order.
        among_people: Whether a fact is told by one person to another, instead of by the user to the model.
    """
    grown: list[JsonObject] = []
    places = [(number + 1) * len(events) // (len(facts) + 1) for number in range(len(facts))]
    for place, event in enumerate([*events, None]):
        for fact, where in zip(facts, places, strict=True):
            if where == place:
                grown += _told(fact, among_people=among_people)
        grown += [event] if event else []
    asks = tuple(
        Ask(f"{name}-{fact.fact}", {"role": "user", "content": fact.question}, FactsGold((fact.fact,)))
        for fact in facts
    )
    return Talk(name, make_turns(grown), asks)


def foreign_facts() -> dict[str, list[Planted]]:
    """Read the facts of other languages."""
    told = json.loads(FOREIGN.read_text(encoding="utf-8"))
    return {
        lang: [Planted(one["said"], "", one["fact"], one["question"]) for one in facts]
        for lang, facts in told.items()
    }


def events_of(entries: Sequence[EventLine]) -> list[JsonObject]:
    """Cut messages into turns; what a provider once counted for another model is left out."""
    conversation = to_conversation(Transcript(tuple(entries)))
    return [
        {
            "messages": list(event.messages),
            **({"completed_at": event.completed_at} if event.completed_at else {}),
        }
        for event in conversation.events
    ]


def _told(fact: Planted, *, among_people: bool) -> list[JsonObject]:
    if among_people:
        return [_said(fact.said, TELLER), _said(fact.answer, HEARER)]
    answer = [{"role": "assistant", "content": fact.answer}] if fact.answer else []
    return [{"messages": [{"role": "user", "content": fact.said}, *answer]}]


def _said(words: str, speaker: str | None = None) -> JsonObject:
    event: JsonObject = {"messages": [{"role": "user", "content": words}]}
    return {**event, "speaker": speaker} if speaker else event


def _is_entry(row: JsonObject) -> bool:
    return row.get("type") == "message" and isinstance(row.get("message"), dict)


def _is_line(line: JsonObject) -> bool:
    """Whether somebody says something; others come and go."""
    return bool(line.get("nick") and str(line.get("text") or "").strip())

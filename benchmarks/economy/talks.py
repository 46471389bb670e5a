"""Conversations as a platform lives through them: a request before each turn, some with known evidence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from afterturn.conversations.formats import EventLine
from benchmarks.served.files import read_files, read_rows
from benchmarks.served.planted import events_of
from benchmarks.served.sets import GROUP, ROLES, meetings, memories
from benchmarks.served.talks import Gold, Talk, Turn, make_turns
from context.types import JsonObject

LINES_A_TURN = 10
UTTERANCES_A_TURN = 5
READ_TOOL = "read_document"


@dataclass(frozen=True)
class Exchange:
    """One turn; its first messages are what the requests of it bring.

    Attributes:
        turn: The turn as it is posted.
        gold: What the request's window must show; None where nobody knows.
    """

    turn: Turn
    gold: Gold | None = None


@dataclass(frozen=True)
class Course:
    """One conversation.

    Attributes:
        data: Its set.
        name: Its own.
        exchanges: Its turns.
        tools: The names of the tools that its requests carry.
    """

    data: str
    name: str
    exchanges: tuple[Exchange, ...]
    tools: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """What is said in it."""
        return sum(exchange.turn.tokens for exchange in self.exchanges)


Known = Sequence[tuple[JsonObject, Gold | None]]


def course(data: str, name: str, events: Known) -> Course:
    """Number the messages, and name the tools that are called."""
    turns = make_turns(event for event, _ in events)
    golds = (gold for _, gold in events)
    called = (
        call["function"]["name"]
        for turn in turns
        for message in turn.messages
        for call in message.body.get("tool_calls") or ()
    )
    exchanges = tuple(Exchange(turn, gold) for turn, gold in zip(turns, golds, strict=True))
    return Course(data, name, exchanges, tuple(dict.fromkeys(called)))


def helped(data: Path, most_turns: int) -> Iterator[Course]:
    """Read an airline's tasks, strung together as one returning customer."""
    rows = read_rows(data / "tau_airline", lambda row: isinstance(row.get("messages"), list))
    strung: list[JsonObject] = []
    for row in rows:
        strung += events_of([EventLine(body) for body in row["messages"]])
        if len(strung) >= most_turns:
            yield course("tau_airline", str(row["id"]), [(event, None) for event in strung[:most_turns]])
            strung = []


def coded(data: Path, most_turns: int) -> Iterator[Course]:
    """Read recorded sessions of a coding agent."""
    for name, rows in read_files(data / "pi_sessions", lambda row: isinstance(row.get("message"), dict)):
        events = events_of([EventLine(row["message"]) for row in rows if row["type"] == "message"])
        yield course("pi_sessions", name, [(event, None) for event in events[:most_turns]])


def told(data: Path, most_turns: int) -> Iterator[Course]:
    """Read what a person tells about himself, then questions about it."""
    for talk in memories(data, ROLES):
        said = [_turn(turn.text, "Noted.") for turn in talk.turns]
        asked = [(_turn(ask.question, "Thank you."), ask.gold) for ask in talk.asks]
        events = [*((event, None) for event in said), *asked]
        yield course("bfcl_memory", talk.name, events[: max(most_turns, len(said) + len(asked))])


def met(data: Path, most_turns: int) -> Iterator[Course]:
    """Read meetings as a talk, some utterances a turn, then questions about them."""
    for talk in meetings(data, GROUP):
        stretches = list(_stretches([turn.text for turn in talk.turns], UTTERANCES_A_TURN))
        if len(stretches) > most_turns:
            continue
        asked = [(_turn(ask.question, "Thank you."), ask.gold) for ask in talk.asks]
        events = [*((_turn("\n".join(one), "Noted."), None) for one in stretches), *asked]
        yield course("qmsum talk", talk.name, events)


def documents(data: Path, most_turns: int) -> Iterator[Course]:
    """Read meetings as documents that a tool returns, then questions about them."""
    for talk in meetings(data, GROUP):
        asked = [(_turn(ask.question, "Thank you."), ask.gold) for ask in talk.asks]
        yield course("qmsum document", talk.name, [(_reading(talk), None), *asked[: most_turns - 1]])


def chatted(data: Path, most_turns: int) -> Iterator[Course]:
    """Read channels of many people, some lines a turn."""
    rows = read_rows(data / "irc_ubuntu", lambda row: isinstance(row.get("messages"), list))
    for row in rows:
        lines = [f"{one['nick']}: {one['text']}" for one in row["messages"] if one.get("text")]
        turns = islice(_stretches(lines, LINES_A_TURN), most_turns)
        yield course("irc_ubuntu", str(row["id"]), [(_turn("\n".join(one), "OK."), None) for one in turns])


Reader = Callable[[Path, int], Iterator[Course]]

COURSES: Mapping[str, Reader] = {
    "tau_airline": helped,
    "pi_sessions": coded,
    "qmsum_talk": met,
    "qmsum_document": documents,
    "irc_ubuntu": chatted,
    "bfcl_memory": told,
}


def _turn(said: str, answer: str) -> JsonObject:
    return {"messages": [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]}


def _reading(talk: Talk) -> JsonObject:
    arguments = f'{{"name": "{talk.name}"}}'
    call = {"id": "call_1", "type": "function", "function": {"name": READ_TOOL, "arguments": arguments}}
    return {
        "messages": [
            {"role": "user", "content": "Read the transcript of the meeting. I shall ask about it."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "\n".join(t.text for t in talk.turns)},
            {"role": "assistant", "content": "I have read it."},
        ]
    }


def _stretches(lines: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(lines), size):
        yield lines[start : start + size]

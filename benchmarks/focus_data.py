"""Conversations of others as they would reach artifacts: what came in, and what was asked afterwards."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, takewhile

from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.question import standing_question
from context.artifacts.content import kind_of, preview_of
from context.artifacts.split import split_results
from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.conversation.tool_calls import read_calls
from context.extract import PassageIndex
from context.focus import normalise
from context.tokens.text import count_text
from context.types import JsonObject, Message, Role, Wire
from context.wire import describe
from tests.data import DATA, read_jsonl

START = datetime(2024, 1, 1, tzinfo=UTC)
DOCUMENT = "document"
"""What stands for a tool where a person brought the text."""


Mined = Mapping[tuple[int, str], Sequence[tuple[str, float]]]
"""By half and tool, what its artifacts were asked for in several sessions, with shares."""


LEAST_CHARS = 5_000
"""Fewest characters of a result that becomes an artifact."""

LEAST_NEED_CHARS = 4

SHARED = 2
"""What one session alone asked is its own business."""


@dataclass(frozen=True)
class Text:
    """An artifact of a replay."""

    artifact_id: str
    tool: str
    kind: ContentKind
    content: str
    tokens: int

    @property
    def index(self) -> PassageIndex:
        """Its passages, indexed once."""
        return _index(self.content, self.kind)


@cache
def _index(content: str, kind: ContentKind) -> PassageIndex:
    return PassageIndex.build(content, kind)


@dataclass(frozen=True)
class Event:
    """A request: a message of a user, or an agent's further step; and what came in behind it.

    Attributes:
        said: The user's messages, those of this turn and of all before it, newest last.
        is_step: Whether an agent goes on within the turn.
        has_tools: Whether the model may call tools.
        came: The large results of the calls that the answer made.
        needs: Texts in the arguments of all calls that the turn made, for the first request of a turn.
    """

    said: tuple[Message, ...]
    is_step: bool = False
    has_tools: bool = False
    came: tuple[Text, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replay:
    """One session: what it had before its first message, and its events."""

    replay_id: str
    half: int
    events: Sequence[Event]
    uploaded: Sequence[Text] = field(default=())


def half_of(group: str) -> int:
    """Which half a group of sessions belongs to: one tunes, the other checks."""
    return hashlib.sha256(group.encode()).digest()[-1] & 1


def read_agents(name: str, group: str, *, least_chars: int) -> list[Replay]:
    """Read trajectories of agents.

    Args:
        name: The folder.
        group: The field by which they belong together: no group is in both halves.
        least_chars: From how many characters on a result is an artifact.
    """
    rows = read_jsonl(DATA / name / "trajectories.jsonl")
    return [
        Replay(str(row["id"]), half_of(str(row[group])), tuple(_events(row["messages"], least_chars)))
        for row in rows
    ]


def _events(bodies: Sequence[JsonObject], least_chars: int) -> Iterator[Event]:
    """One request stands before every message of the model."""
    messages = [_message(seq, body) for seq, body in enumerate(bodies, 1)]
    answers = [at for at, message in enumerate(messages) if message.role is Role.ASSISTANT]
    for at, after in pairwise([*answers, len(messages)]):
        came = [
            text
            for place in range(at, after)
            if messages[place].answer_ids
            for text in _large(messages[place], messages[:place], least_chars)
        ]
        said = tuple(message for message in messages[:at] if message.starts_turn)
        is_step = bool(messages[at - 1].answer_ids)
        needs = () if is_step else tuple(_needs(messages[at:]))
        yield Event(said, is_step=is_step, has_tools=True, came=tuple(came), needs=needs)


def _needs(messages: Sequence[Message]) -> Iterator[str]:
    """Yield the texts in the arguments of a turn's calls, each once."""
    turn = list(takewhile(lambda message: not message.starts_turn, messages))
    calls = read_calls(turn).values()
    found = (text for call in calls for text in _texts(decoded(call.arguments)))
    return iter(dict.fromkeys(text for text in found if len(text) >= LEAST_NEED_CHARS))


def decoded(arguments: str) -> object:
    """Decode a call's arguments; a text that is no JSON stays a text."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def read_coding_session() -> list[Replay]:
    """Read the recorded coding session; its compactions are left out."""
    (path,) = (DATA / "pi_sessions").glob("*.jsonl")
    bodies = [entry["message"] for entry in read_jsonl(path) if entry["type"] == "message"]
    return [Replay("pi", half_of("pi"), tuple(_events(bodies, LEAST_CHARS)))]


def _large(message: Message, before: Sequence[Message], least_chars: int) -> list[Text]:
    split = split_results(message, least_chars=least_chars, calls=read_calls(before))
    return [Text(one.artifact_id, one.tool, one.kind, one.content, one.tokens) for one in split.artifacts]


def _message(seq: int, body: JsonObject) -> Message:
    fact = describe(body, Wire.OPENAI)
    return Message(seq, fact.role, 0, json.dumps(body), fact.call_ids, fact.answer_ids)


def read_meetings() -> list[Replay]:
    """Read meetings: a document each, uploaded before the first question; the questions in their order."""
    return list(map(_meeting, read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz")))


def _meeting(row: JsonObject) -> Replay:
    content = "\n".join(f"{speaker}: {words}" for speaker, words in row["turns"])
    text = Text(row["id"], DOCUMENT, kind_of(content), content, count_text(content))
    asked = [
        _message(seq, {"role": "user", "content": one["query"]})
        for seq, one in enumerate((*row["general"], *row["specific"]), 1)
    ]
    events = [Event(tuple(asked[: place + 1])) for place in range(len(asked))]
    return Replay(row["id"], half_of(row["id"]), events, (text,))


def mine(replays: Sequence[Replay]) -> Mined:
    """Count in each half what the artifacts of a tool are asked for; what one session asked is its own."""
    asked: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    sessions: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    words: dict[str, str] = {}
    for replay in replays:
        tools = {text.tool for text in replay.uploaded}
        for event in replay.events:
            query = ArtifactQuery(standing_question([], event.said)).query
            key = normalise(query).key
            words.setdefault(key, query)
            for tool in tools:
                asked[replay.half, tool][key] += 1
                sessions[replay.half, tool, key].add(replay.replay_id)
            tools |= {text.tool for text in event.came}
    return {
        where: [
            (words[key], count / counts.total())
            for key, count in counts.most_common()
            if len(sessions[*where, key]) >= SHARED
        ]
        for where, counts in asked.items()
    }


def artifact_of(place: int, text: Text) -> Artifact:
    """Describe an artifact of a replay; artifacts follow each other by a second."""
    return Artifact(
        artifact_id=text.artifact_id,
        artifact_type=ArtifactType.DOCUMENT if text.tool == DOCUMENT else ArtifactType.TOOL_RESULT,
        kind=text.kind,
        size_chars=len(text.content),
        tokens=text.tokens,
        source=text.tool,
        timestamp=START + timedelta(seconds=place),
        preview=preview_of(text.content, 600),
        metadata={"historical": True},
    )

"""Histories for tests: built by hand, drawn by Hypothesis, read from the shared data."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from context.types import Message, Role, Wire
from context.wire import describe
from tests.data import data_dir, read_jsonl

_ROLES = {"developer": Role.SYSTEM, "function_call": Role.ASSISTANT, "reasoning": Role.ASSISTANT}
_IDS = ("call_0", "call_1", "call_2", "call_3")


def make_message(body: dict[str, Any], wire: Wire = Wire.OPENAI, *, seq: int = 0) -> Message:
    """Wrap a message's body; four characters count as one token. Broken bodies are taken as they are."""
    content = body.get("content")
    blocks = content if wire is Wire.ANTHROPIC and isinstance(content, list) else []
    calls = [call["id"] for call in body.get("tool_calls") or []]
    calls += [block["id"] for block in blocks if block["type"] == "tool_use"]
    answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if body.get("role") == "tool":
        answers.append(body["tool_call_id"])
    if body.get("type") in {"function_call", "function_call_output"}:
        (calls if body["type"] == "function_call" else answers).append(body["call_id"])
    raw = json.dumps(body, ensure_ascii=False)
    kind = body.get("role") or body["type"]
    role = _ROLES.get(kind) or (Role.TOOL if kind == "function_call_output" else Role(kind))
    return Message(seq, role, 1 + len(raw) // 4, raw, tuple(calls), tuple(answers), wire)


def says(role: str, text: str = "words", wire: Wire = Wire.OPENAI) -> Message:
    """Plain words of the system, a user or an assistant."""
    return make_message({"role": role, "content": text}, wire)


def calls(ids: Sequence[str], text: str = "", wire: Wire = Wire.OPENAI) -> list[Message]:
    """Parallel tool calls, as one assistant turn of this wire format makes them."""
    if wire is Wire.RESPONSES:
        items = [{"type": "function_call", "call_id": i, "name": "look", "arguments": "{}"} for i in ids]
        spoken = [says("assistant", text, wire)] if text else []
        return spoken + [make_message(item, wire) for item in items]
    if wire is Wire.ANTHROPIC:
        used = [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in ids]
        spoken_blocks = [{"type": "text", "text": text}] if text else []
        return [make_message({"role": "assistant", "content": spoken_blocks + used}, wire)]
    made = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids]
    return [make_message({"role": "assistant", "content": text or None, "tool_calls": made}, wire)]


def answers(ids: Sequence[str], text: str = "found", wire: Wire = Wire.OPENAI) -> list[Message]:
    """Results of tool calls, as this wire format sends them."""
    if wire is Wire.RESPONSES:
        items = [{"type": "function_call_output", "call_id": i, "output": text} for i in ids]
        return [make_message(item, wire) for item in items]
    if wire is Wire.ANTHROPIC:
        results = [{"type": "tool_result", "tool_use_id": i, "content": text} for i in ids]
        return [make_message({"role": "user", "content": results}, wire)]
    return [make_message({"role": "tool", "tool_call_id": i, "content": text}, wire) for i in ids]


def number(messages: Iterable[Message], first_seq: int = 1) -> list[Message]:
    """Give the messages their places in the log."""
    return [replace(message, seq=seq) for seq, message in enumerate(messages, first_seq)]


def words() -> st.SearchStrategy[str]:
    """Short texts, empty ones among them."""
    return st.sampled_from(("", "go on", "да, дальше", "继续 👩‍👩‍👧", "why?\nbecause"))


@st.composite
def whole_turns(draw: st.DrawFn, wire: Wire = Wire.OPENAI) -> list[Message]:
    """Draw a finished turn: parallel calls, results in any order, a user who interjects."""
    turn = [says("user", draw(words()), wire)]
    for _ in range(draw(st.integers(0, 3))):
        ids = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=3, unique=True))
        turn += calls(ids, draw(words()), wire)
        results = answers(draw(st.permutations(ids)), draw(words()), wire)
        if draw(st.integers(0, 3)) == 0:
            results.insert(draw(st.integers(0, len(results) - 1)), says("user", "wait", wire))
        turn += results
    return [*turn, says("assistant", draw(words()) or "done", wire)]


@st.composite
def whole_histories(draw: st.DrawFn, wire: Wire = Wire.OPENAI, max_turns: int = 6) -> list[Message]:
    """Draw finished turns in which every call has its result; ids are used again from turn to turn."""
    opening = draw(
        st.sampled_from(((), (says("system", "be kind", wire),), (says("assistant", "hello", wire),)))
    )
    turns = draw(st.lists(whole_turns(wire), min_size=1, max_size=max_turns))
    return number([*opening, *(message for turn in turns for message in turn)])


@st.composite
def torn_histories(draw: st.DrawFn, wire: Wire = Wire.OPENAI) -> list[Message]:
    """Draw a whole history and lose, repeat or move some of its messages."""
    messages = draw(whole_histories(wire))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(messages) - 1))
        change = draw(st.sampled_from(("lose", "repeat", "move", "end here")))
        taken = messages[place]
        if change == "end here":
            del messages[place + 1 :]
        if change in {"lose", "move"} and len(messages) > 1:
            del messages[place]
        if change in {"repeat", "move"}:
            messages.insert(draw(st.integers(0, len(messages))), taken)
    return number(messages)


@st.composite
def wild_histories(draw: st.DrawFn, wire: Wire = Wire.OPENAI) -> list[Message]:
    """Draw messages in any order: orphans, repeated ids, no user at all, nothing at all."""
    ids = st.lists(st.sampled_from(_IDS[:3]), min_size=1, max_size=3)
    spoken = st.tuples(st.sampled_from(("system", "user", "user", "assistant")), words()).map(
        lambda said: [says(*said, wire)]
    )
    asked = st.tuples(ids, words()).map(lambda made: calls(made[0], made[1], wire))
    told = st.tuples(ids, words()).map(lambda made: answers(made[0], made[1], wire))
    pieces = draw(st.lists(st.one_of(spoken, asked, told), max_size=14))
    return number(message for piece in pieces for message in piece)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Draw any history in any wire format: whole, torn or wild."""
    wire = draw(st.sampled_from(Wire))
    return draw(st.one_of(whole_histories(wire), torn_histories(wire), wild_histories(wire)))


WIRE_OF_API = {
    "openai.chat.completions": Wire.OPENAI,
    "anthropic.messages": Wire.ANTHROPIC,
    "openai.responses": Wire.RESPONSES,
}
"""The recorded interfaces whose messages are in one of our formats."""


def real_conversations(name: str) -> list[list[Message]]:
    """Read the conversations of a folder of the shared data, in whichever wire format they are recorded."""
    folder = data_dir(name)
    if name == "wire_formats":
        return [*map(_recorded, _our_requests(folder))]
    if name == "pi_sessions":
        entries = [read_jsonl(path) for path in sorted(folder.glob("*.jsonl"))]
        bodies = [[entry["message"] for entry in log if entry["type"] == "message"] for log in entries]
    else:
        bodies = [row["messages"] for row in read_jsonl(folder / "trajectories.jsonl")]
    return [number(make_message(body) for body in conversation) for conversation in bodies]


def _our_requests(folder: Path) -> Iterator[dict[str, Any]]:
    """The recorded requests in our formats that hold messages or items."""
    for row in read_jsonl(folder / "requests.jsonl.gz"):
        key = "input" if row["api"] == "openai.responses" else "messages"
        if row["api"] in WIRE_OF_API and isinstance(row["request"].get(key), list):
            yield row


def _recorded(row: dict[str, Any]) -> list[Message]:
    wire = WIRE_OF_API[row["api"]]
    bodies = row["request"]["input" if wire is Wire.RESPONSES else "messages"]
    facts = [describe(body, wire) for body in bodies]
    return [
        Message(seq, fact.role, 10, json.dumps(body), fact.call_ids, fact.answer_ids, wire, fact.speaker)
        for seq, (body, fact) in enumerate(zip(bodies, facts, strict=True), 1)
    ]

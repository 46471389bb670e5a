"""Recorded traffic: every record comes back whole, or is refused with a reason."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from context.errors import InvalidInputError
from context.types import JsonObject, Message, Wire
from context.wire import LossKind, check_pairs, convert
from tests.data import data_dir, read_jsonl
from tests.unit.wire.windows import assert_same_said, kinds, message, window

pytestmark = pytest.mark.data

APIS = {
    "openai.chat.completions": Wire.OPENAI,
    "anthropic.messages": Wire.ANTHROPIC,
    "anthropic.count_tokens": Wire.ANTHROPIC,
    "openai.responses": Wire.RESPONSES,
    "openai.responses.compact": Wire.RESPONSES,
}
"""The recorded APIs that take one of our formats; the others have formats of their own."""

Show = Callable[[str], None]


@dataclass(frozen=True)
class Record:
    """One recorded request: its messages, or why it is refused."""

    name: str
    messages: list[Message]
    refused: str = ""


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """Print past pytest's capture: the shares are to be seen."""

    def _show(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}", end="")  # noqa: T201  the shares are this test's product

    return _show


def recorded() -> Iterator[Record]:
    for row in read_jsonl(data_dir("wire_formats") / "requests.jsonl.gz"):
        wire = APIS.get(row["api"])
        if wire is None:
            yield Record(row["id"], [], f"another format: {row['api']}")
        else:
            yield accept(row["id"], _bodies(row["request"]), wire)


def accept(name: str, bodies: list[JsonObject], wire: Wire) -> Record:
    if not bodies:
        return Record(name, [], "no message of its own: it continues a stored response")
    try:
        messages = window(bodies, wire)
    except InvalidInputError as error:
        return Record(name, [], error.message)
    faults = check_pairs(bodies, wire)
    # A request may continue a response that only the provider holds.
    return Record(name, messages, "pairs are not whole: its calls are not in it" if faults else "")


def _bodies(request: JsonObject) -> list[JsonObject]:
    given: Any = request["messages"] if "messages" in request else request["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def logged() -> Iterator[Record]:
    for row in read_jsonl(data_dir("openhands_logs") / "requests.jsonl"):
        yield accept(row["id"], row["messages"], Wire.OPENAI)


def conversations() -> Iterator[Record]:
    for name in ("tau_airline", "livemcp"):
        for row in read_jsonl(data_dir(name) / "trajectories.jsonl"):
            yield accept(str(row["id"]), row["messages"], Wire.OPENAI)


def transcript(name: str) -> list[Any]:
    lines: list[Any] = read_jsonl(data_dir("anthropic_format") / f"{name}.jsonl")
    return [line.get("message") if isinstance(line, dict) else line for line in lines]


def shares(records: list[Record]) -> Counter[str]:
    """Take each record through every format and count how it comes back."""
    counts: Counter[str] = Counter()
    for record in records:
        if record.refused:
            counts[f"refused: {record.refused}"] += 1
            continue
        own = record.messages[0].wire
        counts[f"{own} to itself, byte for byte"] += _is_untouched(record.messages, own)
        for wire in set(Wire) - {own}:
            counts[f"{own} by {wire}, {_roundtrip(record, wire)}"] += 1
    return counts


def _is_untouched(messages: list[Message], own: Wire) -> bool:
    return convert(messages, own).items == tuple(m.raw for m in messages)


def _roundtrip(record: Record, wire: Wire) -> str:
    """Go to another format and back; whatever is not the same afterwards must be listed."""
    out = convert(record.messages, wire)
    assert check_pairs(out.bodies(), wire) == [], record.name
    own = record.messages[0].wire
    back = convert(window(out.bodies(), wire), own)
    assert check_pairs(back.bodies(), own) == [], record.name
    losses = [*out.dropped, *back.dropped]
    assert_same_said(record.messages, window(back.bodies(), own), losses)
    return "with listed losses" if kinds(losses) - {LossKind.CALL_ID} else "equal in meaning"


def table(title: str, counts: Counter[str]) -> str:
    return "\n".join([title, *(f"{n:6d}  {what}" for what, n in sorted(counts.items()))])


def total(counts: Counter[str], *endings: str) -> int:
    return sum(n for what, n in counts.items() if what.endswith(endings))


def test_every_recorded_request_comes_back_or_is_refused_with_a_reason(show: Show) -> None:
    records = list(recorded())
    counts = shares(records)
    show(table(f"wire_formats: {len(records)} requests", counts))
    ours = [record for record in records if "another format" not in record.refused]
    assert total(counts, "byte for byte") + total(counts, "stored response", "not in it") == len(ours)
    assert total(counts, "stored response", "not in it") <= 4
    assert total(counts, "equal in meaning") >= 224


def test_every_logged_agent_request_comes_back(show: Show) -> None:
    records = list(logged())
    counts = shares(records)
    show(table(f"openhands_logs: {len(records)} requests", counts))
    assert counts["openai to itself, byte for byte"] == len(records)


def test_every_conversation_comes_back_equal_in_meaning(show: Show) -> None:
    records = list(conversations())
    counts = shares(records)
    show(table(f"tau_airline and livemcp: {len(records)} conversations", counts))
    assert counts["openai by responses, equal in meaning"] == len(records)
    assert counts["openai by anthropic, equal in meaning"] == len(records)


def test_every_transcript_line_comes_back_or_is_refused_with_a_reason(show: Show) -> None:
    counts: Counter[str] = Counter()
    for name in ("edge_cases", "representative_messages", "session_b"):
        for body in transcript(name):
            counts[_line(body)] += 1
    show(table(f"anthropic_format: {counts.total()} lines", counts))
    assert total(counts, "byte for byte") >= 15
    assert total(counts, "byte for byte", "left out") >= 25


def _line(body: JsonObject) -> str:
    try:
        one = message(body, Wire.ANTHROPIC)
    except InvalidInputError as error:
        return f"refused: {error.message}"
    for wire in (Wire.OPENAI, Wire.RESPONSES):
        out = convert([one], wire)
        assert_same_said([one], window(out.bodies(), wire), out.dropped)
    out = convert([one], Wire.ANTHROPIC)
    sent = next(b for b in out.bodies() if b["role"] == body["role"])
    assert sent["content"] == body["content"]
    untouched = one.raw in out.items
    return "byte for byte" if untouched else "content equal, fields of a response left out"


def test_a_transcript_of_single_blocks_becomes_alternating_messages() -> None:
    bodies = [body for body in transcript("representative_messages") if body is not None]
    items = convert(window(bodies, Wire.ANTHROPIC), Wire.ANTHROPIC).bodies()
    assert check_pairs(items, Wire.ANTHROPIC) == []
    assert json.dumps(items).count('"tool_use_id"') == json.dumps(bodies).count('"tool_use_id"')

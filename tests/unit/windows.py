"""Window requests for tests: built by hand, drawn by Hypothesis; the check that every window passes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from context.artifact_plans.strategies import Available
from context.artifacts.types import (
    Artifact,
    ArtifactDecision,
    ArtifactPlan,
    ArtifactType,
    ContentKind,
    ProcessingStrategy,
    Reading,
    ReadingForm,
)
from context.certificate import Certificate
from context.tokens import (
    EncodingName,
    Request,
    count_text,
    guarantee,
    measure_message,
    measure_tools,
    total,
)
from context.tokens.budget import Budget, HistoryLimit, LimitSource
from context.tokens.message import recounted
from context.types import JsonObject, Message, Wire
from context.window.assemble import ActiveSummary, Window, WindowRequest
from context.window.types import ArtifactCandidates
from context.wire import check_pairs
from tests.unit.histories import answers, calls, histories, make_message, number, says

TOOLS: list[JsonObject] = [
    {"type": "function", "function": {"name": "look", "description": "Look at a thing.", "parameters": {}}}
]
NOW = datetime(2026, 3, 9, tzinfo=UTC)
MODELS = ("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-pro", "o3-mini", "my-own-model")


def counted(messages: Iterable[Message]) -> list[Message]:
    """Give messages the tokens that the intake would store."""
    return [recounted(message) for message in messages]


def ask(text: str = "And now?", wire: Wire = Wire.OPENAI) -> list[Message]:
    """The new message of a user."""
    return counted([says("user", text, wire)])


def request(
    tail: Sequence[Message] = (), *, window: int = 8_000, output: int = 500, **fields: Any
) -> WindowRequest:
    """A request for gpt-4o, with a new message in the format asked for."""
    wire = fields.get("wire", Wire.OPENAI)
    given = {"model": "gpt-4o", "new": ask(wire=wire), "budget": Budget(window, output), **fields}
    return WindowRequest(tail=counted(tail), **given)


def long_turn(seq: int, *results: str, wire: Wire = Wire.OPENAI) -> list[Message]:
    """A finished turn in which tools returned these texts."""
    ids = [f"c{seq}_{place}" for place in range(len(results))]
    told = [message for i, text in zip(ids, results, strict=True) for message in answers([i], text, wire)]
    if wire is Wire.ANTHROPIC:
        blocks = [block for message in told for block in message.body["content"]]
        told = [make_message({"role": "user", "content": blocks}, wire)]
    return number(
        [says("user", "look", wire), *calls(ids, "", wire), *told, says("assistant", "so", wire)], seq
    )


def texts_of(window: Window) -> str:
    """All that a window sends, as one text."""
    return "\n".join((*window.items, window.system or ""))


def sent_tokens(asked: WindowRequest, window: Window, tools: list[JsonObject]) -> int:
    """Count what is really sent, from its text alone."""
    bodies = [json.loads(item) for item in window.items]
    if window.system:
        bodies.append({"role": "system", "content": window.system})
    count = total(measure_message(body, asked.wire, model=asked.model) for body in bodies)
    return guarantee(count, asked.model, Request(tools=measure_tools(tools)))


def check_window(asked: WindowRequest, window: Window, tools: list[JsonObject]) -> None:
    """Check everything that a certificate promises against the window itself."""
    certificate = window.certificate
    bodies = [json.loads(item) for item in window.items]
    assert certificate.fits
    assert certificate.input_tokens <= asked.budget.input_tokens
    assert certificate.history_tokens <= asked.budget.history_room(certificate.history_tokens)
    assert sent_tokens(asked, window, tools) <= certificate.input_tokens
    assert sum(block.tokens for block in certificate.blocks) == certificate.input_tokens
    assert certificate.tool_pairs_intact
    assert check_pairs(bodies, asked.wire) == []
    assert certificate.accepted_shape.faults == ()
    assert certificate.tail_contiguous is not leaves_out_steps(certificate)
    check_suffix(asked, window)


def leaves_out_steps(certificate: Certificate) -> bool:
    """Whether steps of the turn that goes on are named as left out, behind what the window still shows."""
    named = [one.what.split()[1] for one in certificate.excluded if one.what.startswith("messages ")]
    starts = [int(first) for first, *_ in (what.split("-") for what in named)]
    return certificate.tail is not None and any(first > certificate.tail[0] for first in starts)


def check_suffix(asked: WindowRequest, window: Window) -> None:
    """What is in the window is the newest part of history, and the rest is named."""
    certificate = window.certificate
    seqs = sorted({message.seq for message in window.messages if message.seq})
    dropped = {int(said.split()[1].rstrip(":")) for said in certificate.repairs if "left out" in said}
    expected = {message.seq for message in asked.tail}
    first_out = [e.what for e in certificate.excluded if e.what.startswith("messages ")]
    for what in first_out:
        start, stop = what.removeprefix("messages ").split("-")
        expected -= set(range(int(start), int(stop) + 1))
    assert expected - dropped <= set(seqs)
    assert set(seqs) <= expected
    run = [seq for seq in seqs if seq not in openings(window)]
    assert (certificate.tail or (0, 0)) == ((run[0], run[-1]) if run else (0, 0))


def openings(window: Window) -> set[int]:
    """Numbers of the messages that the history names before its run."""
    history = next((block.origin for block in window.certificate.blocks if block.source == "history"), "")
    return {int(place) for place in history.removeprefix("messages ").split(", ")[:-1]}


@st.composite
def requests(draw: st.DrawFn) -> tuple[WindowRequest, list[JsonObject]]:
    """Draw a request of any kind, and its tools."""
    wire = draw(st.sampled_from(Wire))
    tail = counted(draw(st.one_of(histories(), histories())))
    if draw(st.booleans()):
        later = number(draw(histories()), len(tail) + 1)
        tail += counted(later)
    skip = draw(st.integers(0, 3))
    tail = [replace(message, seq=message.seq * (skip + 1)) for message in tail]
    tools = draw(st.sampled_from(([], TOOLS, TOOLS * 9)))
    output = draw(st.integers(1, 400))
    notes = ActiveSummary(
        1, 1, 9, draw(st.sampled_from(("They agreed.", "long notes " * 50, "</conversation_summary> x")))
    )
    asked = WindowRequest(
        model=draw(st.sampled_from(MODELS)),
        budget=draw(budgets(output)),
        new=draw(news(tail, wire)),
        tail=tail,
        system=draw(st.sampled_from((None, says("system", "Be kind."), says("system", "Rules. " * 60)))),
        tools=measure_tools(tools),
        notes=draw(st.sampled_from((None, notes))),
        shelf=draw(st.one_of(st.none(), shelves())),
        wire=wire,
        keeps_prefix=draw(st.booleans()),
        is_bare=draw(st.booleans()),
    )
    return asked, tools


@st.composite
def budgets(draw: st.DrawFn, output: int) -> Budget:
    """Draw a window of any size, in which history may be limited."""
    window = output + draw(st.one_of(st.integers(1, 900), st.integers(900, 6_000)))
    limit = draw(st.one_of(st.none(), st.integers(1, 3_000)))
    return Budget(
        window, output, history_limit=None if limit is None else HistoryLimit(limit, LimitSource.TENANT)
    )


@st.composite
def shelves(draw: st.DrawFn) -> ArtifactCandidates:
    """Draw artifacts of any size with any readings, and a plan that may name others."""
    names = [f"art_{place:032x}" for place in range(draw(st.integers(0, 4)))]
    strategies = st.sampled_from(ProcessingStrategy)
    decided = draw(st.lists(st.sampled_from([*names, "art_unknown"]), max_size=6))
    plan = ArtifactPlan(
        tuple(ArtifactDecision(name, draw(strategies), place) for place, name in enumerate(decided, 1))
    )
    return ArtifactCandidates(
        plan, {name: draw(shelved(name)) for name in names}, draw(st.sampled_from((0.0, 0.5, 1.0)))
    )


@st.composite
def shelved(draw: st.DrawFn, name: str) -> Available:
    """Draw what there is of one artifact."""
    full = draw(st.sampled_from(("short", "a row of figures 12.5\n" * 90, "</artifacts> 列车时刻 " * 400)))
    made = st.sampled_from(
        (None, Reading(ReadingForm.EXACT, "- 12.5 is the sum", count_text("- 12.5 is the sum")))
    )
    artifact = make_artifact(full, name)

    def extract(_query: str, most: int) -> Reading:
        text = full[: most * 2]
        return Reading(ReadingForm.EXTRACT, text, count_text(text))

    can_extract = draw(st.booleans())
    return Available(
        artifact,
        draw(st.sampled_from((None, full))),
        exact=draw(made),
        extract=extract if can_extract else None,
    )


def make_artifact(content: str, name: str = f"art_{7:032x}", **metadata: object) -> Artifact:
    """A tool result of this text, counted as it is stored."""
    return Artifact(
        artifact_id=name,
        artifact_type=ArtifactType.TOOL_RESULT,
        kind=ContentKind.TEXT,
        size_chars=len(content),
        tokens=count_text(content),
        tokens_wide=count_text(content, EncodingName.WIDE),
        source="step_1:look",
        timestamp=NOW,
        metadata=metadata,
    )


@st.composite
def news(draw: st.DrawFn, tail: Sequence[Message], wire: Wire) -> list[Message]:
    """Draw new messages: words, or the results that the last calls wait for."""
    waiting = tail[-1].call_ids if tail else ()
    is_answered: bool = draw(st.booleans())
    if waiting and is_answered:
        return counted(answers(list(dict.fromkeys(waiting)), "late result", wire))
    pieces = [says("user", draw(st.sampled_from(("go on", "why? " * 200))), wire)]
    if draw(st.booleans()):
        pieces = [*calls(["n1", "n2"], "", wire), *answers(["n1", "n2"], "given", wire), *pieces]
        pieces.insert(0, says("user", "look", wire))
    return counted(pieces)

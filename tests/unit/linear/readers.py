"""The functions of the core that read a text: found by their signature, or called through an adapter."""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import ModuleType

import context
from context.artifacts.content import document_artifact
from context.artifacts.split import split_results
from context.artifacts.subjects import subject_of
from context.artifacts.types import ContentKind
from context.catalog.read import read_catalog
from context.conversation.tool_calls import render_arguments
from context.conversation.transcript import LineKind, RenderedLine, render_transcript
from context.decode.decode import decode_json
from context.extract import PassageIndex
from context.extract.index import cut_text
from context.extract.spans import paragraphs, prose, sizes_for, split_long, trim
from context.focus.reading import stem
from context.precompute.predict import find_topics
from context.precompute.prompt import ArtifactDraft, judge_artifact_summary
from context.preflight.choose_tools import cut_skills
from context.providers.errors import classify
from context.providers.profiles import find_override, find_profile
from context.ranking.index import build_index
from context.ranking.rank import rank
from context.recall.passages import make_passages, split_passages
from context.summary.carry_over import carry_protected
from context.summary.clean_reply import clean_reply
from context.summary.evidence import check_claims, protected_identifiers
from context.summary.frame import render_summary
from context.summary.gate import Covered, Draft, judge_summary
from context.summary.sections import SummaryDocument
from context.summary.voice import credit_speakers, plays_conversation
from context.text.cut import ceil_border, clip, floor_border, one_line
from context.text.exact_values import identifier_recall, kept_identifiers, rank_identifiers
from context.text.language import main_language, spoken_shares
from context.text.tags import attribute
from context.tokens.message import count_message
from context.tokens.tools import count_tools, render_tools
from context.tool_plans.prompt import clip_tokens
from context.types import Message, Role, Wire
from context.window.trim import shorten
from context.wire.formats import format_of
from tests.unit.histories import make_message
from tests.unit.linear.growth import Reader

_NOT_A_TEXT = frozenset({"little_words", "name_hash"})
"""What takes the name of something that we wrote ourselves, not a text."""


def found_readers() -> dict[str, Reader]:
    """Every public function of the core that needs one argument, and that one a text or a summary."""
    public = (
        (f"{module.__name__}.{name}", function, _only_need(module, function))
        for module in _modules()
        for name, function in vars(module).items()
        if not name.startswith("_") and name not in _NOT_A_TEXT
    )
    return {
        name: _of_summary(function) if need is SummaryDocument else function
        for name, function, need in public
        if need in _TEXTS
    }


_TEXTS = (str, object, typing.Any, str | None, SummaryDocument)


def _of_summary(function: typing.Callable[[SummaryDocument], object]) -> Reader:
    return lambda text: function(SummaryDocument(text))


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(context.__path__, "context."):
        yield importlib.import_module(found.name)


def _only_need(module: ModuleType, function: object) -> object:
    """The type of the one argument that a function of a module needs; None without just one."""
    if getattr(function, "__module__", None) != module.__name__ or inspect.isclass(function):
        return None
    plain = inspect.unwrap(function) if callable(function) else None
    if not inspect.isfunction(plain):
        return None
    needed = [
        parameter
        for parameter in inspect.signature(plain).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    return typing.get_type_hints(plain)[needed[0].name] if len(needed) == 1 else None


def _count(text: str) -> int:
    return len(text) // 4


def _line(text: str, *, seq: int = 1) -> RenderedLine:
    return RenderedLine(seq, LineKind.TEXT, Role.USER, "Ana (user)", text, 1)


def _message(text: str) -> Message:
    return make_message({"role": "user", "content": text}, seq=1)


def _result(text: str) -> Message:
    return make_message({"role": "tool", "tool_call_id": "c1", "content": text}, seq=1)


def _cut_as(kind: ContentKind) -> Reader:
    return lambda text: cut_text(text, kind)


def _index(kind: ContentKind) -> Reader:
    return lambda text: PassageIndex.build(text, kind)


def _judged(text: str) -> object:
    covered = Covered([_line("Do it."), _line("Done.", seq=2)], tokens=10**9, previous="## Goal\n- a")
    return judge_summary(Draft(text, len(text) // 4), covered)


def _judged_after(text: str) -> object:
    draft = Draft("## Objective\n- Ana moves the store to hall 3.", 12)
    return judge_summary(draft, Covered([_line("Do it.")], tokens=10**9, previous=text))


def _judged_of(text: str) -> object:
    draft = Draft("## Objective\n- Ana moves the store to hall 3.", 12)
    return judge_summary(draft, Covered([_line(text)], tokens=10**9))


def _claims(text: str) -> object:
    return check_claims(SummaryDocument(text), range(1, 9), language="en")


def _document(text: str) -> object:
    read = SummaryDocument(text)
    return read.lines, read.sections, read.points


def _carried(previous: str, draft: str) -> object:
    before, notes = SummaryDocument(previous), SummaryDocument(draft)
    return carry_protected(before, notes, language="en", budget_tokens=500, count=_count)


def _described(text: str) -> list[dict[str, typing.Any]]:
    parameters = {"type": "object", "properties": {"a": {"type": "string", "description": text}}}
    return [{"type": "function", "function": {"name": "f", "description": text, "parameters": parameters}}]


def _ranked(text: str) -> object:
    catalog = read_catalog({"tools": [{"name": "crate.weigh", "description": "Weigh a crate."}]})
    return rank(build_index(catalog), text, explain=True)


def _topics(text: str) -> object:
    return find_topics(text, PassageIndex.build(text[:200], ContentKind.TEXT), limit=8)


def _artifact_judged(text: str) -> object:
    return judge_artifact_summary(ArtifactDraft(text, 10), source="Ana moves it.", artifact_tokens=10**6)


ADAPTED: dict[str, Reader] = {
    **{f"extract.cut.{kind}": _cut_as(kind) for kind in ContentKind},
    **{f"extract.index.{kind}": _index(kind) for kind in ContentKind},
    "artifacts.split": lambda text: split_results(_result(text), least_chars=100),
    "artifacts.document": lambda text: document_artifact(text, timestamp=datetime(2026, 1, 1, tzinfo=UTC)),
    "artifacts.subject.arguments": lambda text: subject_of("read_file", text),
    "artifacts.subject.path": lambda text: subject_of("read_file", {"path": text}),
    "artifacts.subject.command": lambda text: subject_of("exec", {"command": text}),
    "artifacts.attribute": lambda text: attribute(text, 200),
    "attribution.credit": lambda text: credit_speakers(SummaryDocument(text), [_line("Do it.")]),
    "calls.arguments": lambda text: render_arguments(text, 200, 600),
    "carry.previous": lambda text: _carried(text, "## Goal\n- a"),
    "carry.draft": lambda text: _carried("## Open work\n- a\n## Constraints\n- Never b.", text),
    "catalog.description": lambda text: read_catalog({"tools": [{"name": "a", "description": text}]}),
    "clip": lambda text: clip(text, 400),
    "clip.line": lambda text: one_line(text, 400),
    "clip.tokens": lambda text: clip_tokens(text, 500),
    "decode.json": lambda text: decode_json(text, accept=lambda value: isinstance(value, dict)),
    "sections.document": _document,
    "evidence.claims": lambda text: check_claims(SummaryDocument(text), range(1, 9), language="en"),
    "evidence.claims.done": lambda text: check_claims(
        SummaryDocument(f"## Work done\n{text}"), range(1, 9), language="en"
    ),
    "extract.spans.trim": lambda text: trim(text, (0, len(text))),
    "extract.spans.split": lambda text: split_long(text, (0, len(text)), 220),
    "extract.spans.paragraphs": lambda text: paragraphs(text, (0, len(text))),
    "extract.spans.prose": lambda text: prose(text, (0, len(text)), sizes_for(text).target),
    "focus.stem": lambda text: stem(text, "en"),
    "gate.draft": _judged,
    "gate.previous": _judged_after,
    "gate.covered": _judged_of,
    "gate.protected": lambda text: protected_identifiers(SummaryDocument(text), limit=40),
    "graphemes": lambda text: (floor_border(text, len(text) // 2), ceil_border(text, len(text) // 2)),
    "identifiers.rank": lambda text: rank_identifiers([(text, 1.0)], limit=20),
    "identifiers.kept": lambda text: kept_identifiers(text, ["GW-3", "a/b.py"]),
    "identifiers.recall": lambda text: identifier_recall("a b", [text]),
    "language.main": lambda text: main_language([text]),
    "language.shares": lambda text: spoken_shares([text]),
    "precompute.judge": _artifact_judged,
    "precompute.topics": _topics,
    "preflight.skills": lambda text: cut_skills(f"## Skill: a\n{text}\n<skill>", ["b"]),
    "profiles.find": lambda text: find_profile(text, []),
    "profiles.override": lambda text: find_override(text, []),
    "provider_errors": lambda text: classify(400, {"error": {"message": text}}),
    "provider_errors.text": lambda text: classify(400, text),
    "ranking.rank": _ranked,
    "ranking.description": lambda text: build_index(
        read_catalog({"tools": [{"name": "a", "description": text}]})
    ),
    "recall.passages": lambda text: make_passages([_line(text)], turn_of=lambda seq: seq, count=_count),
    "recall.split": lambda text: split_passages(text, count=_count),
    "render.transcript": lambda text: render_transcript([_message(text), _result(text)]),
    "render.summary": lambda text: render_summary(text, from_seq=1, to_seq=9),
    "replies.clean": clean_reply,
    "tokens.message": lambda text: count_message({"role": "user", "content": text}),
    "tokens.tools": lambda text: count_tools(_described(text)),
    "tokens.tools.text": lambda text: render_tools(_described(text)),
    "trim.shorten": lambda text: shorten(text, 1_000),
    "voice.plays": lambda text: plays_conversation(SummaryDocument(text), [_line("Do it.")]),
    "wire.id": lambda text: format_of(Wire.ANTHROPIC).fit_id(text),
    "wire.name": lambda text: format_of(Wire.OPENAI).fit_name(text),
}
"""Functions that need more than a text, each with a call of it."""

Readers = dict[str, Callable[[str], object]]


def every_reader() -> Readers:
    """All of them, by a name that tells where each is."""
    return found_readers() | ADAPTED

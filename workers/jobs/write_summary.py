"""Writing of a segment's notes: chunk by chunk, each judged, finished chunks kept for a resume."""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from context.conversation.transcript import (
    RenderedLine,
    participants,
    render_transcript,
    transcript_text,
)
from context.summary.gate import Covered, Draft, Fault, GateSettings, GateVerdict
from context.summary.mending import complain, mend_summary
from context.summary.others_words import users_language
from context.summary.prompt import PROMPT_VERSION, SummaryInput, summary_messages
from context.summary.prompt_injection import is_tainted
from context.summary.substance import is_loop, says_little
from context.summary.trigger import SummaryCut
from context.text.language import UNKNOWN
from context.tokens import count_message, count_text
from context.types import Message
from context.window.types import ActiveSummary, notes_message
from llm.failures import Cause, FailureKind, LlmFailure
from llm.requests import CompletionReply, CompletionRequest, Purpose, complete_builtin
from llm.settings import EXTRACTIVE, LlmSettings
from models.catalogs.model_profile import load_profile
from models.conversations.kept_summaries import find_part, keep_part
from models.conversations.summary import SummaryText
from models.database import transaction
from models.due_work.queue import Claim, lock_lease
from models.scope import Scope
from workers.jobs.lifecycle import LeaseLostError
from workers.jobs.summarizer_room import (
    OUT_OF_ROOM,
    chunk_budget,
    cut_chunks,
    fitted,
    known_room,
    learn_room,
    shrink_chunks,
    widened,
)

log = structlog.get_logger()

Complete = Callable[[CompletionRequest], CompletionReply]

SUMMARY_SHARE = 0.15
"""Maximum share of the chat model's window for a summary."""

LOOP_TEMPERATURE = 0.4
"""Temperature after a looping draft: the same question at temperature 0 would loop again."""

LEAST_SUMMARY_TOKENS = 200

_FINISH_OF_FAILURE = {
    FailureKind.EMPTY: "stop",
    FailureKind.TRUNCATED: "length",
    FailureKind.REFUSED: "content_filter",
}
"""Finish reasons for answers without usable text; the gate refuses such answers like any bad draft."""


@dataclass(frozen=True)
class SummaryRange:
    """Input of a summary.

    Attributes:
        generation: The session's generation at the time of reading.
        base: The previous summary as base.
        cut: End of the segment.
        messages: Messages covered beyond the base.
        following: Later messages that stay raw, as far as read.
        context_window: The chat model's window, or the lower limit of history, in tokens.
        more: True if more raw messages follow than were read.
    """

    generation: int
    base: SummaryText | None
    cut: SummaryCut
    messages: Sequence[Message]
    following: Sequence[Message]
    context_window: int
    more: bool

    @property
    def tokens(self) -> int:
        """Tokens replaced by the summary: the messages and the previous summary."""
        return self.cut.tokens + (self.base.tokens if self.base else 0)

    @property
    def from_seq(self) -> int:
        """First message covered by the new summary."""
        return self.base.from_seq if self.base else self.cut.from_seq


@dataclass(frozen=True)
class SummaryJob:
    """Inputs and settings of the writer.

    Attributes:
        held: The lease on the work.
        segment: The segment to summarize.
        complete: Function that calls a model.
        llm: The model and the window.
        gate: Requirements on a summary.
        temperature: Temperature of the next call.
    """

    held: Claim
    segment: SummaryRange
    complete: Complete
    llm: LlmSettings
    gate: GateSettings
    temperature: float = 0.0


@dataclass(frozen=True)
class SummaryResult:
    """Judged notes with the writer.

    Attributes:
        verdict: Text of the notes, and the reason of a refusal.
        tokens: Tokens in a window, wrapper included.
        model: The writing model.
        method: extractive, normal or aggressive.
        language: Language of the notes.
        tainted: True if a tool result in these messages or in the base gave orders.
        loops: True if the draft repeated itself.
    """

    verdict: GateVerdict
    tokens: int
    model: str
    method: str
    language: str
    tainted: bool = False
    loops: bool = False


def write_notes(desk: SummaryJob) -> SummaryResult | None:
    """Ask once, and once more for less if the gate refuses; then history stays raw until a new turn.

    After an answer without a usable word the second answer gets more room: thinking may have taken all.

    Returns:
        The notes; None when the messages have nothing to note, or no smaller notes can say anything.

    Raises:
        LlmFailure: The model did not answer at all.
        LeaseLostError: Another worker has the work now; nothing more is asked.
    """
    lines = render_transcript(desk.segment.messages)
    if not lines:
        return None
    base = desk.segment.base
    notes = _ask(desk, lines)
    if notes.model == EXTRACTIVE and notes.verdict.reason is Fault.EMPTY:
        return None
    return replace(notes, tainted=(base is not None and base.tainted) or is_tainted(lines))


def _ask(desk: SummaryJob, lines: tuple[RenderedLine, ...]) -> SummaryResult:
    desk = replace(desk, llm=known_room(desk.held.tenant_id, desk.held.key, desk.llm))
    asked = _request(desk, lines, aggressive=False)
    notes = _write(_fitted(desk, asked), asked)
    if notes.verdict.accepted:
        return notes
    verdict = notes.verdict
    again = replace(desk, llm=known_room(desk.held.tenant_id, desk.held.key, desk.llm))
    asked = replace(_request(again, lines, aggressive=True), complaint=complain(verdict.reason, verdict.told))
    if verdict.reason not in OUT_OF_ROOM:
        return _write(_fitted(again, asked), asked)
    if notes.loops:
        return _write(replace(_fitted(again, asked), temperature=LOOP_TEMPERATURE), asked)
    try:
        return _write(replace(again, llm=widened(again.llm)), asked)
    except LlmFailure as failure:
        if failure.cause is not Cause.INVALID_REQUEST:
            raise
        return _write(again, asked)  # some models take no question that leaves more room than they use


def _fitted(desk: SummaryJob, asked: SummaryInput) -> SummaryJob:
    """Fit the answer's room of a non-thinking model to the budget, so that a loop ends soon."""
    if desk.llm.summarizer_model == EXTRACTIVE:
        return desk
    with Scope.read(desk.held.tenant_id) as scope:
        profile = load_profile(scope, desk.llm.summarizer_model)
    return replace(desk, llm=fitted(desk.llm, asked.budget_tokens, thinks=profile.hybrid_reasoning))


def _write(desk: SummaryJob, asked: SummaryInput) -> SummaryResult:
    """Write each chunk on top of the notes so far; the first refused chunk ends the writing.

    After a refusal for size, this chunk and the following chunks are cut down: the model's window is smaller
    than in the settings. Earlier notes stay.
    """
    chunks = deque(cut_chunks(asked.lines, chunk_budget(asked, desk.llm)))
    while True:
        part, is_last = replace(asked, lines=chunks[0]), len(chunks) == 1
        try:
            notes = _write_chunk(desk, part, desk.segment.tokens if is_last else _input_tokens(part))
        except LlmFailure as failure:
            if failure.kind is not FailureKind.SHRINK_INPUT:
                raise
            desk = replace(desk, llm=learn_room(desk.held.tenant_id, desk.held.key, desk.llm, failure))
            asked = replace(
                asked, budget_tokens=min(asked.budget_tokens, desk.llm.summarizer_max_output_tokens)
            )
            smaller = shrink_chunks(chunks, chunk_budget(asked, desk.llm))
            if smaller is None:
                raise
            chunks = smaller
            continue
        if is_last or not notes.verdict.accepted:
            return notes
        _keep(desk, part, notes)
        chunks.popleft()
        asked = replace(asked, previous_summary=notes.verdict.text)


def _input_tokens(asked: SummaryInput) -> int:
    return count_text(transcript_text(asked.lines)) + count_text(asked.previous_summary or "")


def _request(desk: SummaryJob, lines: tuple[RenderedLine, ...], *, aggressive: bool) -> SummaryInput:
    segment = desk.segment
    return SummaryInput(
        lines=lines,
        budget_tokens=_summary_budget(segment, desk.llm),
        language=_language(segment, lines),
        previous_summary=segment.base.text if segment.base else None,
        participants=participants(lines),
        aggressive=aggressive,
    )


def _language(segment: SummaryRange, lines: Sequence[RenderedLine]) -> str:
    """Detect the users' language over the whole talk, not from a single stretch or from pasted text."""
    following = render_transcript(segment.following)
    spoken = users_language((*lines, *following))
    return segment.base.language if spoken == UNKNOWN and segment.base else spoken


def _summary_budget(segment: SummaryRange, llm: LlmSettings) -> int:
    window = int(segment.context_window * SUMMARY_SHARE)
    smaller = segment.tokens // 2
    return max(min(window, smaller, llm.summarizer_max_output_tokens), min(LEAST_SUMMARY_TOKENS, smaller), 1)


def built_in(desk: SummaryJob) -> SummaryJob:
    """Let the built-in model write instead of the chosen one."""
    llm = desk.llm.model_copy(update={"summarizer_model": EXTRACTIVE})
    return replace(desk, complete=complete_builtin, llm=llm)


def _write_chunk(desk: SummaryJob, asked: SummaryInput, covered_tokens: int) -> SummaryResult:
    """Get and judge a chunk's notes; greetings alone are repeated by rule, since no model can sum them up."""
    if not asked.previous_summary and says_little(asked.lines):
        desk = built_in(desk)
    draft, model = _draft(desk, asked)
    covered = Covered(asked.lines, covered_tokens, asked.previous_summary, asked.language)
    verdict = _judge(desk, asked, draft, covered)
    if not verdict.accepted and not asked.aggressive and model != EXTRACTIVE:
        _keep_refused(desk, asked, draft)
    shown = ActiveSummary(1, desk.segment.from_seq, desk.segment.cut.to_seq, verdict.text or "-")
    method = "extractive" if model == EXTRACTIVE else "aggressive" if asked.aggressive else "normal"
    tokens, loops = notes_message(shown).tokens, is_loop(draft.text)
    return SummaryResult(verdict, tokens, model, method, asked.language, loops=loops)


def _judge(desk: SummaryJob, asked: SummaryInput, draft: Draft, covered: Covered) -> GateVerdict:
    """Judge a draft, mended as far as possible without a call."""
    mended = mend_summary(draft, covered, desk.gate, budget_tokens=asked.budget_tokens, count=count_text)
    log.info(
        "notes_mended",
        work_id=desk.held.work_id,
        dropped=mended.dropped,
        rules=mended.rules,
        names=mended.names,
        carried=mended.carried,
        reason=mended.verdict.reason,
    )
    return mended.verdict


def _draft(desk: SummaryJob, asked: SummaryInput) -> tuple[Draft, str]:
    """Get a chunk of an earlier attempt, finished or refused, or the model's answer, even without words."""
    held, model = desk.held, desk.llm.summarizer_model
    with Scope.read(held.tenant_id) as scope:
        kept = find_part(scope, held.key, _digest(asked, model))
        refused = None if kept else find_part(scope, held.key, _refused_digest(asked, model))
    if kept is not None:
        return Draft(kept, count_text(kept)), model
    if refused is not None:
        finish, _, text = refused.partition("\n")
        return Draft(text, count_text(text), finish), model
    try:
        reply = desk.complete(_question(desk, asked))
    except LlmFailure as failure:
        if failure.kind not in _FINISH_OF_FAILURE:
            raise
        words = failure.words
        return Draft(words, count_text(words), _FINISH_OF_FAILURE[failure.kind]), model
    return Draft(reply.text, count_text(reply.text), reply.finish_reason), reply.model


def _question(desk: SummaryJob, asked: SummaryInput) -> CompletionRequest:
    messages = summary_messages(asked)
    return CompletionRequest(
        tenant_id=desk.held.tenant_id,
        purpose=Purpose.SUMMARIZE,
        model=desk.llm.summarizer_model,
        messages=messages,
        max_output_tokens=desk.llm.summarizer_max_output_tokens,
        temperature=desk.temperature,
        input_tokens=sum(map(count_message, messages)),
        session_id=desk.held.key,
        work_id=desk.held.work_id,
        summary_input=asked,
    )


def _digest(asked: SummaryInput, model: str) -> bytes:
    """Hash a chunk's input exactly: text, base, prompt and model."""
    transcript = transcript_text(asked.lines)
    parts = (PROMPT_VERSION, model, str(asked.aggressive), asked.previous_summary or "", transcript)
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _refused_digest(asked: SummaryInput, model: str) -> bytes:
    return hashlib.sha256(b"refused" + _digest(asked, model)).digest()


def _keep_refused(desk: SummaryJob, asked: SummaryInput, draft: Draft) -> None:
    """Store a refused first draft: after an outage in the second call, the first is not paid again."""
    held, digest = desk.held, _refused_digest(asked, desk.llm.summarizer_model)
    content = f"{draft.finish_reason or 'stop'}\n{draft.text}"
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        keep_part(Scope(db, held.tenant_id), held.key, digest, content=content, tokens=draft.tokens)


def _keep(desk: SummaryJob, asked: SummaryInput, notes: SummaryResult) -> None:
    held, digest = desk.held, _digest(asked, desk.llm.summarizer_model)
    with transaction() as db:
        if not lock_lease(db, held):
            raise LeaseLostError
        keep_part(
            Scope(db, held.tenant_id), held.key, digest, content=notes.verdict.text, tokens=notes.tokens
        )

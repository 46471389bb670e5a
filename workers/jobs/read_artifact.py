"""Reading of an artifact for a focus: tokens reserved, a question to the summarizer, and a verdict."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from context.extract import PassageIndex, extract
from context.precompute.prompt import (
    ARTIFACT_PROMPT_VERSION,
    ArtifactDraft,
    ArtifactInput,
    ArtifactReason,
    artifact_messages,
    judge_artifact_summary,
)
from context.precompute.worth import Guess, WorthLimits
from context.text.language import UNKNOWN
from context.tokens import EncodingName, count_message, count_text
from llm.failures import FailureKind, LlmFailure
from llm.requests import CompletionReply, CompletionRequest, Purpose
from llm.settings import EXTRACTIVE, LlmSettings
from models.artifacts.listing import ArtifactText
from models.artifacts.summary import MadeSummary, Wish
from models.learning.speculation import Reserved, What, release, reserve_spending
from models.scope import Scope
from workers.jobs.summarizer_room import known_room, learn_room
from workers.settings import PrecomputeSettings


@contextmanager
def reserved(tenant_id: UUID, what: What, guess: Guess, limits: WorthLimits) -> Iterator[Reserved | None]:
    """Reserve a call's tokens while the call is made, and give the tokens back if the model fails.

    Args:
        tenant_id: The paying tenant.
        what: Key of the thing.
        guess: The estimate of the call.
        limits: The limits of spending.

    Yields:
        The reservation, for `note_made`; None if the ceiling is reached, and the call must not be made.
    """
    with Scope.write(tenant_id) as scope:
        taken = reserve_spending(scope, what, guess, limits)
    try:
        yield taken
    except LlmFailure:
        if taken is not None:
            with Scope.write(tenant_id) as scope:
                release(scope, what, taken)
        raise


log = structlog.get_logger()

Complete = Callable[[CompletionRequest], CompletionReply]

LEAST_INPUT_TOKENS = 500
_REFUSED_ANSWERS = {
    FailureKind.EMPTY: ArtifactReason.EMPTY,
    FailureKind.TRUNCATED: ArtifactReason.CUT_OFF,
    FailureKind.REFUSED: ArtifactReason.REFUSAL,
}


@dataclass(frozen=True)
class ArtifactReader:
    """Inputs of a reading: payer, artifact, model and limits.

    Attributes:
        tenant_id: The paying tenant.
        work_id: The asking work.
        session_id: The session with the charged cap; None without a session.
        artifact: The artifact to read.
        index: Passages of the artifact.
        complete: Function that calls a model.
        llm: The model and the window.
        settings: Limits of the summary and of the text read.
    """

    tenant_id: UUID
    work_id: int
    session_id: str | None
    artifact: ArtifactText
    index: PassageIndex
    complete: Complete
    llm: LlmSettings
    settings: PrecomputeSettings

    @property
    def budget_tokens(self) -> int:
        """Maximum tokens of a summary: a fixed size, and never near the artifact's own size."""
        return summary_tokens(self.artifact, self.settings)


def read_for(reader: ArtifactReader, wish: Wish) -> MadeSummary:
    """Summarize the artifact for the focus of a wish.

    An artifact too large for the summarizer is not read chunk by chunk: the passages relevant to the focus
    are chosen first, so that a single call of bounded size is enough.

    Raises:
        LlmFailure: The model did not answer; the wish stays.
    """
    model = wish.key.model or reader.llm.summarizer_model
    is_summarizer = model == reader.llm.summarizer_model
    if is_summarizer:
        reader = replace(reader, llm=known_room(reader.tenant_id, reader.session_id, reader.llm))
    cap = input_cap(reader.llm, reader.settings)
    while True:
        asked = _input(reader, wish, cap)
        try:
            reply = reader.complete(_question(reader, asked, model))
        except LlmFailure as failure:
            if failure.kind in _REFUSED_ANSWERS:
                return _rejected(reader, asked, _REFUSED_ANSWERS[failure.kind], model=model)
            if failure.kind is not FailureKind.SHRINK_INPUT or cap <= LEAST_INPUT_TOKENS:
                raise
            if is_summarizer:
                llm = learn_room(reader.tenant_id, reader.session_id, reader.llm, failure)
                reader = replace(reader, llm=llm)
            asked_for, room = min(cap, reader.artifact.tokens), input_cap(reader.llm, reader.settings)
            cap = room if room < asked_for else max(asked_for // 2, LEAST_INPUT_TOKENS)
            continue
        return _judged(reader, asked, reply)


def summary_tokens(artifact: ArtifactText, settings: PrecomputeSettings) -> int:
    """Compute the maximum tokens of a summary of an artifact, > 0."""
    return max(min(settings.artifact_summary_tokens, artifact.tokens // 3), 1)


def input_cap(llm: LlmSettings, settings: PrecomputeSettings) -> int:
    """Compute the maximum tokens of an artifact read for a summary."""
    room = llm.summarizer_window_tokens - llm.summarizer_max_output_tokens
    return max(min(settings.artifact_input_tokens, int(room * 0.8)), LEAST_INPUT_TOKENS)


def _input(reader: ArtifactReader, wish: Wish, cap: int) -> ArtifactInput:
    artifact = reader.artifact
    asked = ArtifactInput(
        text=artifact.content,
        focus=wish.focus,
        budget_tokens=reader.budget_tokens,
        kind=artifact.kind,
        title=artifact.title,
        language=wish.key.language or UNKNOWN,
    )
    if artifact.tokens <= cap:
        return replace(asked, index=reader.index)
    part = extract(artifact.content, reader.index, wish.focus, budget_tokens=cap, count=count_text)
    return replace(asked, text=part.text, is_excerpt=True)


def _question(reader: ArtifactReader, asked: ArtifactInput, model: str) -> CompletionRequest:
    messages = artifact_messages(asked)
    return CompletionRequest(
        tenant_id=reader.tenant_id,
        purpose=Purpose.ARTIFACT,
        model=model,
        messages=messages,
        max_output_tokens=min(reader.llm.summarizer_max_output_tokens, reader.budget_tokens * 2 + 200),
        input_tokens=sum(count_message(message) for message in messages),
        session_id=reader.session_id,
        work_id=reader.work_id,
        artifact_input=asked,
    )


def _judged(reader: ArtifactReader, asked: ArtifactInput, reply: CompletionReply) -> MadeSummary:
    draft = ArtifactDraft(reply.text, count_text(reply.text), reply.finish_reason)
    source = f"{asked.title}\n{asked.focus}\n{asked.text}"
    own_words = reply.model != EXTRACTIVE
    verdict = judge_artifact_summary(
        draft,
        source=source if own_words else source + reply.text,
        artifact_tokens=reader.artifact.tokens,
        language=asked.language if own_words else UNKNOWN,
    )
    if verdict.reason is not None:
        return _rejected(reader, asked, verdict.reason, model=reply.model, calls=(reply.call_id,))
    return MadeSummary(
        model=reply.model,
        prompt_version=ARTIFACT_PROMPT_VERSION,
        language=asked.language,
        text=verdict.text,
        tokens=count_text(verdict.text),
        tokens_wide=count_text(verdict.text, EncodingName.WIDE),
        method=_method(asked, reply),
        call_ids=(reply.call_id,),
    )


def _method(asked: ArtifactInput, reply: CompletionReply) -> str:
    if reply.model == EXTRACTIVE:
        return "extractive"
    return "summary-of-excerpt" if asked.is_excerpt else "summary"


def _rejected(
    reader: ArtifactReader,
    asked: ArtifactInput,
    reason: ArtifactReason,
    *,
    model: str,
    calls: tuple[UUID, ...] = (),
) -> MadeSummary:
    log.warning("artifact_summary_refused", work_id=reader.work_id, reason=reason)
    return MadeSummary(
        model=model,
        prompt_version=ARTIFACT_PROMPT_VERSION,
        language=asked.language,
        call_ids=calls,
        rejected_because=reason,
    )

"""Real limits of the summarizer: the settings, lowered by windows learned from refusals; chunks that fit."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from context.conversation.transcript import RenderedLine, chunk_lines, transcript_text
from context.providers.profiles import shared_floor
from context.summary.gate import Fault
from context.summary.prompt import SummaryInput, summary_messages
from context.tokens import count_message, count_text
from llm.failures import FailureKind, LlmFailure
from llm.settings import EXTRACTIVE, LlmSettings
from models.catalogs.model_profile import load_profile
from models.conversations.session import find_session
from models.providers.context_limit import Sighting, SightingSource, find_limit, learn_limit, was_outdone
from models.scope import Scope

log = structlog.get_logger()

LEAST_WINDOW_TOKENS = 1_000
"""Lowest believed window: no model has a smaller window, so a lower number was misread."""

LEAST_CHUNK_TOKENS = 1_000

MOST_OF_WINDOW = 4
"""Divisor of a window smaller than in the settings, for the room of an answer."""

BUDGETS_OF_ANSWER, LEAST_ANSWER_TOKENS = 2, 200
"""Room of an answer: twice the requested budget, since no model counts tokens, and a few more."""

WIDER = 2
"""Factor for the answer's room after an answer without a usable word: thinking takes room too."""

OUT_OF_ROOM = frozenset({Fault.EMPTY, Fault.CUT_OFF, Fault.REASONING_TEXT})
"""Refusals that more room for the answer may mend."""


def known_room(tenant_id: UUID, session_id: str | None, llm: LlmSettings) -> LlmSettings:
    """Return the settings with the summarizer's real window for a session."""
    if llm.summarizer_model == EXTRACTIVE:
        return llm
    with Scope.read(tenant_id) as scope:
        limit = find_limit(scope, llm.summarizer_model, session_id)
    return lowered(llm, limit)


def learn_room(tenant_id: UUID, session_id: str | None, llm: LlmSettings, failure: LlmFailure) -> LlmSettings:
    """Use the window named by a refusal, and remember the window for the next summaries of the session.

    A refusal contradicted by the ledger, with a recent, larger, successful call of the same model, is not
    believed: a single wrong server behind a name is no limit, and less is asked of the server all the same.

    Args:
        tenant_id: The paying tenant.
        session_id: The session of the work; None without a session, and then nothing is remembered.
        llm: The settings so far.
        failure: The model's failure.

    Returns:
        The settings to go on with; unchanged without a smaller, believed window.
    """
    limit = failure.limit_tokens
    if failure.kind is not FailureKind.SHRINK_INPUT or limit is None or limit < LEAST_WINDOW_TOKENS:
        return llm
    if failure.model not in {None, llm.summarizer_model} or limit >= llm.summarizer_window_tokens:
        return llm
    model = llm.summarizer_model
    with Scope.write(tenant_id) as scope:
        if was_outdone(scope, model, limit):
            log.info("summarizer_window_not_believed", model=model, limit_tokens=limit)
            return llm
        if session_id is not None and find_session(scope, session_id) is not None:
            seen = Sighting(model, session_id, limit, SightingSource.ERROR)
            floor = shared_floor(load_profile(scope, model))
            learn_limit(scope, seen, floor_tokens=floor)
    log.info("summarizer_window_learned", model=model, limit_tokens=limit)
    return lowered(llm, limit)


def lowered(llm: LlmSettings, limit: int | None) -> LlmSettings:
    """Return the settings for a window of a number of tokens; unchanged for a larger window."""
    if limit is None or limit >= llm.summarizer_window_tokens:
        return llm
    output = min(llm.summarizer_max_output_tokens, max(limit // MOST_OF_WINDOW, 1))
    return llm.model_copy(update={"summarizer_window_tokens": limit, "summarizer_max_output_tokens": output})


def fitted(llm: LlmSettings, budget_tokens: int, *, thinks: bool) -> LlmSettings:
    """Return the settings with room for an answer of a number of tokens, and a bound on the cost of a loop.

    Args:
        llm: The settings so far.
        budget_tokens: Maximum tokens asked for in the answer, > 0.
        thinks: True if the model thinks in the same room.

    Returns:
        The settings; unchanged for a thinking model.
    """
    room = budget_tokens * BUDGETS_OF_ANSWER + LEAST_ANSWER_TOKENS
    if thinks or room >= llm.summarizer_max_output_tokens:
        return llm
    return llm.model_copy(update={"summarizer_max_output_tokens": room})


def widened(llm: LlmSettings) -> LlmSettings:
    """Return the settings with more room for the answer, up to a quarter of the window, never with less."""
    output = llm.summarizer_max_output_tokens
    wide = min(output * WIDER, llm.summarizer_window_tokens // MOST_OF_WINDOW)
    return llm.model_copy(update={"summarizer_max_output_tokens": max(output, wide)})


def cut_chunks(lines: Sequence[RenderedLine], room: int) -> list[tuple[RenderedLine, ...]]:
    """Cut a transcript into chunks of a number of tokens."""
    return chunk_lines(lines, count=count_text, budget_tokens=room)


def shrink_chunks(
    chunks: deque[tuple[RenderedLine, ...]], room: int
) -> deque[tuple[RenderedLine, ...]] | None:
    """Cut the remaining chunks to the room, or to half the first chunk; None without any shrinking."""
    size = count_text(transcript_text(chunks[0]))
    room = room if room < size else max(size // 2, LEAST_CHUNK_TOKENS)
    smaller = deque(cut_chunks([line for chunk in chunks for line in chunk], room))
    return smaller if count_text(transcript_text(smaller[0])) < size else None


def chunk_budget(request: SummaryInput, llm: LlmSettings) -> int:
    """Compute the transcript's room in the summarizer's window, with a reserve for miscounting."""
    prompt = sum(count_message(message) for message in summary_messages(replace(request, lines=())))
    room = llm.summarizer_window_tokens - llm.summarizer_max_output_tokens - prompt - request.budget_tokens
    return max(int(room * 0.8), LEAST_CHUNK_TOKENS)

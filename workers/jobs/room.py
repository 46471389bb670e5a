"""What the summarizer can really take and give: its settings, lowered by what its refusals taught."""

from uuid import UUID

import structlog

from context.gate import Reason
from llm.failures import FailureKind, LlmFailure
from llm.settings import EXTRACTIVE, LlmSettings
from models.limit import LimitSource, find_limit, learn_limit
from models.session import reading, transaction

log = structlog.get_logger()

LEAST_WINDOW_TOKENS = 1_000
"""A refusal that names less is misread: no model has so small a window."""

MOST_OF_WINDOW = 4
"""An answer takes one in so many tokens of a window that is smaller than the settings say."""

WIDER = 2
"""How much more an answer may take after one that ended without a usable word: thinking takes of it too."""

OUT_OF_ROOM = frozenset({Reason.EMPTY, Reason.CUT_OFF, Reason.REASONING_TEXT})
"""Refusals that more room for the answer may mend."""


def known_room(tenant_id: UUID, llm: LlmSettings) -> LlmSettings:
    """The settings with the window that the summarizer turned out to have, where a refusal told it."""
    if llm.summarizer_model == EXTRACTIVE:
        return llm
    with reading() as db:
        limit = find_limit(db, tenant_id, llm.summarizer_model)
    return lowered(llm, limit)


def learn_room(tenant_id: UUID, llm: LlmSettings, failure: LlmFailure) -> LlmSettings:
    """Remember the window that a refusal names, for this summary and the next ones.

    Args:
        tenant_id: Whose model it is.
        llm: The settings so far.
        failure: What the model said to a question.

    Returns:
        The settings to go on with; the same where it named no smaller window of the summarizer.
    """
    limit = failure.limit_tokens
    if failure.kind is not FailureKind.SHRINK_INPUT or limit is None or limit < LEAST_WINDOW_TOKENS:
        return llm
    if failure.model not in {None, llm.summarizer_model} or limit >= llm.summarizer_window_tokens:
        return llm
    with transaction() as db:
        in_force = learn_limit(db, tenant_id, llm.summarizer_model, limit, LimitSource.ERROR)
    log.info("summarizer_window_learned", model=llm.summarizer_model, limit_tokens=in_force)
    return lowered(llm, in_force)


def lowered(llm: LlmSettings, limit: int | None) -> LlmSettings:
    """The settings for a window of so many tokens; the same where it is not smaller."""
    if limit is None or limit >= llm.summarizer_window_tokens:
        return llm
    output = min(llm.summarizer_max_output_tokens, max(limit // MOST_OF_WINDOW, 1))
    return llm.model_copy(update={"summarizer_window_tokens": limit, "summarizer_max_output_tokens": output})


def widened(llm: LlmSettings) -> LlmSettings:
    """The settings with more room for the answer, a quarter of the window at most; never less than before."""
    output = llm.summarizer_max_output_tokens
    wide = min(output * WIDER, llm.summarizer_window_tokens // MOST_OF_WINDOW)
    return llm.model_copy(update={"summarizer_max_output_tokens": max(output, wide)})

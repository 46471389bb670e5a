"""What the summarizer can really take and give: its settings, lowered by what its refusals taught."""

from uuid import UUID

import structlog

from context.gate import Reason
from context.profiles.find import shared_floor
from llm.failures import FailureKind, LlmFailure
from llm.settings import EXTRACTIVE, LlmSettings
from models.conversation import find_session
from models.limit import LimitSource, Sighting, find_limit, learn_limit, was_outdone
from models.profile import load_profile
from models.session import reading, transaction

log = structlog.get_logger()

LEAST_WINDOW_TOKENS = 1_000
"""A refusal that names less is misread: no model has so small a window."""

MOST_OF_WINDOW = 4
"""An answer takes one in so many tokens of a window that is smaller than the settings say."""

BUDGETS_OF_ANSWER, LEAST_ANSWER_TOKENS = 2, 200
"""What an answer may take: twice what it was asked for, since no model counts its tokens, and a few."""

WIDER = 2
"""How much more an answer may take after one that ended without a usable word: thinking takes of it too."""

OUT_OF_ROOM = frozenset({Reason.EMPTY, Reason.CUT_OFF, Reason.REASONING_TEXT})
"""Refusals that more room for the answer may mend."""


def known_room(tenant_id: UUID, session_id: str | None, llm: LlmSettings) -> LlmSettings:
    """The settings with the window that the summarizer turned out to have for a session."""
    if llm.summarizer_model == EXTRACTIVE:
        return llm
    with reading() as db:
        limit = find_limit(db, tenant_id, llm.summarizer_model, session_id)
    return lowered(llm, limit)


def learn_room(tenant_id: UUID, session_id: str | None, llm: LlmSettings, failure: LlmFailure) -> LlmSettings:
    """Go by the window that a refusal names, and remember it for the next summaries of the session.

    A refusal that the ledger contradicts, by a larger call of the same model that succeeded lately, is not
    believed: one wrong server behind a name is no limit, and less is asked of it all the same.

    Args:
        tenant_id: The tenant that pays.
        session_id: The session whose work it is; None for nobody's, and then nothing is remembered.
        llm: The settings so far.
        failure: What the model said to a question.

    Returns:
        The settings to go on with; the same where it named no smaller window that is believed.
    """
    limit = failure.limit_tokens
    if failure.kind is not FailureKind.SHRINK_INPUT or limit is None or limit < LEAST_WINDOW_TOKENS:
        return llm
    if failure.model not in {None, llm.summarizer_model} or limit >= llm.summarizer_window_tokens:
        return llm
    model = llm.summarizer_model
    with transaction() as db:
        if was_outdone(db, tenant_id, model, limit):
            log.info("summarizer_window_not_believed", model=model, limit_tokens=limit)
            return llm
        if session_id is not None and find_session(db, tenant_id, session_id) is not None:
            seen = Sighting(model, session_id, limit, LimitSource.ERROR)
            floor = shared_floor(load_profile(db, tenant_id, model))
            learn_limit(db, tenant_id, seen, floor_tokens=floor)
    log.info("summarizer_window_learned", model=model, limit_tokens=limit)
    return lowered(llm, limit)


def lowered(llm: LlmSettings, limit: int | None) -> LlmSettings:
    """The settings for a window of so many tokens; the same where it is not smaller."""
    if limit is None or limit >= llm.summarizer_window_tokens:
        return llm
    output = min(llm.summarizer_max_output_tokens, max(limit // MOST_OF_WINDOW, 1))
    return llm.model_copy(update={"summarizer_window_tokens": limit, "summarizer_max_output_tokens": output})


def fitted(llm: LlmSettings, budget_tokens: int, *, thinks: bool) -> LlmSettings:
    """The settings with room for an answer of so many tokens, and no more than a loop may cost.

    Args:
        llm: The settings so far.
        budget_tokens: The most tokens that the answer was asked for, > 0.
        thinks: Whether the model thinks out of the same room.

    Returns:
        The settings; the same for a model that thinks.
    """
    room = budget_tokens * BUDGETS_OF_ANSWER + LEAST_ANSWER_TOKENS
    if thinks or room >= llm.summarizer_max_output_tokens:
        return llm
    return llm.model_copy(update={"summarizer_max_output_tokens": room})


def widened(llm: LlmSettings) -> LlmSettings:
    """The settings with more room for the answer, a quarter of the window at most; never less than before."""
    output = llm.summarizer_max_output_tokens
    wide = min(output * WIDER, llm.summarizer_window_tokens // MOST_OF_WINDOW)
    return llm.model_copy(update={"summarizer_max_output_tokens": max(output, wide)})

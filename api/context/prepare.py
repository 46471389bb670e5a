"""Decisions about a request before laying out history: models, tools, preflight."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from api.catalogs.budgets import profiles
from api.context import artifact_summaries as in_force
from api.context.artifact_plan import ModelChoice
from api.context.reported_usage import caches, learned_rule
from api.context.request import ContextRequest, ParsedRequest
from api.context.tail import count_request_tools, system_message
from api.context.tools import (
    Beside,
    ChosenTools,
    ToolOffer,
    ToolRoom,
    choose_tools,
    ladder_of,
    match_tools,
    offer_tools,
    tool_names_of,
    used_tools,
)
from api.preflight.decide import Conversation, PreflightResult, preflight_for
from context.artifact_plans.needs_plan import ModelConfig, ModelDefaults, is_expensive_primary
from context.catalog.fit import CatalogOverBudgetError
from context.conversation.turns import open_turn_of
from context.preflight.choose_tools import cut_skills
from context.preflight.config import KNOWN_TOOLS
from context.preflight.types import (
    KEPT,
    SHADOWED,
    HintPlace,
    annotate,
    as_sent,
    unfiltered,
    with_hint_at_its_end,
)
from context.providers.prompt_cache import keeps_list_of_tools
from context.recall.ranking import find_question
from context.shadow.verdict import EVERY_PART, ShadowPart
from context.tokens.budget import Budget
from context.types import Message
from models.artifacts.settings import planning_settings
from models.read_ahead import ReadAhead

CHARS_A_TOKEN = 4
"""Approximate characters of a system prompt per token, for a comparison only."""


@dataclass(frozen=True)
class RequestPlace:
    """Tenant, session and recent history of a request, and rows of the session that were read ahead."""

    tenant_id: UUID
    session_id: str
    tail: Sequence[Message]
    ahead: ReadAhead | None = None


def choose_models(tenant_id: UUID, request: ContextRequest) -> ModelChoice:
    """Choose the planner and summarizer models of a request; empty for the defaults.

    Only defaults and models of the allow-list are accepted.

    Raises:
        InvalidInputError: A model is not allowed.
    """
    settings = planning_settings()
    defaults = ModelDefaults(in_force.planner.find() or "", in_force.summarizer.find() or "")
    config = ModelConfig.from_request(
        request.model,
        planner=request.planner_model,
        summarizer=request.summarizer_model,
        defaults=defaults,
        allowed=settings.model_overrides,
    )
    price = profiles.find(tenant_id, request.model).usd_per_input_token
    return ModelChoice(
        "" if config.context_planner == defaults.context_planner else config.context_planner,
        "" if config.summarizer == defaults.summarizer else config.summarizer,
        is_expensive_primary=is_expensive_primary(
            price, settings.expensive_usd_per_token, model=request.model
        ),
    )


def prepare(
    place: RequestPlace,
    request: ContextRequest,
    given: ParsedRequest,
    budget: Budget,
    applied: Collection[ShadowPart] = EVERY_PART,
    *,
    is_trial: bool = False,
) -> ParsedRequest:
    """Classify the new message, then choose and fit the tools.

    Tools called in history stay in any case, and so do the tools with the best match of words: categories
    know usual tools, the ranking knows the caller's. The hint goes to the place chosen by the request,
    never into the user's own words. Text not written by a user is not classified.

    Args:
        place: Tenant, session and recent history.
        request: The request.
        given: The parsed request.
        budget: The window.
        applied: Parts in use; see `context.shadow.verdict`.
        is_trial: True for a trial: the preflight decision is then not recorded.

    Raises:
        ProblemError: The catalog does not exist, or the request names both a catalog and tools.
    """
    offered = offer_tools(
        *(place.tenant_id, request.tools, request.catalog, request.wire, request.model),
        session_id=place.session_id,
    )
    question = find_question(given.new, place.tail)
    used = used_tools(offered, [*place.tail, *given.new], request.wire)
    judged = _judge(place, request, offered, question, called=used, is_trial=is_trial)
    judged = _with_all_tools(judged, place, given, offered, applied=applied, model=request.model)
    allowed = judged.found.tool_allowlist
    known = offered.names if offered.tools is not None else KNOWN_TOOLS
    prompt, skills = cut_skills(given.prompt, allowed, tools=known)
    system = system_message(prompt)
    turn = [*open_turn_of(place.tail, given.new), *given.new]
    beside = Beside(budget, request.model, system.tokens if system else 0, turn)
    choose = partial(choose_tools, place.tenant_id, offered, request.focus or question, model=request.model)
    choose = partial(choose, allowed=allowed, pinned=used, top_n=request.top_n)
    chosen = _choose_beside(beside, choose, whole=ShadowPart.CATALOG not in applied)
    done = replace(
        given,
        unhinted=given.new,
        system=system,
        tools=count_request_tools(chosen.tools),
        chosen=replace(chosen, skills=skills),
        judged=_as_sent(judged, chosen, offered),
    )
    return _hinted(done, request.hint, prompt)


def _choose_beside(beside: Beside, choose: Callable[..., ChosenTools], *, whole: bool) -> ChosenTools:
    """Choose tools for the room beside the other parts.

    Required tools without room are kept as short as possible: the window then names every part that is too
    large, in the model's own tokens.

    Args:
        beside: The other parts.
        choose: Chooses tools for a room.
        whole: True if tools are shortened only for lack of room.
    """
    try:
        return choose(room=beside.room_for_tools(whole=whole))
    except CatalogOverBudgetError as error:
        least = error.needed.tokens
        return choose(room=ToolRoom(least, least, whole))


def _with_all_tools(
    judged: PreflightResult,
    place: RequestPlace,
    given: ParsedRequest,
    offered: ToolOffer,
    *,
    applied: Collection[ShadowPart],
    model: str,
) -> PreflightResult:
    """Drop the filter if in shadow, or if it costs more cached tokens than it saves."""
    if ShadowPart.FILTERING not in applied:
        return replace(judged, found=unfiltered(judged.found, SHADOWED))
    if _keeps_tools(place, given, offered, judged, model):
        return replace(judged, found=unfiltered(judged.found, KEPT))
    return judged


def _keeps_tools(
    place: RequestPlace, given: ParsedRequest, offered: ToolOffer, judged: PreflightResult, model: str
) -> bool:
    """Tell whether to send all tools, since a changed list costs more of the cached prefix than it saves."""
    allowed = judged.found.tool_allowlist
    if allowed is None or not offered.tools or not caches(place.tenant_id, model):
        return False
    stay = {"", *allowed, *used_tools(offered, [*place.tail, *given.new], given.new[0].wire)}
    ladder = ladder_of(offered)
    fewer = [place for place, name in enumerate(ladder.names) if name in stay]
    before = place.tail[: len(place.tail) - len(open_turn_of(place.tail, given.new))]
    return keeps_list_of_tools(
        all_tokens=ladder.size(range(ladder.entries), 0).tokens,
        fewer_tokens=ladder.size(fewer, 0).tokens,
        prefix_tokens=sum(message.tokens for message in before) + len(given.prompt) // CHARS_A_TOKEN,
        rule=learned_rule(place.tenant_id, model),
    )


def _as_sent(judged: PreflightResult, chosen: ChosenTools, offered: ToolOffer) -> PreflightResult:
    found = as_sent(judged.found, tool_names_of(chosen.tools), offered=len(set(offered.names)))
    return replace(judged, found=found)


def _hinted(given: ParsedRequest, place: HintPlace, prompt: str) -> ParsedRequest:
    """Put the hint at the requested place: the system prompt's end, or before the user's words."""
    hint = given.judged.found.hint if given.judged else None
    if place is HintPlace.SYSTEM:
        return replace(given, system=system_message(with_hint_at_its_end(prompt, hint)))
    if place is HintPlace.BLOCK:
        return replace(given, new=annotate(given.new, hint))
    return given


def _judge(
    place: RequestPlace,
    request: ContextRequest,
    offered: ToolOffer,
    question: str,
    *,
    called: Collection[str],
    is_trial: bool,
) -> PreflightResult:
    return preflight_for(
        place.tenant_id,
        Conversation(place.session_id, place.ahead.topic if place.ahead else None),
        question,
        attachments=[each.media_type for each in request.attachments or ()],
        tools=offered.names if offered.tools is not None else None,
        called=called,
        matched=match_tools(offered, question),
        kind=request.kind,
        is_trial=is_trial,
    )

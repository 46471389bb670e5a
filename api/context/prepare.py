"""Decisions about a request before laying out history: models, tools, preflight."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from api.context.reported_usage import caches, learned_rule
from api.context.request import ParsedRequest, ask
from api.context.session_request import LoadedRequest, PreparedRequest
from api.context.tail import load_tail, system_message
from api.context.tools import (
    Beside,
    ChosenTools,
    ToolOffer,
    ToolRoom,
    choose_tools,
    match_tools,
    offer_tools,
    used_tools,
)
from api.preflight.decide import Conversation, PreflightResult, preflight_for
from context.catalog.fit import CatalogOverBudgetError
from context.conversation.turns import open_turn_of, parse_turn_boundaries
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
from context.providers.prompt_cache import SECOND_TURN_SHARE, keeps_list_of_tools
from context.recall.ranking import find_question
from context.shadow.verdict import ShadowPart
from context.types import Message
from models.telemetry.tracing import span

CHARS_A_TOKEN = 4
"""Approximate characters of a system prompt per token, for a comparison only."""


def prepare(loaded: LoadedRequest) -> PreparedRequest:
    """Classify the new message, then choose and fit the tools.

    Tools called in history stay in any case, and so do the tools with the best match of words: categories
    know usual tools, the ranking knows the caller's. The hint goes to the place chosen by the request,
    never into the user's own words. Text not written by a user is not classified.

    Raises:
        ProblemError: The catalog does not exist, or the request names both a catalog and tools.
    """
    tenant_id, model, budget = loaded.tenant_id, loaded.request.model, loaded.budget
    tail = load_tail(tenant_id, loaded.shown, model, budget, loaded.ahead)
    with span("rank tools"):
        given = _choose(loaded, tail.messages)
    size = ask(loaded.request, given, loaded.limits, loaded.standing)
    return PreparedRequest(loaded, given, size, tail)


def _choose(loaded: LoadedRequest, tail: Sequence[Message]) -> ParsedRequest:
    tenant_id, request, given = loaded.tenant_id, loaded.request, loaded.parsed
    offered = offer_tools(
        *(tenant_id, request.tools, request.catalog, request.wire, request.model),
        session_id=loaded.session_id,
    )
    question = find_question(given.new, tail)
    used = used_tools(offered, [*tail, *given.new], request.wire)
    judged = _judge(loaded, offered, question, called=used)
    judged = _with_all_tools(judged, loaded, tail, offered)
    allowed = judged.found.tool_allowlist
    known = offered.names if offered.tools is not None else KNOWN_TOOLS
    prompt, skills = cut_skills(given.prompt, allowed, tools=known)
    system = system_message(prompt)
    turn = [*open_turn_of(tail, given.new), *given.new]
    beside = Beside(loaded.budget, request.model, system.tokens if system else 0, turn)
    choose = partial(choose_tools, tenant_id, offered, request.focus or question, model=request.model)
    choose = partial(choose, allowed=allowed, pinned=used, top_n=request.top_n)
    chosen = _choose_beside(beside, choose, whole=ShadowPart.CATALOG not in loaded.variant.applied)
    done = replace(
        given,
        unhinted=given.new,
        system=system,
        tools=chosen.count,
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
    judged: PreflightResult, loaded: LoadedRequest, tail: Sequence[Message], offered: ToolOffer
) -> PreflightResult:
    """Drop the filter if in shadow, or if it costs more cached tokens than it saves."""
    if ShadowPart.FILTERING not in loaded.variant.applied:
        return replace(judged, found=unfiltered(judged.found, SHADOWED))
    if _keeps_tools(loaded, tail, offered, judged):
        return replace(judged, found=unfiltered(judged.found, KEPT))
    return judged


def _keeps_tools(
    loaded: LoadedRequest, tail: Sequence[Message], offered: ToolOffer, judged: PreflightResult
) -> bool:
    """Tell whether to send all tools, since a changed list costs more of the cached prefix than it saves."""
    tenant_id, model, given = loaded.tenant_id, loaded.request.model, loaded.parsed
    allowed = judged.found.tool_allowlist
    if allowed is None or offered.listed is None or not caches(tenant_id, model):
        return False
    stay = {"", *allowed, *used_tools(offered, [*tail, *given.new], given.new[0].wire)}
    ladder = offered.listed.ladder
    fewer = [place for place, name in enumerate(ladder.names) if name in stay]
    before = tail[: len(tail) - len(open_turn_of(tail, given.new))]
    rule = learned_rule(tenant_id, model)
    return keeps_list_of_tools(
        all_tokens=ladder.size(range(ladder.entries), 0).tokens,
        fewer_tokens=ladder.size(fewer, 0).tokens,
        prefix_tokens=sum(message.tokens for message in before) + len(given.prompt) // CHARS_A_TOKEN,
        rule=rule.as_found(SECOND_TURN_SHARE) if _is_first_turn(loaded, tail) else rule,
    )


def _is_first_turn(loaded: LoadedRequest, tail: Sequence[Message]) -> bool:
    """Tell whether no turn of the session came before the request's own."""
    turns = loaded.standing.session.last_turn_index if loaded.standing else 0
    return turns <= 1 and len(parse_turn_boundaries([*tail, *loaded.parsed.new])) == 1


def _as_sent(judged: PreflightResult, chosen: ChosenTools, offered: ToolOffer) -> PreflightResult:
    found = as_sent(judged.found, chosen.names, offered=len(set(offered.names)))
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
    loaded: LoadedRequest, offered: ToolOffer, question: str, *, called: Collection[str]
) -> PreflightResult:
    request, ahead = loaded.request, loaded.ahead
    return preflight_for(
        loaded.tenant_id,
        Conversation(loaded.session_id, ahead.topic if ahead else None),
        question,
        attachments=[each.media_type for each in request.attachments or ()],
        tools=offered.names if offered.tools is not None else None,
        called=called,
        matched=match_tools(offered, question),
        kind=request.kind,
        records=loaded.variant.records,
    )

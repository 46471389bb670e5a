"""Tools of a request: the relevant tools, shortened as needed, never more than sent, and their room."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from api.cache import RecentCache
from api.catalogs.budgets import profiles
from api.catalogs.catalog_cache import LoadedCatalog, catalogs, prior_sets
from api.context.tail import count_tool
from api.http.errors import ProblemError
from api.http.values import encode
from api.settings import api_settings
from context.artifact_plans.needs_plan import canonical_tokens
from context.catalog.convert import ConvertedTools, convert_tools
from context.catalog.fit import Compaction
from context.catalog.tools import (
    called_names,
    fit_tools,
    pinned_tools,
)
from context.catalog.types import CatalogBudget
from context.certificate import Carried
from context.conversation.turns import opening_of
from context.preflight.choose_tools import MatchedTools
from context.preflight.followup import without_wrappers
from context.priors.types import NO_PRIORS, Priors
from context.providers.profiles import ModelProfile, catalog_budget, most_tools
from context.ranking.rank import FIRST, count_near, rank
from context.ranking.tool_list import TEXT_COPIES, ToolList, weigh_tools
from context.ranking.types import Ranking
from context.tokens.budget import Budget
from context.tokens.tools import NO_TOOLS, TOOLS_OVERHEAD, ToolsCount, add_counts
from context.tool_plans.lexical import gap_warning
from context.types import JsonObject, Message, Wire
from context.window.ending import shortest_tokens
from models.catalogs.settings import catalog_settings

log = structlog.get_logger()

BEST = 8
"""Most tools passed by preflight for a match with the question's own words."""

WORTH_A_LINE = 0.3
"""Share of bytes lost; a larger cut is logged."""

_own_tools = RecentCache[tuple[UUID, bytes], tuple[ToolList, int]](
    lambda: catalog_settings().tools_cache_bytes, lambda kept: kept[1]
)
"""Tools that requests of a tenant brought, by their digest: no time tells a tenant of another's tools."""

_conversions = RecentCache[tuple[UUID, bytes], tuple[ConvertedTools, int]](
    lambda: catalog_settings().tools_cache_bytes, lambda kept: kept[1]
)
"""Conversions of such tools, by the digest of the tools as sent, the format and the model."""


@dataclass(frozen=True)
class ToolOffer:
    """Tools available to a request.

    Attributes:
        tools: Tool definitions; None if the request names none.
        listed: The definitions with what is found out of them; None without tools.
        entry_ids: Catalog entry id by tool name; empty for the request's own tools.
        priors: History scores of a catalog's entries, for a question.
        missed: A removed tool asked for by a question.
        pipelines: Other catalog entries, never part of a request.
        losses: Losses of converting the definitions to the request's format.
    """

    tools: Sequence[JsonObject] | None = None
    listed: ToolList | None = None
    entry_ids: Mapping[str, str] = field(default_factory=dict)
    priors: Callable[[str], Priors] = lambda _: NO_PRIORS
    missed: Callable[[str, Priors], str | None] = lambda *_: None
    pipelines: tuple[str, ...] = ()
    losses: tuple[Carried, ...] = ()
    _rankings: dict[str, tuple[Ranking, Priors]] = field(default_factory=dict, init=False, repr=False)

    def rank(self, question: str) -> tuple[Ranking, Priors]:
        """Rank the tools for a question with the priors of their history; once for each question.

        Raises:
            ValueError: The offer has no tools.
        """
        if self.listed is None:
            raise ValueError("an offer without tools ranks nothing")
        found = self._rankings.get(question)
        if found is None:
            priors = self.priors(question)
            found = self._rankings[question] = rank(self.listed.index, question, priors=priors), priors
        return found

    @property
    def names(self) -> list[str]:
        """Names of the tools, without nameless tools."""
        return self.listed.names if self.listed else []


@dataclass(frozen=True)
class ToolRoom:
    """Room for a request's tools, in canonical tokens.

    Attributes:
        tokens: Limit for all tools.
        most_tokens: Limit for required tools if they alone exceed `tokens`: the rest of the window.
        whole: True if only the room counts, not the model's budget: tools are shortened only for lack of
            room.
    """

    tokens: int
    most_tokens: int
    whole: bool = False


@dataclass(frozen=True)
class ChosenTools:
    """Tools sent with a request.

    Attributes:
        tools: Tool definitions; None without any tools to choose from.
        filtered: Names removed by preflight.
        hidden: Names left out for lack of room.
        compaction: Losses of the other tools; None if no fitting was needed.
        gap_warning: Warning if no tool serves the question; None otherwise.
        entry_ids: Catalog entry id by tool name.
        pipelines: Catalog entries other than tools, never part of a request.
        losses: Losses of converting the definitions to the request's format.
        skills: Sections of the system prompt removed with their tools.
        names: Names of the tools, without nameless tools.
        count: The size of the tools.
    """

    tools: list[JsonObject] | None = None
    filtered: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    compaction: Compaction | None = None
    gap_warning: str | None = None
    entry_ids: Mapping[str, str] = field(default_factory=dict)
    pipelines: tuple[str, ...] = ()
    losses: tuple[Carried, ...] = ()
    skills: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    count: ToolsCount = NO_TOOLS


NO_TOOLS_CHOSEN = ChosenTools()


def offer_tools(
    tenant_id: UUID,
    tools: Sequence[JsonObject] | None,
    catalog: str | None,
    wire: Wire,
    model: str,
    *,
    session_id: str | None = None,
) -> ToolOffer:
    """Find the available tools of a request: its own, or a stored catalog's, ranked for its session.

    Raises:
        ProblemError: The request names both, or the catalog does not exist.
    """
    if catalog is None:
        return _own(tenant_id, tools, wire, model) if tools else ToolOffer(tools)
    if tools is not None:
        raise ProblemError("invalid-input", "catalog: send tools or catalog, and not both", field="catalog")
    return offer_catalog(tenant_id, catalogs.find(tenant_id, catalog), wire, session_id=session_id)


def offer_catalog(
    tenant_id: UUID, loaded: LoadedCatalog, wire: Wire, *, session_id: str | None = None
) -> ToolOffer:
    """Offer a stored catalog's tools to a request of a session."""
    defined, listed = loaded.defined(wire)
    return ToolOffer(
        defined.tools,
        listed if defined.tools else None,
        defined.entry_ids,
        lambda words: prior_sets.find(tenant_id, loaded, session_id).say(words),
        loaded.missed,
        defined.pipelines,
    )


def _own(tenant_id: UUID, given: Sequence[JsonObject], wire: Wire, model: str) -> ToolOffer:
    text = encode(given)
    key = tenant_id, hashlib.sha256(f"{wire}\0{model}\0".encode() + text).digest()
    converted = _conversions.find(key, lambda: (convert_tools(given, wire, model), TEXT_COPIES * len(text)))[
        0
    ]
    return ToolOffer(
        converted.tools,
        _list_own(tenant_id, converted.tools),
        converted.renamed,
        losses=tuple(Carried(kind, why, ()) for kind, why in converted.losses),
    )


def _list_own(tenant_id: UUID, tools: Sequence[JsonObject]) -> ToolList:
    """List the tools that a request brought; a tenant's requests bring the same tools again and again."""
    text = encode(tools)
    key = tenant_id, hashlib.sha256(text).digest()
    return _own_tools.find(key, lambda: (ToolList(tools), weigh_tools(len(text), len(tools))))[0]


def used_tools(offered: ToolOffer, messages: Sequence[Message], wire: Wire) -> frozenset[str]:
    """Name the tools to keep: a model with calls in view must see the called tools.

    Container tools stay too, since their contents are unknown.
    """
    if offered.listed is None:
        return pinned_tools((), called_names(messages), wire)
    return pinned_tools(offered.names, called_names(messages), wire) | offered.listed.containers


def name_tools(tenant_id: UUID, tools: Sequence[str | JsonObject]) -> ToolOffer:
    """Read tools for preflight: definitions of any format, or names alone."""
    defined = [
        {"type": "function", "function": {"name": one}} if isinstance(one, str) else one for one in tools
    ]
    return ToolOffer(defined, _list_own(tenant_id, defined) if defined else None)


def match_tools(offered: ToolOffer, question: str) -> MatchedTools:
    """Match tools by a question's words; a client's wrapper text around the user's words is ignored."""
    question = without_wrappers(question)
    if offered.listed is None or not question:
        return MatchedTools()
    ranking = offered.rank(question)[0]
    number, entries = count_near(ranking), ranking.entries
    names = {entry_id: name for name, entry_id in offered.entry_ids.items()}
    first = [entry.entry_id for entry in entries[: max(number or 0, FIRST)]]
    named = tuple(names.get(entry_id, entry_id) for entry_id in first)
    matches = sum(entry.score > 0 for entry in entries[:BEST])
    near = named[:number] if number is not None else None
    return MatchedTools(named[:matches], near, named[:FIRST])


def choose_tools(
    tenant_id: UUID,
    offered: ToolOffer,
    question: str,
    *,
    model: str,
    room: ToolRoom,
    allowed: Collection[str] | None,
    pinned: Collection[str],
    top_n: int | None = None,
) -> ChosenTools:
    """Remove tools not allowed by preflight, and fit the rest.

    The limits are the request's room, the model's profile and the provider's number of tools. Pinned tools
    stay in any case. If pinned tools exceed the profile's budget, only pinned tools are sent: a provider
    refuses a history with calls of missing tools, but accepts a long list.

    Args:
        tenant_id: The tenant with the profiles.
        offered: The available tools.
        question: The question to answer with the tools.
        model: The reading model.
        room: The room for tools.
        allowed: Names to keep; None for all.
        pinned: Names kept in any case.
        top_n: The most tools wanted by the request, pinned ones apart; None for any number.

    Raises:
        CatalogOverBudgetError: The pinned tools alone are too large for the window.
    """
    if offered.listed is None:
        tools = list(offered.tools) if offered.tools is not None else None
        return ChosenTools(tools, losses=offered.losses)
    stay = None if allowed is None else {*allowed, *pinned, ""}
    filtered = () if stay is None else tuple(name for name in offered.names if name not in stay)
    profile = profiles.find(tenant_id, model)
    ladder = offered.listed.ladder
    ranked, gap_warning = _rank(offered, question)
    fitted = fit_tools(
        *(ladder, _budget(profile, model, room)),
        allowed=stay,
        ranked=ranked,
        pinned=pinned,
        room=CatalogBudget(max(room.most_tokens, 0)),
        top_n=profile.top_n,
        most=_most(model, top_n, whole=room.whole),
    )
    _log_cut(model, fitted.compaction)
    sent = frozenset(filter(None, (ladder.names[place] for place in fitted.places)))
    return ChosenTools(
        list(fitted.tools),
        tuple(dict.fromkeys(filtered)),
        tuple(name for name in dict.fromkeys(fitted.hidden) if name not in sent),
        fitted.compaction,
        gap_warning,
        *(offered.entry_ids, offered.pipelines, offered.losses),
        names=sent,
        count=add_counts(ladder.counts(fitted.places, fitted.level, count_tool)),
    )


def _most(model: str, top_n: int | None, *, whole: bool) -> int | None:
    limits = (None if whole else most_tools(model), top_n)
    return min((limit for limit in limits if limit is not None), default=None)


def _budget(profile: ModelProfile, model: str, room: ToolRoom) -> CatalogBudget:
    if room.whole:
        return CatalogBudget(max(room.tokens, 0))
    own = catalog_budget(profile, model)
    return CatalogBudget(max(min(own.tokens, room.tokens), 0), own.bytes)


def _rank(offered: ToolOffer, question: str) -> tuple[list[str], str | None]:
    """Rank the tools' names, with a warning if no tool serves the question."""
    if offered.listed is None or not question:
        return [], None
    ranking, priors = offered.rank(question)
    names = {entry_id: name for name, entry_id in offered.entry_ids.items()}
    ranked = [names.get(entry.entry_id, entry.entry_id) for entry in ranking.entries]
    return ranked, gap_warning(ranking, offered.missed(question, priors))


def _log_cut(model: str, compaction: Compaction) -> None:
    if compaction.after_bytes < compaction.before_bytes * (1 - WORTH_A_LINE):
        log.info(
            "tools_compacted",
            model=model,
            before_bytes=compaction.before_bytes,
            after_bytes=compaction.after_bytes,
            hidden=compaction.hidden,
        )


@dataclass(frozen=True)
class Beside:
    """Parts beside a request's tools, in stored tokens.

    Attributes:
        budget: The window.
        model: The answering model.
        system_tokens: The system prompt.
        turn: The new messages, after the stored messages of their turn.
    """

    budget: Budget
    model: str
    system_tokens: int
    turn: Sequence[Message]

    @property
    def whole(self) -> int:
        """Room beside the system prompt."""
        return max(canonical_room(self.budget, self.model) - self.system_tokens, 0)

    @property
    def at_first(self) -> int:
        """Room at the turn's beginning: results can be shortened later, while tools stay."""
        return max(self.whole - sum(message.tokens for message in opening_of(self.turn)), 0)

    @property
    def at_least(self) -> int:
        """Room after shortening a continued turn as far as possible."""
        tokens = sum(message.tokens for message in self.turn)
        return max(self.whole - (tokens if tokens * 2 <= self.whole else shortest_tokens(self.turn)), 0)

    def room_for_tools(self, *, whole: bool) -> ToolRoom:
        """Compute the room for tools: all the rest if uncompacted, otherwise at most `tools_max_share`."""
        most = max(self.at_least - TOOLS_OVERHEAD, 0)
        share = int(self.at_first * api_settings().tools_max_share)
        return ToolRoom(most if whole else min(share, most), most, whole)


def canonical_room(budget: Budget, model: str) -> int:
    """Convert a window's input tokens to stored tokens."""
    return canonical_tokens(budget.input_tokens, model)

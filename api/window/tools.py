"""The tools of a request: those that bear on it, as short as the model needs them, never more than came."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from api.budgets import profiles
from api.catalog_cache import catalogs
from api.encoding import encode
from api.errors import ProblemError
from api.prior_cache import prior_sets
from api.window.measured import indexes, ladders, offers
from context.catalog.containers import called_names, pinned_tools
from context.catalog.convert import convert_tools
from context.catalog.fit import Compaction
from context.catalog.offer import Definitions, define_tools
from context.catalog.size import CatalogBudget
from context.catalog.tools import ToolLadder, fit_tools, tool_name
from context.certificate import Carried
from context.plans.gap import gap_warning
from context.preflight.wrappers import without_wrappers
from context.priors.types import NO_PRIORS, Priors
from context.profiles.find import catalog_budget
from context.profiles.tool_limits import most_tools
from context.profiles.types import ModelProfile
from context.ranking.index import RankingIndex
from context.ranking.rank import rank
from context.ranking.tools import index_tools
from context.tokens import family_of
from context.types import JsonObject, Message, Wire

log = structlog.get_logger()

BEST = 8
"""How many tools preflight lets pass because the question's own words point at them."""

WORTH_A_LINE = 0.3
"""A cut of more than this share of the bytes is logged."""


@dataclass(frozen=True)
class Offered:
    """The tools that a request could be sent with.

    Attributes:
        tools: Their definitions; None where the request names none.
        key: Names them exactly.
        entry_ids: Which entry of a catalog each name means; empty for the request's own tools.
        index: The index by which they are ranked.
        priors: What history says of the entries of a catalog, for a question.
        missed: The tool that a question asks for and that the catalog had and has no more.
        pipelines: What else the catalog holds, which no request carries.
        losses: What the format of the request could not carry of them.
    """

    tools: Sequence[JsonObject] | None = None
    key: bytes = b""
    entry_ids: Mapping[str, str] = field(default_factory=dict)
    index: Callable[[], RankingIndex] | None = None
    priors: Callable[[str], Priors] = lambda _: NO_PRIORS
    missed: Callable[[str, Priors], str | None] = lambda *_: None
    pipelines: tuple[str, ...] = ()
    losses: tuple[Carried, ...] = ()

    @property
    def names(self) -> list[str]:
        """What they are called, those without a name left out."""
        return [name for name in map(tool_name, self.tools or ()) if name]


@dataclass(frozen=True)
class ToolRoom:
    """What the tools of a request may take, in canonical tokens.

    Attributes:
        tokens: All of them together.
        most_tokens: Those that must stay, where they alone take more: all that is left of the window.
        whole: Whether only the room counts, and no budget of the model: shorter than they came they are then
            only where there is no room for them as they are.
    """

    tokens: int
    most_tokens: int
    whole: bool = False


@dataclass(frozen=True)
class ChosenTools:
    """The tools that a request is sent with.

    Attributes:
        tools: Their definitions; None where there are none to choose from.
        filtered: Names that preflight took out.
        hidden: Names for which there was no room.
        compaction: What the rest lost; None where nothing had to fit.
        gap_warning: That nothing among them serves the question; None where something may.
        entry_ids: Which entry of a catalog each name means.
        pipelines: What the catalog holds beside tools; no request carries it.
        losses: What the format of the request could not carry of their definitions.
        skills: The sections of the system prompt that went with their tools.
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


NO_TOOLS_CHOSEN = ChosenTools()


def offer_tools(
    tenant_id: UUID, tools: Sequence[JsonObject] | None, catalog: str | None, wire: Wire, model: str
) -> Offered:
    """Find what a request may be sent with: its own tools, or those of a stored catalog.

    Raises:
        ProblemError: It names both, or a catalog that is not there.
    """
    if catalog is None:
        return _own(tools, wire, model) if tools else Offered(tools)
    if tools is not None:
        raise ProblemError("invalid-input", "catalog: send tools or catalog, and not both", field="catalog")
    loaded = catalogs.find(tenant_id, catalog)
    key = hashlib.sha256(f"{wire}\0{loaded.digest}".encode()).digest()
    defined = offers.find(key, Definitions, lambda: define_tools(loaded.catalog.entries, wire))
    return Offered(
        defined.tools,
        key,
        defined.entry_ids,
        lambda: loaded.index,
        lambda words: prior_sets.find(tenant_id, loaded).say(words),
        loaded.missed,
        defined.pipelines,
    )


def _own(given: Sequence[JsonObject], wire: Wire, model: str) -> Offered:
    converted = convert_tools(given, wire, family_of(model))
    tools = converted.tools
    key = hashlib.sha256(encode(tools)).digest()
    return Offered(
        tools,
        key,
        converted.renamed,
        index=lambda: indexes.find(key, RankingIndex, lambda: index_tools(tools)),
        losses=tuple(Carried(kind, why, ()) for kind, why in converted.losses),
    )


def used_tools(offered: Offered, messages: Sequence[Message], wire: Wire) -> frozenset[str]:
    """The names of the tools that stay: a model that sees its calls must see their tools.

    Tools that hold others stay as well: what they hold, nobody has seen.
    """
    return pinned_tools(offered.tools or (), called_names(messages), wire)


def name_tools(tools: Sequence[str | JsonObject]) -> Offered:
    """Take tools as preflight is told of them: definitions of any format, or names alone."""
    defined = [
        {"type": "function", "function": {"name": one}} if isinstance(one, str) else one for one in tools
    ]
    if not defined:
        return Offered(defined)
    key = hashlib.sha256(encode(defined)).digest()
    return Offered(defined, key, index=lambda: indexes.find(key, RankingIndex, lambda: index_tools(defined)))


def best_tools(offered: Offered, question: str, *, most: int = BEST) -> list[str]:
    """The tools that the words of a question point at, best first; none where no word does.

    What a client wraps around the user's words points at nothing.
    """
    question = without_wrappers(question)
    if offered.index is None or not question:
        return []
    names = {entry_id: name for name, entry_id in offered.entry_ids.items()}
    best = rank(offered.index(), question, priors=offered.priors(question), limit=most).entries
    return [names.get(entry.entry_id, entry.entry_id) for entry in best if entry.score > 0]


def choose_tools(
    tenant_id: UUID,
    offered: Offered,
    question: str,
    *,
    model: str,
    room: ToolRoom,
    allowed: Collection[str] | None,
    pinned: Collection[str],
    top_n: int | None = None,
) -> ChosenTools:
    """Take out what preflight does not allow, and make the rest fit.

    What it has to fit is the request's room, the model's profile and the number that its provider takes.
    Pinned tools stay in any case. Where they are more than the profile's budget they are sent alone: a
    provider refuses a history whose calls have no tools, and takes a list that its model may find long.

    Args:
        tenant_id: Whose profiles hold.
        offered: What there is.
        question: What the tools are for.
        model: Who is shown them.
        room: What they may take.
        allowed: Names that stay; None for all.
        pinned: Names that stay whatever else holds.
        top_n: The most tools that the request wants, pinned ones apart; None for any number.

    Raises:
        CatalogOverBudgetError: The pinned tools alone are too much for the window.
    """
    if not offered.tools:
        tools = list(offered.tools) if offered.tools is not None else None
        return ChosenTools(tools, losses=offered.losses)
    stay = None if allowed is None else {*allowed, *pinned, ""}
    filtered = () if stay is None else tuple(name for name in offered.names if name not in stay)
    profile = profiles.find(tenant_id, model)
    ladder = ladders.find(offered.key, ToolLadder, lambda: ToolLadder(offered.tools or ()))
    ranked, gap_warning = _rank(offered, question)
    fitted = fit_tools(
        ladder,
        _budget(profile, model, room),
        allowed=stay,
        ranked=ranked,
        pinned=pinned,
        room=CatalogBudget(max(room.most_tokens, 0)),
        top_n=profile.top_n,
        most=_most(model, top_n, whole=room.whole),
    )
    _log_cut(model, fitted.compaction)
    return ChosenTools(
        list(fitted.tools),
        tuple(dict.fromkeys(filtered)),
        tuple(name for name in dict.fromkeys(fitted.hidden) if name not in tool_names_of(fitted.tools)),
        fitted.compaction,
        gap_warning,
        offered.entry_ids,
        offered.pipelines,
        offered.losses,
    )


def tool_names_of(tools: Sequence[JsonObject] | None) -> frozenset[str]:
    """The names of tool definitions, those without one left out."""
    return frozenset(filter(None, map(tool_name, tools or ())))


def _most(model: str, top_n: int | None, *, whole: bool) -> int | None:
    limits = (None if whole else most_tools(model), top_n)
    return min((limit for limit in limits if limit is not None), default=None)


def _budget(profile: ModelProfile, model: str, room: ToolRoom) -> CatalogBudget:
    if room.whole:
        return CatalogBudget(max(room.tokens, 0))
    own = catalog_budget(profile, model)
    return CatalogBudget(max(min(own.tokens, room.tokens), 0), own.bytes)


def _rank(offered: Offered, question: str) -> tuple[list[str], str | None]:
    """The tools' names, best first, and a warning where nothing serves the question."""
    if offered.index is None or not question:
        return [], None
    priors = offered.priors(question)
    ranking = rank(offered.index(), question, priors=priors)
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

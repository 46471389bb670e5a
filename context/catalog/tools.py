"""Fitting of a request's tool definitions to a budget; tools with hidden contents stay whole."""

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from context.catalog.compact import describe, short_description, without_notes
from context.catalog.fit import CatalogOverBudgetError, Compaction, FittedEntries, choose
from context.catalog.types import SCHEMA_KEYS, CatalogBudget, Size, canonical_json
from context.tokens import count_text
from context.tokens.tools import SLASHES, TOOLS_OVERHEAD, ToolCount, ToolSize, add_sizes
from context.types import JsonObject, Message, Wire, once_a_message
from context.wire.formats import format_of
from context.wire.parts import PartKind, read_parts

Step = tuple[str, Callable[[JsonObject], JsonObject]]


@dataclass(frozen=True)
class FittedTools:
    """Tool definitions as sent.

    Attributes:
        tools: Valid definitions, in the order of the request; unshortened definitions as received.
        compaction: Record of the losses, tokens counted as in a request.
        hidden: Names of the unsent tools.
        places: Place of each sent tool in the ladder.
        level: Level of all sent tools.
    """

    tools: tuple[JsonObject, ...]
    compaction: Compaction
    hidden: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    level: int = 0


@dataclass(frozen=True)
class ToolSizes:
    """Sizes of tools at every level, measured once and kept: level 0 of all places, then level 1, and so on.

    Attributes:
        bytes: Bytes of the JSON.
        slashes: 1 for a declaration with leading slashes, as `ToolSize.slashes`.
        alone: As `ToolSize.alone`.
        before_slashes: As `ToolSize.before_slashes`.
        wide: As `ToolCount.wide`.
    """

    bytes: Sequence[int]
    slashes: Sequence[int]
    alone: Sequence[int]
    before_slashes: Sequence[int]
    wide: Sequence[int]

    def size_at(self, item: int) -> ToolSize:
        """Return a tool's size by its place among all levels."""
        return ToolSize(SLASHES if self.slashes[item] else "", self.alone[item], self.before_slashes[item])


def measure_levels(tools: Sequence[JsonObject], count: Callable[[str], int] = count_text) -> ToolSizes:
    """Measure tools at every level.

    Args:
        tools: Definitions of any wire format.
        count: Counts a text in the canonical encoding, or finds its count.
    """
    measured = [_measure(write_levels(tool), count) for tool in tools]
    rows = [levels[level] for level in range(ToolLadder.levels) for levels in measured]
    return ToolSizes(*(array(code, (row[at] for row in rows)) for at, code in enumerate(SIZE_CODES)))


SIZE_CODES = "IBIII"
"""Type codes of the arrays of `ToolSizes`."""


def _measure(levels: Sequence[JsonObject], count: Callable[[str], int]) -> list[tuple[int, ...]]:
    rows: list[tuple[int, ...]] = []
    for level, tool in enumerate(levels):
        if level and tool is levels[level - 1]:
            rows.append(rows[-1])
            continue
        found = ToolCount.of(tool, count)
        size = found.size
        rows.append(
            (_bytes_of(tool), bool(size.slashes), size.alone, size.before_slashes, found.wide),
        )
    return rows


def _bytes_of(tool: JsonObject) -> int:
    return len(canonical_json(tool).encode())


def write_levels(tool: JsonObject) -> tuple[JsonObject, ...]:
    """Write a tool at every level; the same object where a step changes nothing."""
    levels = [tool]
    for _, apply in _STEPS:
        levels.append(apply(levels[-1]))
    return tuple(levels)


class ToolLadder:
    """Tool definitions at every level of brevity; each level accepts the same arguments as the level before.

    Sizes of tools add up to the size of the list, and no tool is counted twice over repeated fitting.
    """

    levels = 5

    def __init__(self, tools: Sequence[JsonObject], sizes: ToolSizes | None = None) -> None:
        """Take definitions of any wire format; writing and counting happen on first use.

        Args:
            tools: The definitions.
            sizes: Their sizes, if already measured.
        """
        self.tools = tuple(tools)
        self._measured = sizes
        self._counts: dict[int, ToolCount] = {}
        self.names = tuple(map(tool_name, self.tools))
        self._written: dict[int, tuple[JsonObject, ...]] = {}
        self._bytes: tuple[dict[int, int], ...] = tuple({} for _ in range(self.levels))
        self._sizes: tuple[dict[int, ToolSize], ...] = tuple({} for _ in range(self.levels))
        self._whole: dict[int, Size] = {}

    @property
    def entries(self) -> int:
        """How many tools there are."""
        return len(self.tools)

    def at(self, places: Sequence[int], level: int) -> list[JsonObject]:
        """The definitions of some tools at a level."""
        return [self._write(place)[level] if level else self.tools[place] for place in places]

    def may_fit(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Tell whether some tools may fit; exact for tools."""
        return self.fits(places, level, note, budget)

    def fits(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Tell whether some tools fit as the sent list; tokens are counted only if the bytes fit."""
        del note
        if budget.bytes is not None and self._list_bytes(places, level) > budget.bytes:
            return False
        return budget.holds(self.size(places, level))

    def size(self, places: Sequence[int], level: int) -> Size:
        """Measure some tools as the sent list; the whole list is measured once.

        Args:
            places: Places of the tools in the list, each once.
            level: From 0, as received, to the last.
        """
        is_whole = len(places) == self.entries
        known = self._whole.get(level) if is_whole else None
        if known is None:
            known = Size(self._list_bytes(places, level), self._list_tokens(places, level))
            if is_whole:
                self._whole[level] = known
        return known

    def counts(
        self, places: Sequence[int], level: int, find: Callable[[JsonObject], ToolCount]
    ) -> list[ToolCount]:
        """Count some tools at a level, each once; `find` counts a tool that was not measured before."""
        known, items = self._counts, [self._item(place, level) for place in places]
        for place, item in zip(places, items, strict=True):
            if item not in known and self._measured is not None:
                known[item] = ToolCount(self._measured.size_at(item), self._measured.wide[item])
            elif item not in known:
                known[item] = find(self.at([place], level)[0])
        return [known[item] for item in items]

    def taken(self, places: Sequence[int], level: int) -> list[str]:
        """Name the steps up to a level with an effect on some tools."""
        written = [self._write(place) for place in places] if level else []
        return [
            name
            for number, (name, _) in enumerate(_STEPS[:level], 1)
            if any(levels[number] is not levels[number - 1] for levels in written)
        ]

    def _list_bytes(self, places: Sequence[int], level: int) -> int:
        known = self._bytes[level]
        for place in places:
            if place not in known:
                known[place] = self._tool_bytes(place, level)
        return len("[]") + sum(known[place] for place in places) + max(len(places) - 1, 0)

    def _tool_bytes(self, place: int, level: int) -> int:
        if self._measured is None:
            return _bytes_of(self._write(place)[level])
        return self._measured.bytes[self._item(place, level)]

    def _list_tokens(self, places: Sequence[int], level: int) -> int:
        if not places:
            return 0
        known = self._sizes[level]
        for place in places:
            if place not in known:
                known[place] = self._tool_size(place, level)
        return add_sizes(known[place] for place in places) + TOOLS_OVERHEAD

    def _tool_size(self, place: int, level: int) -> ToolSize:
        if self._measured is None:
            return ToolSize.of(self._write(place)[level])
        return self._measured.size_at(self._item(place, level))

    def _item(self, place: int, level: int) -> int:
        return level * len(self.tools) + place

    def _write(self, place: int) -> tuple[JsonObject, ...]:
        found = self._written.get(place)
        if found is None:
            found = self._written[place] = write_levels(self.tools[place])
        return found


def tool_name(tool: JsonObject) -> str:
    """Name a tool definition of any wire format; a provider's own tool is named by its type."""
    function = tool.get("function")
    named = function if isinstance(function, dict) else tool
    name = named.get("name") or tool.get("type")
    return name if isinstance(name, str) else ""


def fit_tools(
    tools: Sequence[JsonObject] | ToolLadder,
    budget: CatalogBudget,
    *,
    allowed: Collection[str] | None = None,
    ranked: Sequence[str] = (),
    pinned: Collection[str] = (),
    room: CatalogBudget | None = None,
    top_n: int | None = None,
    most: int | None = None,
) -> FittedTools:
    """Fit the tool definitions of a request.

    Args:
        tools: Definitions in any wire format, or their ladder if already built.
        budget: The size limit.
        allowed: Names of the usable tools; None for all. Other tools are ignored.
        ranked: Tool names, best first; other tools follow in the request's order.
        pinned: Names kept at any rank.
        room: Limit for the pinned tools if they alone exceed the budget; None for no more.
        top_n: The most tools kept after hiding, pinned ones included; None for as many as fit.
        most: The most tools in a request, pinned ones apart; None for no limit.

    Returns:
        Fitting definitions; the same objects if all fit unshortened.

    Raises:
        CatalogOverBudgetError: The pinned tools alone are too large.
    """
    ladder = tools if isinstance(tools, ToolLadder) else ToolLadder(tools)
    names = ladder.names
    rank = {name: place for place, name in reversed(list(enumerate(ranked)))}
    offered = [place for place, name in enumerate(names) if allowed is None or name in allowed]
    ranks = [rank.get(name, len(rank)) for name in names]
    by_rank = sorted(offered, key=ranks.__getitem__)
    first = [place for place in by_rank if names[place] in pinned]
    order, kept = [*first, *(place for place in by_rank if names[place] not in pinned)], len(first)
    carried = order if most is None else order[: max(most, kept)]
    choice = choose(ladder, budget, order=carried, pinned=kept, top_n=top_n, note=lambda _: "")
    if choice is None and room is not None:
        choice = choose(ladder, room, order=order[:kept], pinned=kept, top_n=None, note=lambda _: "")
    if choice is None:
        least = room or budget
        needed = ladder.size(sorted(order[:kept]), ladder.levels - 1)
        raise CatalogOverBudgetError(needed, least, [names[place] for place in order[:kept]])
    return _fitted(ladder, choice, offered)


def _fitted(ladder: ToolLadder, choice: FittedEntries, offered: Sequence[int]) -> FittedTools:
    before = ladder.size(offered, 0)
    after = ladder.size(choice.places, choice.level)
    shown = set(choice.places)
    hidden = tuple(ladder.names[place] for place in offered if place not in shown)
    dropped = (
        *ladder.taken(choice.places, choice.level),
        *([f"{len(hidden)} entries"] if hidden else []),
    )
    compaction = Compaction(before.bytes, after.bytes, before.tokens, after.tokens, dropped, len(hidden))
    tools = tuple(ladder.at(choice.places, choice.level))
    return FittedTools(tools, compaction, hidden, choice.places, choice.level)


def _in_schema(change: Callable[[JsonObject], JsonObject]) -> Callable[[JsonObject], JsonObject]:
    def apply(tool: JsonObject) -> JsonObject:
        function = tool.get("function")
        if isinstance(function, dict):
            inner = apply(function)
            return tool if inner is function else {**tool, "function": inner}
        schemas = {key: tool[key] for key in SCHEMA_KEYS if isinstance(tool.get(key), dict)}
        changed = {key: change(schema) for key, schema in schemas.items()}
        return tool if all(changed[key] is schemas[key] for key in schemas) else {**tool, **changed}

    return apply


def _shorten(tool: JsonObject) -> JsonObject:
    function = tool.get("function")
    if isinstance(function, dict):
        inner = _shorten(function)
        return tool if inner is function else {**tool, "function": inner}
    text = tool.get("description")
    if not isinstance(text, str) or (short := short_description(text)) == text:
        return tool
    return {**tool, "description": short}


_STEPS: Sequence[Step] = (
    ("schema_notes", _in_schema(without_notes)),
    ("parameter_details", _in_schema(lambda schema: describe(schema, short_description))),
    ("descriptions", _shorten),
    ("parameter_descriptions", _in_schema(lambda schema: describe(schema, lambda _: ""))),
)
"""Compaction steps, least important part first; no step removes types, values or required fields."""


_SINGLE = re.compile(
    r"(?:web_search|web_fetch|file_search|code_interpreter|code_execution|image_generation|computer|bash|shell"
    r"|local_shell|apply_patch|text_editor|str_replace|memory|url_context|google_search|google_maps|browser"
    r"|function|custom)"
)
_RUN_BY = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "x_search": "web_search",
    "code_interpreter": "code_execution",
}
"""Call names in history with the name of the tool behind each."""

_CALLS = ('tool_use"', '_call"')


def containers(tools: Iterable[JsonObject]) -> frozenset[str]:
    """Name container tools, with unknown tools inside; containers are not filtered by their own name.

    Args:
        tools: Definitions in any format.
    """
    return frozenset(tool_name(tool) for tool in tools if is_container(tool))


def is_container(tool: JsonObject) -> bool:
    """Tell whether a definition contains tools, or may: no name of its own, and an unknown type."""
    if isinstance(tool.get("tools"), list) or "functionDeclarations" in tool:
        return True
    kind = tool.get("type")
    if isinstance(kind, str) and kind.startswith("tool_search"):
        return True  # it finds tools that wait to be loaded
    named = any(isinstance(each, str) and each for each in (tool.get("name"), _inner_name(tool)))
    return not named and isinstance(kind, str) and _SINGLE.match(kind) is None


def _inner_name(tool: JsonObject) -> object:
    inner = tool.get("function") or tool.get("custom")
    return inner.get("name") if isinstance(inner, dict) else None


def called_names(messages: Iterable[Message]) -> frozenset[str]:
    """Name the tools called in messages, including calls run by the provider."""
    found = {name for message in messages for name in _called_in(message)}
    return frozenset(found | {_RUN_BY[name] for name in found & _RUN_BY.keys()})


@once_a_message
def _called_in(message: Message) -> frozenset[str]:
    if not message.call_ids and not any(sign in message.raw for sign in _CALLS):
        return frozenset()
    drawn = ["image_generation"] if '"image_generation_call"' in message.raw else []  # read as a picture
    return frozenset(drawn + [p.name for p in read_parts(message) if p.kind is PartKind.CALL and p.name])


def pinned_tools(names: Iterable[str], called: Collection[str], wire: Wire) -> frozenset[str]:
    """Name the tools to keep because history calls them, in any version; `containers` stay as well.

    Args:
        names: Names of the definitions of the request.
        called: Tool names called in history.
        wire: The outgoing format of definitions and calls, with its rules for names.

    Returns:
        Names as spelled in the definitions, and the called names themselves.
    """
    fit = format_of(wire).fit_name
    used = {*called, *map(fit, called), *(fit(name, letter_first=True) for name in called)}
    starts = tuple(f"{each}_" for each in used)
    known = (name for name in names if name.startswith(starts))
    versions = {
        name for name in known if any(_is_version(name[len(s) :]) for s in starts if name.startswith(s))
    }
    return frozenset(used | versions)


def _is_version(rest: str) -> bool:
    return re.fullmatch(r"\d{8}|\d{4}_\d\d_\d\d|preview(?:_.*)?|use_preview|use", rest) is not None

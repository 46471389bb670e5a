"""Fit the tool definitions of a request into a budget: shorter words first, then fewer tools."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from context.catalog.fit import CatalogOverBudgetError, Choice, Compaction, choose
from context.catalog.project import canonical_json
from context.catalog.schemas import describe, without_notes
from context.catalog.size import CatalogBudget, Size
from context.catalog.steps import short_description
from context.tokens import count_tools
from context.tokens.tools import TOOLS_OVERHEAD
from context.types import JsonObject

_SCHEMAS = ("parameters", "input_schema", "inputSchema")

Step = tuple[str, Callable[[JsonObject], JsonObject]]


@dataclass(frozen=True)
class FittedTools:
    """Tool definitions as they are sent.

    Attributes:
        tools: Valid definitions, in the order of the request; those that nothing was taken from as sent.
        compaction: What they lost, tokens as a request counts them.
        hidden: Names of the tools that are not sent.
    """

    tools: tuple[JsonObject, ...]
    compaction: Compaction
    hidden: tuple[str, ...] = ()


class ToolLadder:
    """Tool definitions at every level of brevity; each level accepts the same arguments as the one before."""

    levels = 5

    def __init__(self, tools: Sequence[JsonObject]) -> None:
        """Take definitions of any wire format."""
        self.tools = tuple(tools)
        self._written: dict[int, tuple[JsonObject, ...]] = {}
        self._sizes: dict[tuple[int, int], Size] = {}

    @property
    def entries(self) -> int:
        """How many tools there are."""
        return len(self.tools)

    def at(self, places: Sequence[int], level: int) -> list[JsonObject]:
        """The definitions of some tools at a level."""
        return [self._write(place)[level] for place in places]

    def may_fit(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Whether the sizes of some tools at a level, added up, fit."""
        del note
        sizes = [self._measure(place, level) for place in places]
        overhead = TOOLS_OVERHEAD if sizes else 0
        size = Size(2 + sum(each.bytes for each in sizes), overhead + sum(each.tokens for each in sizes))
        return budget.holds(size)

    def fits(self, places: Sequence[int], level: int, note: str, budget: CatalogBudget) -> bool:
        """Whether some tools fit as the list that is sent."""
        del note
        return budget.holds(self.size(places, level))

    def size(self, places: Sequence[int], level: int) -> Size:
        """Measure some tools as the list that is sent."""
        tools = self.at(places, level)
        return Size(len(canonical_json(tools).encode()), count_tools(tools))

    def taken(self, places: Sequence[int], level: int) -> list[str]:
        """Name the steps that change anything in some tools, up to a level."""
        return [
            name
            for number, (name, _) in enumerate(_STEPS[:level], 1)
            if any(self._write(place)[number] is not self._write(place)[number - 1] for place in places)
        ]

    def _measure(self, place: int, level: int) -> Size:
        found = self._sizes.get((place, level))
        if found is None:
            tool = self._write(place)[level]
            size = Size(len(canonical_json(tool).encode()) + 1, count_tools([tool]) - TOOLS_OVERHEAD)
            found = self._sizes[place, level] = size
        return found

    def _write(self, place: int) -> tuple[JsonObject, ...]:
        found = self._written.get(place)
        if found is None:
            levels = [self.tools[place]]
            for _, apply in _STEPS:
                levels.append(apply(levels[-1]))
            found = self._written[place] = tuple(levels)
        return found


def tool_name(tool: JsonObject) -> str:
    """Name a tool definition of any wire format; a provider's own tool is called by its type."""
    function = tool.get("function")
    named = function if isinstance(function, dict) else tool
    name = named.get("name") or tool.get("type")
    return name if isinstance(name, str) else ""


def fit_tools(
    tools: Sequence[JsonObject] | ToolLadder,
    budget: CatalogBudget,
    *,
    ranked: Sequence[str] = (),
    pinned: Collection[str] = (),
    top_n: int | None = None,
) -> FittedTools:
    """Make the tool definitions of a request fit.

    Args:
        tools: Definitions in any wire format, or their ladder where there is one.
        budget: How much they may take.
        ranked: Names of tools, best first; others come after them in the request's order.
        pinned: Names that stay whatever they rank.
        top_n: The most that stay when some must go, pinned ones included; None for as many as fit.

    Returns:
        Definitions that fit; where all of them fit as they are, the same objects.

    Raises:
        CatalogOverBudgetError: The pinned tools alone are too much.
    """
    ladder = tools if isinstance(tools, ToolLadder) else ToolLadder(tools)
    names = [tool_name(tool) for tool in ladder.tools]
    rank = {name: place for place, name in reversed(list(enumerate(ranked)))}
    order = sorted(
        range(len(names)),
        key=lambda place: (names[place] not in pinned, rank.get(names[place], len(rank)), place),
    )
    kept = sum(name in pinned for name in names)
    choice = choose(ladder, budget, order=order, pinned=kept, top_n=top_n, note=lambda _: "")
    if choice is None:
        needed = ladder.size(sorted(order[:kept]), ladder.levels - 1)
        raise CatalogOverBudgetError(needed, budget, [names[place] for place in order[:kept]])
    return _fitted(ladder, choice, names)


def _fitted(ladder: ToolLadder, choice: Choice, names: Sequence[str]) -> FittedTools:
    before = ladder.size(range(ladder.entries), 0)
    after = ladder.size(choice.places, choice.level)
    shown = set(choice.places)
    hidden = tuple(name for place, name in enumerate(names) if place not in shown)
    dropped = (
        *ladder.taken(choice.places, choice.level),
        *([f"{len(hidden)} entries"] if hidden else []),
    )
    compaction = Compaction(before.bytes, after.bytes, before.tokens, after.tokens, dropped, len(hidden))
    return FittedTools(tuple(ladder.at(choice.places, choice.level)), compaction, hidden)


def _in_schema(change: Callable[[JsonObject], JsonObject]) -> Callable[[JsonObject], JsonObject]:
    def apply(tool: JsonObject) -> JsonObject:
        function = tool.get("function")
        if isinstance(function, dict):
            inner = apply(function)
            return tool if inner is function else {**tool, "function": inner}
        schemas = {key: tool[key] for key in _SCHEMAS if isinstance(tool.get(key), dict)}
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
"""From what is missed least to what is missed most; types, values and required fields are in none of them."""

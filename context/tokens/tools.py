"""Token count of tool definitions: as type declarations, the form for OpenAI models, and as JSON."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from context.tokens.pieces import json_text
from context.tokens.text import EncodingName, count_text
from context.types import JsonObject

TOOLS_OVERHEAD = 8
"""Tokens of a list of tools beside its declarations."""

DEPTH_LIMIT = 12
"""Deepest nesting of a schema; deeper schemas are declared as `any`, and their JSON is counted instead."""

LONG_NOTE_CHARS = 100
"""Shortest billed text outside of declarations (titles, formats, patterns); shorter texts are not billed."""

_NEVER_DECLARED = (
    *("$defs", "definitions", "patternProperties", "prefixItems", "dependentSchemas", "propertyNames"),
    *("if", "then", "else", "not", "contains", "unevaluatedProperties", "input_examples", "examples"),
)
"""Parts of a definition without a declaration, counted as JSON."""

_TYPE_NAMES = {
    "integer": "number",
    "number": "number",
    "string": "string",
    "boolean": "boolean",
    "null": "null",
}


@dataclass(frozen=True)
class ToolsCount:
    """The size of a list of tool definitions.

    Attributes:
        tokens: Count as type declarations, in the canonical encoding.
        wide: Count as JSON, in the wide encoding.
        tools: Number of tools.
    """

    tokens: int
    wide: int
    tools: int


_FRAME = ("namespace functions {\n\n", "} // namespace functions")

SLASHES = "//"
"""Beginning of a declaration with a comment."""

NO_TOOLS = ToolsCount(tokens=0, wide=0, tools=0)


def count_tools(tools: list[JsonObject]) -> int:
    """Count tool definitions in canonical tokens.

    Args:
        tools: Tool definitions in any wire format.

    Returns:
        Tokens, 0 for no tools.
    """
    return measure_tools(tools).tokens + TOOLS_OVERHEAD if tools else 0


def render_tools(tools: list[JsonObject]) -> str:
    """Write tool definitions as declarations, as shown to OpenAI models.

    Args:
        tools: Tool definitions in any wire format; parts without a declaration are written as JSON.

    Returns:
        The text of a `functions` namespace.
    """
    return _FRAME[0] + "".join(map(_declare, tools)) + _FRAME[1]


@dataclass(frozen=True)
class ToolSize:
    """A tool in a list, with counts additive over the list.

    The canonical encoding merges line breaks with following slashes: slashes at the start of a declaration
    are counted with the text before.

    Attributes:
        slashes: Leading slashes of the declaration.
        alone: Tokens of the rest of the declaration.
        before_slashes: The same with the leading slashes of the next declaration.
    """

    slashes: str
    alone: int
    before_slashes: int

    @classmethod
    def of(cls, tool: object, count: Callable[[str], int] = count_text) -> "ToolSize":
        """Write and count the declaration of a tool in any wire format."""
        text = _declare(tool)
        slashes = SLASHES if text.startswith(SLASHES) else ""
        rest = text[len(slashes) :]
        return cls(slashes, count(rest), count(rest + SLASHES))


def add_sizes(sizes: Iterable[ToolSize]) -> int:
    """Add up a list of tools in canonical tokens, without a model's fixed cost of having tools.

    Args:
        sizes: The sizes in the order of the list, at least one.
    """
    tokens, slashes = 0, ""
    for size in reversed(list(sizes)):
        tokens += size.before_slashes if slashes else size.alone
        slashes = size.slashes
    return tokens + _count_frame(slashes)


@lru_cache(maxsize=2)
def _count_frame(slashes: str) -> int:
    return count_text(_FRAME[0] + slashes) + count_text(_FRAME[1])


@dataclass(frozen=True)
class ToolCount:
    """The size of one tool definition.

    Attributes:
        size: Its declaration, in the canonical encoding.
        wide: Tokens of its JSON in the wide encoding.
    """

    size: ToolSize
    wide: int

    @classmethod
    def of(cls, tool: JsonObject, count: Callable[[str], int] = count_text) -> "ToolCount":
        """Count a tool in any wire format; `count` counts texts in the canonical encoding."""
        return cls(ToolSize.of(tool, count), count_text(json_text(tool), EncodingName.WIDE))


def measure_tools(tools: list[JsonObject]) -> ToolsCount:
    """Count tool definitions in both encodings.

    Args:
        tools: Tool definitions in any wire format; parts without a declaration are counted as JSON.

    Returns:
        The count, without a model's fixed cost of having tools.
    """
    return add_counts([ToolCount.of(tool) for tool in tools])


def add_counts(counts: Sequence[ToolCount]) -> ToolsCount:
    """Add up the counts of a list of tools, in the order of the list."""
    if not counts:
        return NO_TOOLS
    tokens = add_sizes(each.size for each in counts)
    return ToolsCount(tokens, sum(each.wide for each in counts), len(counts))


def _declare(tool: object) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    function = function if isinstance(function, dict) else tool
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return json_text(tool) + "\n\n"
    schema = function.get("parameters") or function.get("input_schema") or function.get("inputSchema")
    fields = _fields(schema, 0)
    argument = f"_: {{\n{fields}}}" if fields else ""
    text = f"{_comment(function.get('description'))}type {function['name']} = ({argument}) => any;\n\n"
    return text + "".join(f"// {note}\n" for note in _undeclared(tool, text))


def _undeclared(tool: object, declaration: str) -> Iterator[str]:
    """List the parts of a definition missing from its declaration, except short notes."""
    waiting = [tool]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            if len(each) >= LONG_NOTE_CHARS and each not in declaration:
                yield each
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            yield from (json_text(each[key]) for key in _NEVER_DECLARED if each.get(key))
            waiting.extend(inner for key, inner in each.items() if key not in _NEVER_DECLARED)


def _comment(text: object) -> str:
    return f"// {text}\n" if isinstance(text, str) and text else ""


def _fields(schema: object, depth: int) -> str:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        return ""
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    return "".join(_field(name, inner, name in required, depth) for name, inner in properties.items())


def _field(name: str, schema: object, required: bool, depth: int) -> str:
    comment = _comment(schema.get("description")) if isinstance(schema, dict) else ""
    default = schema.get("default") if isinstance(schema, dict) else None
    note = f", // default: {json_text(default)}\n" if default is not None else ",\n"
    return f"{comment}{name}{'' if required else '?'}: {_type(schema, depth + 1)}{note}"


def _type(schema: object, depth: int) -> str:
    if not isinstance(schema, dict):
        return "any"
    if depth > DEPTH_LIMIT:
        return json_text(schema)
    if isinstance(schema.get("enum"), list):
        return " | ".join(map(json_text, schema["enum"]))
    choices = next(
        (schema[key] for key in ("anyOf", "oneOf", "allOf") if isinstance(schema.get(key), list)), None
    )
    if choices is None and isinstance(schema.get("type"), list):
        choices = [{**schema, "type": kind} for kind in schema["type"]]
    if choices is not None:
        return " | ".join(_type(each, depth + 1) for each in choices)
    return _named_type(schema, depth)


def _named_type(schema: JsonObject, depth: int) -> str:
    kind = schema.get("type")
    if kind == "array":
        return _type(schema.get("items"), depth + 1) + "[]"
    if kind == "object" or "properties" in schema:
        fields = _fields(schema, depth)
        return f"{{\n{fields}}}" if fields else "object"
    return _TYPE_NAMES.get(kind, "any") if isinstance(kind, str) else "any"

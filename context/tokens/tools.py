"""Counting tool definitions: as the type declarations in which OpenAI models read them, and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass

from context.tokens.pieces import json_text
from context.tokens.ranks import EncodingName
from context.tokens.text import count_text
from context.types import JsonObject

TOOLS_OVERHEAD = 8
"""Tokens that a list of tools costs beside its declarations."""

DEPTH_LIMIT = 12
"""Schemas nested deeper than this are declared as `any`, and their JSON is counted instead."""

LONG_NOTE_CHARS = 100
"""Shorter texts that no declaration shows (titles, formats, patterns) are not billed; longer ones count."""

_NEVER_DECLARED = (
    *("$defs", "definitions", "patternProperties", "prefixItems", "dependentSchemas", "propertyNames"),
    *("if", "then", "else", "not", "contains", "unevaluatedProperties", "input_examples", "examples"),
)
"""Parts of a definition that have no declaration, and count as their JSON."""

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
        tokens: As type declarations, in the canonical encoding.
        wide: As JSON, in the wide encoding.
        tools: How many there are.
    """

    tokens: int
    wide: int
    tools: int


_FRAME = ("namespace functions {\n\n", "} // namespace functions")

_SLASHES = "//"

NO_TOOLS = ToolsCount(tokens=0, wide=0, tools=0)


def count_tools(tools: list[JsonObject]) -> int:
    """Count tool definitions in the canonical count.

    Args:
        tools: Tool definitions in any wire format.

    Returns:
        Tokens, 0 for no tools.
    """
    return measure_tools(tools).tokens + TOOLS_OVERHEAD if tools else 0


def measure_tools(tools: list[JsonObject]) -> ToolsCount:
    """Count tool definitions in both encodings.

    Args:
        tools: Tool definitions in any wire format.

    Returns:
        The count, without what a model bills for having tools at all.
    """
    if not tools:
        return NO_TOOLS
    return ToolsCount(
        tokens=count_text(render_tools(tools)),
        wide=sum(count_text(json_text(tool), EncodingName.WIDE) for tool in tools),
        tools=len(tools),
    )


def render_tools(tools: list[JsonObject]) -> str:
    """Write tool definitions as the declarations that OpenAI models are shown.

    Args:
        tools: Tool definitions in any wire format; what is no declaration is written as JSON.

    Returns:
        The text of a `functions` namespace.
    """
    return _FRAME[0] + "".join(map(_declare, tools)) + _FRAME[1]


@dataclass(frozen=True)
class Declaration:
    """A tool as it stands in a list, so that the counts of tools add up to the count of their list.

    The canonical encoding takes line breaks and the slashes after them for one word: slashes at the start of
    a declaration are counted with what stands before them.

    Attributes:
        slashes: What it begins with of them.
        rest: All else.
    """

    slashes: str
    rest: str

    @classmethod
    def of(cls, tool: object) -> "Declaration":
        """Write the declaration of a tool in any wire format."""
        text = _declare(tool)
        slashes = _SLASHES if text.startswith(_SLASHES) else ""
        return cls(slashes, text[len(slashes) :])

    def count(self, slashes_after: str) -> int:
        """Its tokens, with the slashes of the declaration that follows."""
        return count_text(self.rest + slashes_after)


def count_frame(slashes: str) -> int:
    """The tokens of a list of tools without the tools, with the slashes that the first one begins with."""
    return count_text(_FRAME[0] + slashes) + count_text(_FRAME[1]) + TOOLS_OVERHEAD


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
    """List what a definition holds and its declaration does not show, short notes apart."""
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

"""Conversion of tool definitions to the outgoing format, with a list of losses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from context.catalog.definitions import NO_ARGUMENTS
from context.tokens.families import ModelFamily
from context.types import JsonObject, Wire
from context.wire.neutral import LossKind
from context.wire.pairing import fit_name

_DATED = re.compile(r"_\d{8}$")
_OPENAI_DATED = re.compile(r"_\d{4}_\d\d_\d\d$")
_OF_ANTHROPIC = frozenset({"mcp_toolset"})
_OF_RESPONSES = frozenset(
    (
        *("web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp"),
        *("computer_use_preview", "computer", "local_shell", "shell", "apply_patch", "namespace"),
    )
)
_OF_GOOGLE = frozenset(
    (
        *("googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval", "googleMaps"),
        *(
            "google_maps",
            "codeExecution",
            "code_execution",
            "urlContext",
            "url_context",
            "enterpriseWebSearch",
        ),
    )
)
"""Names of tools run by Google; such tools have no type."""

_CONTAINERS = ("function_declarations", "functionDeclarations")
_DECLARED_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")
_TAKE_GOOGLES = frozenset({ModelFamily.GOOGLE, ModelFamily.OTHER})
_TAKE_ANTHROPICS = frozenset({ModelFamily.ANTHROPIC, ModelFamily.OTHER})
_TAKE_OWN = frozenset({ModelFamily.QWEN, ModelFamily.XAI, ModelFamily.OTHER})
"""Model families with servers that accept typed tools in chat completions."""

_INPUT: JsonObject = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_READ = frozenset(
    (
        "type",
        "function",
        "custom",
        "name",
        "description",
        "parameters",
        "input_schema",
        "inputSchema",
        "strict",
    )
)


@dataclass
class ConvertedTools:
    """Definitions in a single format.

    Attributes:
        tools: Definitions with a place in the format; native definitions are the same objects.
        renamed: Original name by adapted name.
        losses: Lost parts, by kind and sentence, each once.
    """

    tools: list[JsonObject] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    losses: list[tuple[LossKind, str]] = field(default_factory=list)

    def lose(self, kind: LossKind, why: str) -> None:
        """Note a loss once."""
        if (kind, why) not in self.losses:
            self.losses.append((kind, why))


def convert_tools(tools: Sequence[JsonObject], wire: Wire, family: ModelFamily) -> ConvertedTools:
    """Convert the tools of a request to the request's format.

    Args:
        tools: Definitions in any format.
        wire: The format of the request.
        family: The model's family; several families are served in chat completions.

    Returns:
        The definitions, and the parts without a place in the format.
    """
    done = ConvertedTools()
    for tool in (each for given in tools for each in _declared(given)):
        if _is_foreign(tool, wire, family):
            kind = str(tool.get("type") or next(iter(tool)))[:40]
            done.lose(LossKind.CONTENT, f"the tool {kind} of another provider was left out")
        else:
            done.tools.append(_converted(tool, wire, family, done))
    return done


def _declared(tool: JsonObject) -> Iterator[JsonObject]:
    """Take the functions out of a Gemini container; no supported format has such containers."""
    held = {key: tool[key] for key in _CONTAINERS if isinstance(tool.get(key), list)}
    if not held:
        yield tool
        return
    for function in (each for functions in held.values() for each in functions if isinstance(each, dict)):
        schema = next((function[key] for key in _DECLARED_SCHEMAS if function.get(key)), None)
        kept = {key: value for key, value in function.items() if key not in _DECLARED_SCHEMAS}
        yield {**kept, "parameters": _lower(schema)} if schema else kept
    rest = {key: value for key, value in tool.items() if key not in held}
    if rest:
        yield rest


def _lower(schema: object) -> object:
    """Lower the types of a schema as in JSON Schema; Gemini writes types in capitals."""
    if isinstance(schema, list):
        return [_lower(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value)
        for key, value in schema.items()
    }


def _is_foreign(tool: JsonObject, wire: Wire, family: ModelFamily) -> bool:
    """Tell whether a tool is run by the provider of another format."""
    kind = tool.get("type")
    if not isinstance(kind, str):
        return (
            bool(tool)
            and _OF_GOOGLE.issuperset(tool)
            and not (wire is Wire.OPENAI and family in _TAKE_GOOGLES)
        )
    of_anthropic = _DATED.search(kind) is not None or kind in _OF_ANTHROPIC
    of_responses = _OPENAI_DATED.sub("", kind) in _OF_RESPONSES
    if wire is Wire.ANTHROPIC:
        return of_responses
    if wire is Wire.RESPONSES:
        return of_anthropic
    return (of_anthropic and family not in _TAKE_ANTHROPICS) or (of_responses and family not in _TAKE_OWN)


def _converted(tool: JsonObject, wire: Wire, family: ModelFamily, done: ConvertedTools) -> JsonObject:
    inner = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)
    name, kind = inner.get("name"), tool.get("type")
    if not isinstance(name, str) or not name or kind not in {None, "function", "custom"}:
        return tool
    fitted = fit_name(name, wire)
    if fitted != name:
        done.renamed[fitted] = name
        done.lose(LossKind.TOOL_NAME, "a tool's name was shaped for this format")
    is_free = kind == "custom" and not _schema(inner)
    takes_free = wire is Wire.RESPONSES or (wire is Wire.OPENAI and family is ModelFamily.OPENAI)
    if fitted == name and _is_native(tool, wire) and (takes_free or not is_free or wire is Wire.ANTHROPIC):
        return tool
    for extra in sorted({*tool, *inner} - _READ - {"format"}):
        done.lose(LossKind.FIELDS, f"a tool's definition has no place for {extra[:40]}")
    if is_free and not takes_free:
        return _free_as_function(inner, fitted, wire, done)
    return _free_form(inner, fitted, wire) if is_free else _function(inner, fitted, wire, done)


def _is_native(tool: JsonObject, wire: Wire) -> bool:
    kind = tool.get("type")
    if wire is Wire.ANTHROPIC:
        return kind in {None, "custom"} and "input_schema" in tool
    if wire is Wire.OPENAI:
        return isinstance(tool.get(str(kind)), dict)
    return kind in {"function", "custom"} and "name" in tool and "input_schema" not in tool


def _schema(tool: JsonObject) -> JsonObject | None:
    found = next((tool[key] for key in ("parameters", "input_schema", "inputSchema") if tool.get(key)), None)
    return found if isinstance(found, dict) else None


def _function(tool: JsonObject, name: str, wire: Wire, done: ConvertedTools) -> JsonObject:
    named: JsonObject = {"name": name}
    if isinstance(tool.get("description"), str):
        named["description"] = tool["description"]
    schema = _schema(tool) or NO_ARGUMENTS
    if wire is Wire.ANTHROPIC:
        if tool.get("strict"):
            done.lose(LossKind.FIELDS, "a tool's definition has no place for strict")
        return {**named, "input_schema": schema}
    function = {**named, "parameters": schema}
    if isinstance(tool.get("strict"), bool):
        function["strict"] = tool["strict"]
    return (
        {"type": "function", "function": function}
        if wire is Wire.OPENAI
        else {"type": "function", **function}
    )


def _free_form(tool: JsonObject, name: str, wire: Wire) -> JsonObject:
    """Write a free-text tool for a provider with such tools."""
    kept = {key: tool[key] for key in ("description", "format") if tool.get(key)}
    if wire is Wire.OPENAI:
        return {"type": "custom", "custom": {"name": name, **kept}}
    return {"type": "custom", "name": name, **kept}


def _free_as_function(tool: JsonObject, name: str, wire: Wire, done: ConvertedTools) -> JsonObject:
    """Write a free-text tool as a function for providers without such tools: its text under `input`."""
    done.lose(LossKind.ARGUMENTS, "a free-form tool takes its text under 'input'")
    if tool.get("format"):
        done.lose(LossKind.FIELDS, "a tool's definition has no place for format")
    kept = {"description": tool["description"]} if tool.get("description") else {}
    return _function({"parameters": _INPUT, **kept}, name, wire, done)

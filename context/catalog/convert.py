"""Conversion of tool definitions to the outgoing format, with a list of losses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from context.catalog.definitions import NO_ARGUMENTS
from context.tokens.families import ModelFamily
from context.types import JsonObject, Wire
from context.wire.format import Format
from context.wire.formats import FORMATS, format_of
from context.wire.neutral import LossKind

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

_OF_KIMI = "builtin_function"
"""Type of the tools run by Moonshot."""

_CONTAINERS = ("function_declarations", "functionDeclarations")
_BEDROCK = "toolSpec"
_DECLARED_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")
_TAKE_GOOGLES = frozenset({ModelFamily.GOOGLE, ModelFamily.OTHER})
"""Model families with servers that accept such tools in chat completions."""

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
    done, form = ConvertedTools(), format_of(wire)
    for tool in (each for given in tools for each in _declared(given)):
        if _is_foreign(tool, form, family):
            kind = str(tool.get("type") or next(iter(tool)))[:40]
            done.lose(LossKind.CONTENT, f"the tool {kind} of another provider was left out")
        else:
            done.tools.append(_converted(tool, form, family, done))
    return done


def _declared(tool: JsonObject) -> Iterator[JsonObject]:
    """Take the functions out of a container of Gemini or Bedrock; no supported format has such containers."""
    if isinstance(spec := tool.get(_BEDROCK), dict):
        schema = spec.get("inputSchema")
        yield {**spec, "inputSchema": schema.get("json", schema) if isinstance(schema, dict) else None}
        return
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


def _is_foreign(tool: JsonObject, form: Format, family: ModelFamily) -> bool:
    """Tell whether a tool is run by the provider of another format."""
    kind = tool.get("type")
    if not isinstance(kind, str):
        if form.is_chat and family in _TAKE_GOOGLES:
            return False
        is_nameless = not any(key in tool for key in ("name", "function", "custom"))
        return bool(tool) and (
            _OF_GOOGLE.issuperset(tool) or (is_nameless and family is not ModelFamily.OTHER)
        )
    if kind == _OF_KIMI:
        return not form.is_chat or family is not ModelFamily.OTHER
    owners = [owner for owner in FORMATS.values() if owner is not form and owner.tools.is_own(kind)]
    return any(not form.is_chat or family not in owner.tools.own_families for owner in owners)


def _converted(tool: JsonObject, form: Format, family: ModelFamily, done: ConvertedTools) -> JsonObject:
    inner = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)
    name, kind = inner.get("name"), tool.get("type")
    if not isinstance(name, str) or not name or kind not in {None, "function", "custom"}:
        return tool
    fitted = form.fit_name(name)
    if fitted != name:
        done.renamed[fitted] = name
        done.lose(LossKind.TOOL_NAME, "a tool's name was shaped for this format")
    is_free = kind == "custom" and not _schema(inner)
    free = form.tools.write_free if not form.is_chat or family is ModelFamily.OPENAI else None
    is_taken = free is not None or not is_free or form.tools.write_free is None
    if fitted == name and is_taken and form.tools.is_native(tool):
        return tool
    for extra in sorted({*tool, *inner} - _READ - {"format"}):
        done.lose(LossKind.FIELDS, f"a tool's definition has no place for {extra[:40]}")
    if is_free and free is not None:
        return free(
            {"name": fitted, **{key: inner[key] for key in ("description", "format") if inner.get(key)}}
        )
    return (_free_as_function if is_free else _function)(inner, fitted, form, done)


def _schema(tool: JsonObject) -> JsonObject | None:
    found = next((tool[key] for key in ("parameters", "input_schema", "inputSchema") if tool.get(key)), None)
    if isinstance(found, dict) and isinstance(inner := found.get("jsonSchema"), dict):
        return inner  # as the Vercel AI SDK wraps it
    return found if isinstance(found, dict) else None


def _function(tool: JsonObject, name: str, form: Format, done: ConvertedTools) -> JsonObject:
    named: JsonObject = {"name": name}
    if isinstance(tool.get("description"), str):
        named["description"] = tool["description"]
    schema = _schema(tool) or NO_ARGUMENTS
    strict = tool.get("strict")
    if strict and not form.tools.has_strict:
        done.lose(LossKind.FIELDS, "a tool's definition has no place for strict")
    return form.tools.write(named, schema, strict if isinstance(strict, bool) else None)


def _free_as_function(tool: JsonObject, name: str, form: Format, done: ConvertedTools) -> JsonObject:
    """Write a free-text tool as a function for providers without such tools: its text under `input`."""
    done.lose(LossKind.ARGUMENTS, "a free-form tool takes its text under 'input'")
    if tool.get("format"):
        done.lose(LossKind.FIELDS, "a tool's definition has no place for format")
    kept = {"description": tool["description"]} if tool.get("description") else {}
    return _function({"parameters": _INPUT, **kept}, name, form, done)

"""Tool definitions in a provider's format: from a catalog, or converted with a list of losses."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from context.catalog.argument_schema import NO_ARGUMENTS, as_object, branches_of, read_schema, schema_of
from context.catalog.types import SCHEMA_KEYS, Entry, EntryKind
from context.tokens.families import ModelFamily, family_of, wants_letter_first
from context.types import JsonObject, Wire
from context.wire.format import Format
from context.wire.formats import FORMATS, format_of
from context.wire.neutral import LossKind


def tool_definition(entry: Entry, wire: Wire, name: str | None = None) -> JsonObject:
    """Write a pack as a tool of a request.

    Args:
        entry: The pack.
        wire: The format of the request.
        name: The tool's name in the request; None for the pack's id.

    Returns:
        A definition; for a provider's own tool, the definition as sent.
    """
    if isinstance(entry.extra.get("type"), str):
        own = dict(entry.extra)
        return own if own["type"] == entry.entry_id else {"name": entry.entry_id, **own}
    named: JsonObject = {"name": entry.entry_id if name is None else name}
    if entry.description:
        named["description"] = entry.description
    schema = schema_of(entry.input_schema)
    strict = entry.extra.get("strict")
    return format_of(wire).tools.write(named, schema, strict if isinstance(strict, bool) else None)


MAX_NAME_CHARS = 64
"""Longest name accepted by every provider."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]+")
_TAIL_CHARS = 6


@dataclass(frozen=True)
class Definitions:
    """Entries as tools of a request.

    Attributes:
        tools: Valid definitions, in the catalog's order.
        entry_ids: Entry id by tool name.
        pipelines: Ids of entries without a tool.
    """

    tools: tuple[JsonObject, ...]
    entry_ids: Mapping[str, str]
    pipelines: tuple[str, ...] = ()


def define_tools(entries: Iterable[Entry], wire: Wire) -> Definitions:
    """Write a tool definition for each pack; pipelines are left out.

    Providers accept letters, digits, `_` and `-` in a name. Other characters become `_`. A taken or too long
    name ends with a digest of the entry's id.

    Args:
        entries: The entries of a catalog.
        wire: The format of the request.

    Returns:
        The definitions, with the entry id of each name.
    """
    names: dict[str, str] = {}
    tools, pipelines = [], []
    for entry in entries:
        if entry.kind is not EntryKind.PACK:
            pipelines.append(entry.entry_id)
            continue
        name = _name(entry.entry_id, names)
        names[name] = entry.entry_id
        tools.append(tool_definition(entry, wire, name))
    return Definitions(tuple(tools), names, tuple(pipelines))


def _name(entry_id: str, taken: Mapping[str, str]) -> str:
    plain = _UNFIT.sub("_", entry_id)
    plain = plain if re.match("[A-Za-z_]", plain) else f"_{plain}"
    if entry_id and len(plain) <= MAX_NAME_CHARS and plain not in taken:
        return plain
    tail = blake2b(entry_id.encode("utf-8", "surrogatepass"), digest_size=_TAIL_CHARS // 2).hexdigest()
    return f"{plain[: MAX_NAME_CHARS - _TAIL_CHARS - 1]}_{tail}"


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
    _names: set[str] = field(default_factory=set)

    def add(self, tool: JsonObject) -> None:
        """Add a definition, unless its name is there already: providers refuse a name listed twice."""
        name = _named(tool).get("name")
        if isinstance(name, str) and name in self._names:
            self.lose(LossKind.TOOL_NAME, "a tool listed more than once goes out by its first definition")
            return
        if isinstance(name, str):
            self._names.add(name)
        self.tools.append(tool)

    def lose(self, kind: LossKind, why: str) -> None:
        """Note a loss once."""
        if (kind, why) not in self.losses:
            self.losses.append((kind, why))


def convert_tools(tools: Sequence[JsonObject], wire: Wire, model: str) -> ConvertedTools:
    """Convert the tools of a request to the request's format.

    Args:
        tools: Definitions in any format.
        wire: The format of the request.
        model: The model's name or family; several families are served in chat completions.

    Returns:
        The definitions, and the parts without a place in the format.
    """
    done, form, family = ConvertedTools(), format_of(wire), family_of(model)
    for tool in (each for given in tools for each in declared(given)):
        if _is_foreign(tool, form, family):
            kind = str(tool.get("type") or next(iter(tool)))[:40]
            done.lose(LossKind.CONTENT, f"the tool {kind} of another provider was left out")
        else:
            done.add(_converted(tool, form, model, done))
    return done


def declared(tool: JsonObject) -> Iterator[JsonObject]:
    """Take the functions out of a container of Gemini or Bedrock; no supported format has such containers.

    Args:
        tool: A definition of any format.

    Yields:
        The functions, and what the container holds beside them; any other definition as it is.
    """
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


def is_of_google(tool: JsonObject) -> bool:
    """Tell whether a definition without type and name is of tools run by Google."""
    return bool(tool) and _OF_GOOGLE.issuperset(tool)


def _is_foreign(tool: JsonObject, form: Format, family: ModelFamily) -> bool:
    """Tell whether a tool is run by the provider of another format."""
    kind = tool.get("type")
    if not isinstance(kind, str):
        if form.is_chat and family in _TAKE_GOOGLES:
            return False
        is_nameless = not any(key in tool for key in ("name", "function", "custom"))
        return is_of_google(tool) or (bool(tool) and is_nameless and family is not ModelFamily.OTHER)
    if kind == _OF_KIMI:
        return not form.is_chat or family is not ModelFamily.OTHER
    owners = [owner for owner in FORMATS.values() if owner is not form and owner.tools.is_own(kind)]
    return any(not form.is_chat or family not in owner.tools.own_families for owner in owners)


def _named(tool: JsonObject) -> JsonObject:
    """Return the part of a definition that holds its name."""
    return next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)


def _converted(tool: JsonObject, form: Format, model: str, done: ConvertedTools) -> JsonObject:
    inner = _named(tool)
    name, kind = inner.get("name"), tool.get("type")
    if not isinstance(name, str) or not name or kind not in {None, "function", "custom"}:
        return tool
    fitted = form.fit_name(name, letter_first=wants_letter_first(model))
    if fitted != name:
        done.renamed[fitted] = name
        done.lose(LossKind.TOOL_NAME, "a tool's name was shaped for this format")
    is_free = kind == "custom" and not _found_schema(inner)
    free = form.tools.write_free if not form.is_chat or family_of(model) is ModelFamily.OPENAI else None
    is_taken = free is not None or not is_free or form.tools.write_free is None
    if fitted == name and is_taken and form.tools.is_native(tool):
        return tool if is_free else _mended(tool, inner, done)
    for extra in sorted({*tool, *inner} - _READ - {"format"}):
        done.lose(LossKind.FIELDS, f"a tool's definition has no place for {extra[:40]}")
    if is_free and free is not None:
        return free(
            {"name": fitted, **{key: inner[key] for key in ("description", "format") if inner.get(key)}}
        )
    return (_free_as_function if is_free else _function)(inner, fitted, form, done)


def _mended(tool: JsonObject, inner: JsonObject, done: ConvertedTools) -> JsonObject:
    """Mend a definition in the format's own shape where a provider refuses its schema or its description."""
    key = next((key for key in SCHEMA_KEYS if key in inner), None)
    place = next((place for place in ("function", "custom") if tool.get(place) is inner), None)
    fitted = {name: value for name, value in inner.items() if value is not None or name != "description"}
    if key is None and place is None and tool.get("type") == "function":
        fitted["parameters"] = NO_ARGUMENTS  # Responses demand them, chat completions do not
    elif key is not None and (key == "input_schema" or inner[key] != {}):
        schema = read_schema(inner[key])
        fitted[key] = as_object(schema)
        if branches_of(schema):
            done.lose(LossKind.ARGUMENTS, "alternatives of a tool's arguments became one object")
    if fitted == inner:
        return tool
    return {**tool, place: fitted} if place else fitted


def _found_schema(tool: JsonObject) -> JsonObject | None:
    found = read_schema(next((tool[key] for key in SCHEMA_KEYS if tool.get(key)), None))
    if isinstance(inner := found.get("jsonSchema"), dict):
        return inner  # as the Vercel AI SDK wraps it
    return found or None


def _function(tool: JsonObject, name: str, form: Format, done: ConvertedTools) -> JsonObject:
    named: JsonObject = {"name": name}
    if isinstance(tool.get("description"), str):
        named["description"] = tool["description"]
    schema = _found_schema(tool) or NO_ARGUMENTS
    if branches_of(schema):
        done.lose(LossKind.ARGUMENTS, "alternatives of a tool's arguments became one object")
    schema = as_object(schema)
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

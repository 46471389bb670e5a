"""Tools with hidden contents: servers, toolsets, and the provider's own tools in history."""

import re
from collections.abc import Collection, Iterable

from context.catalog.tools import tool_name
from context.types import JsonObject, Message, Wire
from context.wire.formats import format_of
from context.wire.parts import PartKind, read_parts

_SINGLE = re.compile(
    r"(?:web_search|web_fetch|file_search|code_interpreter|code_execution|image_generation|computer|bash|shell"
    r"|local_shell|apply_patch|text_editor|str_replace|memory|url_context|google_search|google_maps|browser"
    r"|function|custom)"
)
_RUN_BY = {
    "bash_code_execution": "code_execution",
    "text_editor_code_execution": "code_execution",
    "x_search": "web_search",
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
    found = {
        part.name
        for message in messages
        if message.call_ids or any(sign in message.raw for sign in _CALLS)
        for part in read_parts(message)
        if part.kind is PartKind.CALL and part.name
    }
    return frozenset(found | {_RUN_BY[name] for name in found & _RUN_BY.keys()})


def pinned_tools(names: Iterable[str], called: Collection[str], wire: Wire) -> frozenset[str]:
    """Name the tools to keep because history calls them, in any version; `containers` stay as well.

    Args:
        names: Names of the definitions of the request.
        called: Tool names called in history.
        wire: The outgoing format of definitions and calls, with its rules for names.

    Returns:
        Names as spelled in the definitions, and the called names themselves.
    """
    used = {*called, *(format_of(wire).fit_name(name) for name in called)}
    starts = tuple(f"{each}_" for each in used)
    versions = {
        name
        for name in names
        if name.startswith(starts) and any(_is_version(name[len(s) :]) for s in starts if name.startswith(s))
    }
    return frozenset(used | versions)


def _is_version(rest: str) -> bool:
    return re.fullmatch(r"\d{8}|preview(?:_.*)?|use_preview|use", rest) is not None

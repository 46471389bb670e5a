"""Index of a request's tool definitions, without a stored catalog."""

from collections.abc import Mapping, Sequence

from context.catalog.types import Catalog, Entry, EntryKind
from context.ranking.index import RankingIndex, build_index
from context.types import JsonObject


def index_tools(tools: Sequence[JsonObject]) -> RankingIndex:
    """Index tool definitions, for repeated rankings of the same tools.

    Args:
        tools: Definitions in any wire format; nameless tools are left out.
    """
    return build_index(Catalog(tuple(entry for entry in map(_read_tool, tools) if entry.entry_id)))


def _read_tool(tool: JsonObject) -> Entry:
    inner = tool.get("function")
    body = inner if isinstance(inner, Mapping) else tool
    name = body.get("name")
    description = body.get("description")
    schema = next((body[key] for key in ("parameters", "input_schema", "inputSchema") if key in body), None)
    return Entry(
        entry_id=name if isinstance(name, str) else "",
        kind=EntryKind.PACK,
        name=name if isinstance(name, str) else "",
        description=description if isinstance(description, str) else "",
        input_schema=dict(schema) if isinstance(schema, Mapping) else None,
    )

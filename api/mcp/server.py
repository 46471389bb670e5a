"""Adapter between the MCP SDK and the tools and resources; the only module with the SDK."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anyio import to_thread
from fastapi import Response
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Resource as ListedResource
from mcp_types import Tool as ListedTool
from starlette.requests import Request

from api.mcp.arguments import read_arguments
from api.mcp.failures import as_problem, in_words
from api.mcp.resources import RESOURCES, Resource
from api.mcp.schemas import answer_schema, arguments_schema
from api.mcp.tools import TOOLS, Tool
from api.mcp.visit import Visit
from context.types import JsonObject

INSTRUCTIONS = (
    "Afterturn keeps conversations ready for the next request. `read_context` gives the messages to send, "
    "within the model's window; `expand_summary` and `read_artifact` give back what summaries and pointers "
    "left out; `rank_catalog` and `find_tools` choose among the tools of a stored catalog."
)
_JSON = "application/json"
_LISTS = CacheHint(ttl_ms=300_000, scope="public")
_SERVER_FAULTS = 500

Context = ServerRequestContext[dict[str, Any], Request]


@dataclass(frozen=True)
class Answered:
    """An endpoint's answer: text and decoded value."""

    text: str
    value: JsonObject


def make_server() -> Server[dict[str, Any]]:
    """Build the stateless server."""
    # What it logs by itself may quote what was sent.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    listed = [_listed(tool) for tool in TOOLS.values()]
    schemas = {tool.name: tool.input_schema for tool in listed}

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    return Server(
        "afterturn",
        version="1",
        title="Afterturn",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": _LISTS, "resources/list": _LISTS, "resources/templates/list": _LISTS},
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
    )


def _listed(tool: Tool) -> ListedTool:
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=arguments_schema(tool.arguments),
        output_schema=answer_schema(tool.answer),
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )


async def _list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
    return ListResourcesResult(resources=[_listed_resource(resource) for resource in RESOURCES.values()])


def _listed_resource(resource: Resource) -> ListedResource:
    return ListedResource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=_JSON,
    )


async def _list_templates(_: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=[])


async def _call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"Unknown tool; there are {', '.join(TOOLS)}")
    visit = Visit(_http(context))
    try:
        answered = await _answer(
            visit, lambda: tool.run(visit, read_arguments(tool.arguments, params.arguments))
        )
    except Exception as error:  # noqa: BLE001 (whatever it is, the agent learns its kind and no more)
        problem = as_problem(error, call=tool.name)
        return CallToolResult(
            content=[TextContent(type="text", text=in_words(problem))],
            structured_content=problem,
            is_error=True,
        )
    return CallToolResult(
        content=[TextContent(type="text", text=answered.text)], structured_content=answered.value
    )


async def _read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    resource = RESOURCES.get(params.uri)
    if resource is None:
        raise MCPError(INVALID_PARAMS, f"Unknown resource; there are {', '.join(RESOURCES)}")
    visit = Visit(_http(context))
    try:
        answered = await _answer(visit, lambda: resource.read(visit))
    except Exception as error:  # noqa: BLE001 (as for tools)
        problem = as_problem(error, call=resource.name)
        code = INTERNAL_ERROR if problem["status"] >= _SERVER_FAULTS else INVALID_PARAMS
        raise MCPError(code, in_words(problem), problem) from None
    contents = TextResourceContents(uri=resource.uri, mime_type=_JSON, text=answered.text)
    return ReadResourceResult(contents=[contents])


def _http(context: Context) -> Request:
    if context.request is None:
        message = "the call did not come over HTTP"
        raise TypeError(message)
    return context.request


async def _answer(visit: Visit, endpoint: Callable[[], Response]) -> Answered:
    def work() -> Answered:
        response = endpoint()
        if response.background is not None:
            visit.leave(response.background)
        text = bytes(response.body).decode()
        return Answered(text, json.loads(text))

    return await to_thread.run_sync(work)

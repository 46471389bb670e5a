"""Adapter between the MCP SDK and tools, resources and prompts; the only module with the SDK."""

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
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Prompt as ListedPrompt
from mcp_types import Resource as ListedResource
from mcp_types import Tool as ListedTool
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema
from starlette.requests import Request

from api.http.errors import known, problem_of
from api.mcp.prompts import PROMPTS, RESOURCES, Prompt, Resource
from api.mcp.tools import TOOLS, Tool, read_arguments
from api.mcp.visit import Visit
from context.types import JsonObject


class _Brief(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False


class _BriefArguments(_Brief):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def arguments_schema(model: type[BaseModel]) -> JsonObject:
    """Describe a tool's arguments.

    Args:
        model: The tool's argument model.

    Returns:
        A JSON schema of an object.
    """
    return _without_title(model.model_json_schema(schema_generator=_BriefArguments))


def answer_schema(model: type[BaseModel]) -> JsonObject:
    """Describe a tool's answer.

    Args:
        model: The answer model; further fields are allowed.

    Returns:
        A JSON schema of an object.
    """
    return _without_title(model.model_json_schema(schema_generator=_Brief, mode="serialization"))


def _without_title(schema: JsonObject) -> JsonObject:
    schema.pop("title", None)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    schema.pop("description", None)
    return schema


_STABLE = ("type", "status", "detail")


def as_problem(error: Exception, *, call: str) -> JsonObject:
    """Write an error as a problem document; an unexpected error is not described.

    Args:
        error: The raised error.
        call: The call's name, for the log.

    Returns:
        `{type, status, detail}` and the error's numbers.
    """
    return problem_of(known(error, call=call))


def in_words(problem: JsonObject) -> str:
    """Write a problem for a model: the slug, the sentence, and any numbers."""
    numbers = {name: value for name, value in problem.items() if name not in _STABLE}
    sentence = f"{problem['type']}: {problem['detail']}"
    return f"{sentence} {json.dumps(numbers, ensure_ascii=False, default=str)}" if numbers else sentence


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
class EndpointAnswer:
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
        cache_hints={
            "tools/list": _LISTS,
            "resources/list": _LISTS,
            "resources/templates/list": _LISTS,
            "prompts/list": _LISTS,
        },
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
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
        raise _protocol_error(error, call=resource.name) from None
    contents = TextResourceContents(uri=resource.uri, mime_type=_JSON, text=answered.text)
    return ReadResourceResult(contents=[contents])


async def _list_prompts(_: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=[_listed_prompt(prompt) for prompt in PROMPTS.values()])


def _listed_prompt(prompt: Prompt) -> ListedPrompt:
    schema = arguments_schema(prompt.arguments)
    arguments = [
        PromptArgument(name=name, description=each["description"], required=name in schema["required"])
        for name, each in schema["properties"].items()
    ]
    return ListedPrompt(
        name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments
    )


async def _get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult:
    prompt = PROMPTS.get(params.name)
    if prompt is None:
        raise MCPError(INVALID_PARAMS, f"Unknown prompt; there are {', '.join(PROMPTS)}")
    visit = Visit(_http(context))

    def write() -> str:
        given: JsonObject = dict(params.arguments or {})
        return prompt.write(visit, read_arguments(prompt.arguments, given))

    try:
        text = await to_thread.run_sync(write)
    except Exception as error:  # noqa: BLE001 (as for tools)
        raise _protocol_error(error, call=prompt.name) from None
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=prompt.description, messages=[message])


def _protocol_error(error: Exception, *, call: str) -> MCPError:
    problem = as_problem(error, call=call)
    code = INTERNAL_ERROR if problem["status"] >= _SERVER_FAULTS else INVALID_PARAMS
    return MCPError(code, in_words(problem), problem)


def _http(context: Context) -> Request:
    if context.request is None:
        message = "the call did not come over HTTP"
        raise TypeError(message)
    return context.request


async def _answer(visit: Visit, endpoint: Callable[[], Response]) -> EndpointAnswer:
    def work() -> EndpointAnswer:
        response = endpoint()
        if response.background is not None:
            visit.leave(response.background)
        text = bytes(response.body).decode()
        return EndpointAnswer(text, json.loads(text))

    return await to_thread.run_sync(work)

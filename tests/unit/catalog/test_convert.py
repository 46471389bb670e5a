"""Tool definitions go out in the format of their request, and what has no place there is named."""

from typing import Any

import pytest

from context.catalog.convert import convert_tools
from context.catalog.tools import called_names, containers, pinned_tools, tool_name
from context.tokens.families import ModelFamily
from context.types import JsonObject, Wire
from context.wire.neutral import LossKind
from tests.unit.shape.windows import HELLO, call, calling, said, stored

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
NAMED: JsonObject = {"name": "find", "description": "Finds."}
CHAT: JsonObject = {"type": "function", "function": {**NAMED, "parameters": SCHEMA}}
FLAT: JsonObject = {"type": "function", **NAMED, "parameters": SCHEMA}
CLAUDE: JsonObject = {**NAMED, "input_schema": SCHEMA}
MCP: JsonObject = {**NAMED, "inputSchema": SCHEMA}
BEDROCK: JsonObject = {"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}}
VERCEL: JsonObject = {"type": "function", **NAMED, "inputSchema": SCHEMA}
WRAPPED: JsonObject = {**VERCEL, "inputSchema": {"jsonSchema": SCHEMA}}
FREE_CHAT: JsonObject = {"type": "custom", "custom": {"name": "patch", "description": "Patches."}}
FREE_FLAT: JsonObject = {"type": "custom", "name": "patch", "description": "Patches."}
NATIVE = {Wire.OPENAI: CHAT, Wire.RESPONSES: FLAT, Wire.ANTHROPIC: CLAUDE}


@pytest.mark.parametrize("wire", list(Wire))
@pytest.mark.parametrize(
    "tool", [CHAT, FLAT, CLAUDE, MCP, BEDROCK, VERCEL, WRAPPED, {**CLAUDE, "type": "custom"}]
)
def test_a_function_is_written_in_the_format_of_the_request(tool: JsonObject, wire: Wire) -> None:
    done = convert_tools([tool], wire, ModelFamily.OTHER)
    native = tool if tool.get("type") == "custom" and wire is Wire.ANTHROPIC else NATIVE[wire]
    assert done.tools == [native]
    assert done.losses == []


@pytest.mark.parametrize("wire", list(Wire))
def test_what_is_in_the_format_already_is_the_same_object(wire: Wire) -> None:
    assert convert_tools([NATIVE[wire]], wire, ModelFamily.OTHER).tools[0] is NATIVE[wire]


@pytest.mark.parametrize("tool", [FREE_CHAT, FREE_FLAT])
def test_a_free_form_tool_is_written_in_every_format(tool: JsonObject) -> None:
    assert convert_tools([tool], Wire.OPENAI, ModelFamily.OPENAI).tools == [FREE_CHAT]
    assert convert_tools([tool], Wire.RESPONSES, ModelFamily.OPENAI).tools == [FREE_FLAT]
    done = convert_tools([tool], Wire.ANTHROPIC, ModelFamily.ANTHROPIC)
    assert done.tools[0]["input_schema"]["required"] == ["input"]
    assert done.losses == [(LossKind.ARGUMENTS, "a free-form tool takes its text under 'input'")]


@pytest.mark.parametrize(
    ("tool", "wire", "family", "stays"),
    [
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.ANTHROPIC, ModelFamily.ANTHROPIC, True),
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.RESPONSES, ModelFamily.OPENAI, False),
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.OPENAI, ModelFamily.OPENAI, False),
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.OPENAI, ModelFamily.ANTHROPIC, True),
        ({"cachePoint": {"type": "default"}}, Wire.ANTHROPIC, ModelFamily.ANTHROPIC, False),
        ({"retrieval": {}}, Wire.OPENAI, ModelFamily.OPENAI, False),
        ({"retrieval": {}}, Wire.OPENAI, ModelFamily.OTHER, True),
        (
            {"type": "builtin_function", "function": {"name": "$web_search"}},
            Wire.OPENAI,
            ModelFamily.OPENAI,
            False,
        ),
        (
            {"type": "builtin_function", "function": {"name": "$web_search"}},
            Wire.OPENAI,
            ModelFamily.OTHER,
            True,
        ),
        ({"type": "mcp_toolset", "mcp_server_name": "s"}, Wire.RESPONSES, ModelFamily.OPENAI, False),
        ({"type": "mcp", "server_label": "s"}, Wire.RESPONSES, ModelFamily.OPENAI, True),
        ({"type": "mcp", "server_label": "s"}, Wire.ANTHROPIC, ModelFamily.ANTHROPIC, False),
        ({"type": "file_search"}, Wire.ANTHROPIC, ModelFamily.ANTHROPIC, False),
        ({"type": "web_search"}, Wire.OPENAI, ModelFamily.OPENAI, False),
        ({"type": "web_search"}, Wire.OPENAI, ModelFamily.MISTRAL, False),
        ({"type": "web_search_preview_2025_03_11"}, Wire.OPENAI, ModelFamily.GOOGLE, False),
        ({"type": "web_search"}, Wire.OPENAI, ModelFamily.OTHER, True),
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.OPENAI, ModelFamily.MISTRAL, False),
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.OPENAI, ModelFamily.DEEPSEEK, False),
        ({"type": "web_search_20250305", "name": "web_search"}, Wire.OPENAI, ModelFamily.GOOGLE, False),
    ],
)
def test_a_tool_of_another_provider_is_left_out_and_named(
    tool: JsonObject, wire: Wire, family: ModelFamily, stays: bool
) -> None:
    done = convert_tools([tool, NATIVE[wire]], wire, family)
    assert (tool in done.tools) is stays
    kind = tool.get("type") or next(iter(tool))
    said_of_it = [(LossKind.CONTENT, f"the tool {kind} of another provider was left out")]
    assert done.losses == ([] if stays else said_of_it)


@pytest.mark.parametrize("tool", [FREE_CHAT, FREE_FLAT])
@pytest.mark.parametrize("family", [ModelFamily.MISTRAL, ModelFamily.GOOGLE, ModelFamily.DEEPSEEK])
def test_a_free_form_tool_is_a_function_for_others_than_openai(tool: JsonObject, family: ModelFamily) -> None:
    done = convert_tools([tool], Wire.OPENAI, family)
    (made,) = done.tools
    assert made["type"] == "function"
    assert made["function"]["parameters"]["required"] == ["input"]
    assert done.losses == [(LossKind.ARGUMENTS, "a free-form tool takes its text under 'input'")]


@pytest.mark.parametrize("wire", list(Wire))
@pytest.mark.parametrize("key", ["function_declarations", "functionDeclarations"])
def test_functions_in_a_container_are_taken_out_of_it(wire: Wire, key: str) -> None:
    capitals = {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}, "required": ["q"]}
    container = {key: [{**NAMED, "parameters": capitals}], "googleSearch": {}}
    done = convert_tools([container], wire, ModelFamily.OPENAI)
    assert done.tools == [NATIVE[wire]]
    assert done.losses == [(LossKind.CONTENT, "the tool googleSearch of another provider was left out")]
    assert {"googleSearch": {}} in convert_tools([container], Wire.OPENAI, ModelFamily.GOOGLE).tools


def test_a_field_without_a_place_and_a_shaped_name_are_named() -> None:
    tool: JsonObject = {**CLAUDE, "name": "mcp.find", "cache_control": {"type": "ephemeral"}}
    done = convert_tools([tool], Wire.OPENAI, ModelFamily.OPENAI)
    (name,) = done.renamed
    assert done.renamed == {name: "mcp.find"}
    assert done.tools[0]["function"]["name"] == name
    assert (LossKind.FIELDS, "a tool's definition has no place for cache_control") in done.losses


TOOLS: list[Any] = [
    {"type": "mcp", "server_label": "s"},
    {"type": "mcp_toolset", "mcp_server_name": "s"},
    {"type": "namespace", "name": "crm", "tools": []},
    {"type": "web_search_preview"},
    {"type": "web_search_20250305", "name": "web_search"},
    {"type": "code_execution_20250825", "name": "code_execution"},
    {"type": "computer_use_preview"},
    {"type": "file_search_2026_02_01"},
    {"type": "code_execution"},
    CHAT,
]
NAMES = [name for name in map(tool_name, TOOLS) if name]


def test_whole_servers_stand_for_tools_that_nobody_has_seen() -> None:
    assert containers(TOOLS) == {"mcp", "mcp_toolset", "crm"}


@pytest.mark.parametrize("kind", ["tool_search", "tool_search_tool_regex_20251119", "tool_search_tool_bm25"])
def test_a_search_for_tools_stands_for_tools_that_are_not_loaded(kind: str) -> None:
    assert containers([{"type": kind, "name": kind}, CHAT]) == {kind}


def test_tools_that_the_provider_ran_itself_are_called_as_well() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "content": []},
    ]
    called = called_names(stored([HELLO, said(blocks)], Wire.ANTHROPIC))
    assert called >= {"bash_code_execution", "code_execution", "echo"}
    assert "code_execution" in pinned_tools(NAMES, called, Wire.ANTHROPIC)


def test_a_call_of_responses_pins_its_tool_in_any_version() -> None:
    items = [
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "computer_call", "id": "c", "call_id": "c"},
        {"type": "file_search_call", "id": "fs_1"},
        {"type": "code_interpreter_call", "id": "ci_1", "code": "1"},
    ]
    pinned = pinned_tools(NAMES, called_names(stored(items, Wire.RESPONSES)), Wire.RESPONSES)
    own = {"web_search_preview", "computer_use_preview", "file_search_2026_02_01", "code_execution"}
    assert pinned >= own
    assert "find" not in pinned


def test_a_call_whose_name_was_shaped_pins_the_tool_of_that_name() -> None:
    messages = stored([HELLO, calling(call("c1", "mcp.find"))], Wire.OPENAI)
    (name,) = convert_tools(
        [{**CHAT, "function": {"name": "mcp.find"}}], Wire.OPENAI, ModelFamily.OTHER
    ).renamed
    assert name in pinned_tools([], called_names(messages), Wire.OPENAI)


@pytest.mark.parametrize(
    ("tool", "wire"), [(CHAT, Wire.ANTHROPIC), (CLAUDE, Wire.OPENAI), (MCP, Wire.RESPONSES)]
)
def test_arguments_without_an_object_at_the_top_become_one_and_alternatives_are_named(
    tool: JsonObject, wire: Wire
) -> None:
    def arguments(schema: JsonObject) -> tuple[Any, list[Any]]:
        given = {
            key: schema if key.endswith(("chema", "parameters")) else value
            for key, value in tool.get("function", tool).items()
        }
        done = convert_tools(
            [{**tool, "function": given} if "function" in tool else given], wire, ModelFamily.OTHER
        )
        [written] = done.tools
        inner = written.get("function", written)
        return inner.get("input_schema", inner.get("parameters")), [kind for kind, _ in done.losses]

    untyped = {"properties": {"q": {"type": "string"}}}
    assert arguments(untyped) == ({**untyped, "type": "object"}, [])
    either = {"anyOf": [SCHEMA, {"type": "object", "properties": {"id": {"type": "integer"}}}]}
    both = {"type": "object", "properties": {"q": {"type": "string"}, "id": {"type": "integer"}}}
    assert arguments(either) == (both, [LossKind.ARGUMENTS])


@pytest.mark.parametrize("wire", list(Wire))
def test_a_tool_listed_twice_goes_out_once(wire: Wire) -> None:
    """Anthropic and others refuse a request whose tools share a name, in every later turn again."""
    first: JsonObject = {"name": "find", "description": "One.", "parameters": {}}
    second = {**first, "description": "Two."}
    free: JsonObject = {"type": "custom", "custom": {"name": "write", "description": "Write."}}
    servers = (
        [{"type": "mcp", "server_label": label} for label in ("a", "b")] if wire is Wire.RESPONSES else []
    )
    given: list[JsonObject] = [first, free, {"type": "function", "function": second}, free, *servers]
    converted = convert_tools(given, wire, ModelFamily.OPENAI)
    assert len(converted.tools) == 2 + len(servers)
    assert "One." in str(converted.tools)
    assert "Two." not in str(converted.tools)
    twice = "a tool listed more than once goes out by its first definition"
    assert (LossKind.TOOL_NAME, twice) in converted.losses
    assert (LossKind.TOOL_NAME, twice) not in convert_tools(given[:2], wire, ModelFamily.OPENAI).losses


ONE_OF: JsonObject = {"type": "object", "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}


@pytest.mark.parametrize(
    ("schema", "goes"),
    [
        (ONE_OF, {"type": "object", "properties": {"a": {}, "b": {}}}),
        ({"type": ["object", "null"], "properties": {}}, {"type": "object", "properties": {}}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
    ],
)
@pytest.mark.parametrize("wire", list(Wire))
def test_a_schema_that_providers_refuse_is_mended_in_the_formats_own_shape_too(
    wire: Wire, schema: JsonObject, goes: JsonObject
) -> None:
    mark: JsonObject = {"cache_control": {"type": "ephemeral"}}
    if wire is Wire.OPENAI:
        tool: JsonObject = {"type": "function", "function": {"name": "f", "parameters": schema}, **mark}
        wanted: JsonObject = {**tool, "function": {"name": "f", "parameters": goes}}
    elif wire is Wire.ANTHROPIC:
        tool = {"name": "f", "description": None, "input_schema": schema, **mark}
        wanted = {"name": "f", "input_schema": goes, **mark}
    else:
        tool = {"type": "function", "name": "f", "parameters": schema, "strict": False}
        wanted = {**tool, "parameters": goes}
    done = convert_tools([tool], wire, "gpt-4o")
    assert done.tools == [wanted]
    assert bool(done.losses) is (schema is ONE_OF)
    assert convert_tools([wanted], wire, "gpt-4o").tools[0] is wanted


@pytest.mark.parametrize(
    ("model", "name", "goes"),
    [("gemini-2.5-pro", "3d_view", "_3d_view"), ("kimi-k2", "-f", "_-f"), ("gpt-4o", "3d_view", "3d_view")],
)
def test_a_name_begins_with_a_letter_where_it_has_to(model: str, name: str, goes: str) -> None:
    tool: JsonObject = {"type": "function", "function": {"name": name, "parameters": SCHEMA}}
    done = convert_tools([tool], Wire.OPENAI, model)
    assert tool_name(done.tools[0]) == goes
    assert done.renamed == ({} if goes == name else {goes: name})
    assert goes in pinned_tools([goes], {name}, Wire.OPENAI)


def test_a_tool_that_drew_is_one_that_was_called() -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AAAA"}
    assert called_names(stored([drawn], Wire.RESPONSES)) == {"image_generation"}

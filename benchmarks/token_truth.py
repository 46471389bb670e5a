"""Recorded requests with the tokens that providers reported, brought into one shape for measuring."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from context.types import JsonObject, Wire

_ELIDED = re.compile(r"<elided (\d+) bytes(?: (\d+)x(\d+))? sha256:[0-9a-f]+>")
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@dataclass(frozen=True)
class Request:
    """One recorded request.

    Attributes:
        api: The endpoint's kind.
        model: The model's name as recorded.
        wire: The format of `messages`.
        messages: System prompt first, then the conversation.
        reported: Input tokens that the provider counted, cached ones included.
        tools: Tool definitions.
        schema: The schema of a structured answer, if one was asked for.
        forced: Whether a tool call was demanded.
        thinking: Whether thinking was on.
    """

    api: str
    model: str
    wire: Wire
    messages: list[JsonObject]
    reported: int
    tools: list[JsonObject] = field(default_factory=list)
    schema: JsonObject | None = None
    forced: bool = False
    thinking: bool = False


def read_request(record: JsonObject) -> Request:
    """Bring a recorded request into one shape.

    Args:
        record: A line of the recordings.

    Returns:
        The request. Elided files become files of the same size and dimensions.
    """
    api, body = record["api"], _restore(record["request"])
    reader = {"anthropic": _anthropic, "bedrock": _bedrock, "google": _google}.get(
        api.partition(".")[0], _responses if api.startswith("openai.responses") else _chat
    )
    parts = reader(body)
    return Request(
        api=api,
        model=unquote(record["model"]),
        reported=reported_tokens(record),
        thinking=_thinks(body),
        **parts,
    )


def reported_tokens(record: JsonObject) -> int:
    """Read the input tokens that a provider counted, those from or for its cache included."""
    usage = record["usage"]
    names = ("cacheReadInputTokens", "cacheWriteInputTokens")
    cached = sum(usage.get(name) or 0 for name in names) if record["api"] == "bedrock.converse" else 0
    return int(record["input_tokens"]) + cached


def _thinks(body: JsonObject) -> bool:
    extra = body.get("additionalModelRequestFields") or {}
    thinking = body.get("thinking") or extra.get("thinking") or {}
    return bool(thinking.get("type") == "enabled")


def _restore(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _restore(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_restore(inner) for inner in value]
    if isinstance(value, str) and "<elided" in value:
        return _ELIDED.sub(_stand_in, value)
    return value


def _stand_in(found: re.Match[str]) -> str:
    size, width, height = (int(number or 0) for number in found.groups())
    head = _PNG + width.to_bytes(4, "big") + height.to_bytes(4, "big") if width else b""
    return base64.b64encode(head.ljust(size, b"\0")).decode()


def _chat(body: JsonObject) -> dict[str, Any]:
    schema = (body.get("response_format") or {}).get("json_schema")
    return {
        "wire": Wire.OPENAI,
        "messages": body["messages"],
        "tools": body.get("tools") or [],
        "schema": schema,
        "forced": body.get("tool_choice") not in (None, "auto", "none"),
    }


def _responses(body: JsonObject) -> dict[str, Any]:
    items = body["input"]
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    system = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
    schema = (body.get("text") or {}).get("format")
    return {
        "wire": Wire.RESPONSES,
        "messages": system + items,
        "tools": body.get("tools") or [],
        "schema": schema if (schema or {}).get("type") == "json_schema" else None,
        "forced": body.get("tool_choice") not in (None, "auto", "none"),
    }


def _anthropic(body: JsonObject) -> dict[str, Any]:
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    return {
        "wire": Wire.ANTHROPIC,
        "messages": system + body["messages"],
        "tools": body.get("tools") or [],
        "schema": schema,
        "forced": (body.get("tool_choice") or {}).get("type") in {"any", "tool"},
    }


def _bedrock(body: JsonObject) -> dict[str, Any]:
    body = body.get("input", body)
    if "invokeModel" in body:
        return _anthropic(json.loads(base64.b64decode(body["invokeModel"]["body"])))
    body = body.get("converse", body)
    config = body.get("toolConfig") or {}
    tools = [tool["toolSpec"] for tool in config.get("tools", ()) if "toolSpec" in tool]
    system = [block["text"] for block in body.get("system", ()) if "text" in block]
    messages = [
        {"role": each["role"], "content": [_bedrock_block(block) for block in each["content"]]}
        for each in body["messages"]
    ]
    if system:
        messages.insert(0, {"role": "system", "content": [{"type": "text", "text": text} for text in system]})
    structure = ((body.get("outputConfig") or {}).get("textFormat") or {}).get("structure")
    return {
        "wire": Wire.ANTHROPIC,
        "messages": messages,
        "tools": [
            {
                "name": tool["name"],
                "description": tool.get("description", ""),
                "input_schema": tool["inputSchema"]["json"],
            }
            for tool in tools
        ],
        "schema": structure,
        "forced": "any" in (config.get("toolChoice") or {}),
    }


def _bedrock_block(block: JsonObject) -> JsonObject:
    kind, inner = next(iter(block.items()))
    reader = _BEDROCK_BLOCKS.get(kind)
    if reader is not None:
        return reader(inner)
    return {"type": kind, **(inner if isinstance(inner, dict) else {})}


def _bedrock_document(document: JsonObject) -> JsonObject:
    data = (document.get("source") or {}).get("bytes")
    if data and document.get("format") in {"txt", "md", "csv", "html"}:
        return {"type": "text", "text": base64.b64decode(data).decode(errors="replace")}
    return {"type": "document", "source": {"type": "base64", "data": data}}


_BEDROCK_BLOCKS: dict[str, Callable[[Any], JsonObject]] = {
    "text": lambda text: {"type": "text", "text": text},
    "json": lambda value: {"type": "text", "text": json.dumps(value)},
    "image": lambda image: {
        "type": "image",
        "source": {"type": "base64", "data": image["source"].get("bytes")},
    },
    "document": _bedrock_document,
    "toolUse": lambda call: {"type": "tool_use", "name": call["name"], "input": call["input"]},
    "toolResult": lambda result: {
        "type": "tool_result",
        "content": [_bedrock_block(part) for part in result["content"]],
    },
    "reasoningContent": lambda thought: {
        "type": "thinking",
        "thinking": (thought.get("reasoningText") or {}).get("text", ""),
    },
}


def _google(body: JsonObject) -> dict[str, Any]:
    messages = [_google_message(each) for each in body["contents"]]
    if body.get("systemInstruction"):
        messages.insert(0, {**_google_message(body["systemInstruction"]), "role": "system"})
    tools = [
        declaration
        for tool in body.get("tools") or ()
        for declaration in tool.get("functionDeclarations") or ()
    ]
    generation = body.get("generationConfig") or {}
    mode = ((body.get("toolConfig") or {}).get("functionCallingConfig") or {}).get("mode")
    return {
        "wire": Wire.OPENAI,
        "messages": messages,
        "tools": tools,
        "schema": generation.get("responseJsonSchema")
        or generation.get("responseSchema")
        or generation.get("response_json_schema")
        or generation.get("response_schema"),
        "forced": mode == "ANY",
    }


def _google_message(content: JsonObject) -> JsonObject:
    return {"role": content.get("role", "user"), "content": [_google_part(part) for part in content["parts"]]}


def _google_part(part: JsonObject) -> JsonObject:
    if "text" in part:
        kind = "thinking" if part.get("thought") else "text"
        return {"type": kind, kind: part["text"]}
    call = part.get("functionCall") or part.get("function_call")
    if call:
        return {"type": "tool_use", "name": call["name"], "input": call.get("args") or {}}
    result = part.get("functionResponse") or part.get("function_response")
    if result:
        answer = json.dumps({"name": result["name"], "response": result.get("response")})
        return {"type": "tool_result", "content": answer}
    data = part.get("inlineData") or part.get("inline_data")
    return {"type": "image", "source": {"data": data["data"]}} if data else {"type": "unknown", **part}

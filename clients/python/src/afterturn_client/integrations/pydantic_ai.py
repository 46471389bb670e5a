"""pydantic-ai: a capability that serves the window of each model request and records the turn of each run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult

from afterturn_client import AsyncAfterturn
from afterturn_client.streams.answer import Json


@dataclass
class AfterturnHistory(AbstractCapability[Any]):
    """A capability of an agent: give runs no `message_history`, for the service serves earlier turns.

    Attributes:
        client: The client.
        session_id: The conversation.
        model: The model that answers.
        defaults: Members of every context request, as the API names them.
    """

    client: AsyncAfterturn
    session_id: str
    model: str
    defaults: dict[str, Any] = field(default_factory=dict)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the window in place of the run's messages, for this request alone."""
        messages = request_context.messages
        prompts = [
            part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)
        ]
        parameters = request_context.model_request_parameters
        instructions = [part.content for part in parameters.instruction_parts or []]
        system = "\n\n".join([*(part.content for part in prompts), *instructions])
        chat = self.client.chat(self.session_id, model=self.model, wire="openai", **self.defaults)
        tools = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description or "",
                    "parameters": tool.parameters_json_schema,
                },
            }
            for tool in parameters.function_tools
        ]
        async with chat.turn(
            list(write_messages(messages)), system_prompt=system or None, tools=tools or None
        ) as turn:
            turn.discard()  # the end of the run records the turn
            window = (await turn.request()).messages
        if system and window and window[0].get("role") == "system":
            window = window[1:]
        served = list(read_messages(window))
        if prompts:
            served.insert(0, ModelRequest(parts=prompts))
        return replace(request_context, messages=served)

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record the run's messages as a turn."""
        messages = list(write_messages(result.new_messages()))
        chat = self.client.chat(self.session_id, model=self.model, wire="openai", **self.defaults)
        await chat.record(messages)
        return result


def write_messages(messages: Sequence[ModelMessage]) -> Iterator[Json]:
    """Write messages in the format of chat completions, without system prompts and thoughts."""
    for message in messages:
        if isinstance(message, ModelResponse):
            yield _write_answer(message)
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                yield {"role": "user", "content": _write_words(part.content)}
            elif isinstance(part, ToolReturnPart):
                result = part.model_response_str()
                yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": result}
            elif isinstance(part, RetryPromptPart):
                words = part.model_response()
                if part.tool_name is None:
                    yield {"role": "user", "content": words}
                else:
                    yield {"role": "tool", "tool_call_id": part.tool_call_id, "content": words}


def _write_answer(message: ModelResponse) -> Json:
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    answer: Json = {"role": "assistant", "content": text}
    return {**answer, "tool_calls": calls} if calls else answer


def _write_words(content: str | Sequence[UserContent]) -> Any:
    if isinstance(content, str):
        return content
    parts: list[Json] = []
    for part in content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        elif isinstance(part, ImageUrl):
            parts.append({"type": "image_url", "image_url": {"url": part.url}})
        else:
            raise TypeError(
                f"{type(part).__name__} has no form in chat completions: upload it as an attachment"
            )
    return parts


def read_messages(window: Sequence[Json]) -> Iterator[ModelMessage]:
    """Read a window in the format of chat completions."""
    names: dict[str, str] = {}
    for message in window:
        content = message.get("content") or ""
        role = message["role"]
        if role == "assistant":
            parts: list[TextPart | ToolCallPart] = [TextPart(_words(content))] if content else []
            for call in message.get("tool_calls") or []:
                names[call["id"]] = call["function"]["name"]
                arguments = call["function"]["arguments"]
                given = arguments if isinstance(arguments, str) else json.dumps(arguments)
                parts.append(ToolCallPart(call["function"]["name"], given, call["id"]))
            yield ModelResponse(parts=parts)
        elif role == "tool":
            call_id = message["tool_call_id"]
            yield ModelRequest(parts=[ToolReturnPart(names.get(call_id, ""), _words(content), call_id)])
        elif role == "user":
            yield ModelRequest(parts=[UserPromptPart(_read_words(content))])
        else:
            yield ModelRequest(parts=[SystemPromptPart(_words(content))])


def _words(content: Any) -> str:
    return content if isinstance(content, str) else "".join(str(part.get("text") or "") for part in content)


def _read_words(content: Any) -> str | list[UserContent]:
    if isinstance(content, str):
        return content
    return [
        ImageUrl(part["image_url"]["url"]) if part.get("type") == "image_url" else str(part.get("text") or "")
        for part in content
    ]

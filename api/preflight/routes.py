"""Preflight over HTTP: classification of a message, and the tenant's policy."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.background import BackgroundTask

from api.answers.base import answers
from api.answers.catalogs import PreflightConfig
from api.answers.context import PreflightDecision
from api.context.tail import load_tail
from api.context.tools import ToolOffer, match_tools, name_tools, used_tools
from api.hints import leave
from api.http.call import Body, BodyCall, documented
from api.http.errors import ProblemError, committed
from api.http.values import check_id
from api.preflight.decide import Conversation, Policy, load_factors, load_policy, policies, preflight_for
from context.catalog.convert import declared, is_of_google
from context.catalog.tools import tool_name
from context.preflight.config import read_config, write_config
from context.preflight.types import Preflight, RequestKind, ThinkingLevel
from context.text.sanitize import MAX_TOOL_NAME_CHARS
from context.types import JsonObject, Wire
from models.conversations.standing import find_standing
from models.preflight.policy import put_policy
from models.preflight.settings import preflight_settings
from models.scope import Scope

router = APIRouter(prefix="/v1/preflight", tags=["preflight"])

MOST_ATTACHMENTS = 200
MOST_TOOLS = 5_000
_KINDS_OF_ATTACHMENT = ("media_type", "mime_type", "content_type", "type", "filename", "name", "title")


class PreflightRequest(Body):
    """A new message, with the caller's tools and attachments."""

    message: str = Field(description="What the user says.")
    attachments: list[str | JsonObject] | None = Field(
        None, max_length=MOST_ATTACHMENTS, description="What is attached: media types, names, or objects."
    )
    session_id: str | None = Field(None, description="The conversation, which may have no turn yet.")
    tools: list[str | JsonObject] | None = Field(
        None, max_length=MOST_TOOLS, description="The caller's tools, by name or as definitions."
    )
    kind: RequestKind = Field(RequestKind.USER, description="What the request comes from.")


class CategoryPolicy(Body):
    """A policy's changes to a category."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    extra_patterns: list[str] | None = Field(None, description="Words and phrases that recognize it.")
    extra_tools: list[str] | None = Field(None, description="Further tools that it needs.")
    thinking_level: ThinkingLevel | None = Field(None, description="Its level of thought.")
    disabled: bool | None = Field(None, description="Whether it is never recognized.")


class PreflightPolicy(Body):
    """A tenant's policy; missing fields come from the settings."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    enabled: bool | None = Field(None, description="Whether messages are classified at all.")
    tool_filtering: bool | None = Field(None, description="Whether tools are removed.")
    memory_tuning: bool | None = Field(None, description="Whether recall follows the category.")
    thinking_tuning: bool | None = Field(None, description="Whether the level of thought follows it.")
    prompt_annotation: bool | None = Field(None, description="Whether there is a hint.")
    always_include: list[str] | None = Field(None, description="Tools that are never removed.")
    complex_threshold: int | None = Field(None, description="A longer message is complex, in characters.")
    fallback_to_full: bool | None = Field(None, description="Whether all tools pass when unsure.")
    min_confidence: float | None = Field(None, description="Less confidence than this is unsure.")
    categories: dict[str, CategoryPolicy] | None = Field(None, description="Changes by category.")


@router.post(
    "",
    openapi_extra=documented(PreflightRequest),
    **answers(PreflightDecision, "classify_message", "Classify a message"),
)
def classify_message(call: BodyCall) -> Response:
    """Classify a message: categories, kept tools, and the memory and thinking level for the answer."""
    caller = call.caller("read")
    request = call.body(PreflightRequest)
    if request.session_id is not None:
        check_id(request.session_id, "session_id")
    tools = None if request.tools is None else read_tools(request.tools)
    names = None if tools is None else list(dict.fromkeys(map(_name, tools)))
    offered = name_tools(caller.tenant_id, tools or ())
    judged = preflight_for(
        caller.tenant_id,
        Conversation(request.session_id) if request.session_id is not None else None,
        request.message,
        attachments=attachment_kinds(request.attachments or ()),
        tools=names,
        called=_called(caller.tenant_id, request.session_id, offered) if names else (),
        matched=match_tools(offered, request.message),
        kind=request.kind,
    )
    answer = _json(preflight_json(judged.found))
    answer.background = BackgroundTask(leave, caller.tenant_id, judged.hints)
    return answer


def _called(tenant_id: UUID, session_id: str | None, offered: ToolOffer) -> Collection[str]:
    """List the tools always kept by a context request: tools called in the raw history."""
    if session_id is None:
        return used_tools(offered, (), Wire.OPENAI)
    with Scope.read(tenant_id) as scope:
        standing = find_standing(scope, session_id)
    if standing is None:
        return used_tools(offered, (), Wire.OPENAI)
    tail = load_tail(tenant_id, standing, standing.session.model or "", standing.budget)
    return used_tools(offered, tail.messages, Wire.OPENAI)


def preflight_json(found: Preflight) -> JsonObject:
    """Write a decision as JSON for the API."""
    return {
        "categories": [str(category) for category in found.categories],
        "scores": {str(category): round(score, 3) for category, score in found.scores.items()},
        "confidence": round(found.confidence, 3),
        "inherited": found.inherited,
        "tool_allowlist": None if found.tool_allowlist is None else list(found.tool_allowlist),
        "hidden": found.hidden,
        "memory": {"max_facts": found.memory.max_facts, "max_tokens": found.memory.max_tokens},
        "thinking_level": str(found.thinking_level),
        "hint": found.hint,
        "policy_version": found.policy_version,
        "reasons": list(found.reasons),
    }


def read_tools(given: Sequence[str | JsonObject]) -> list[str | JsonObject]:
    """Read the caller's tools: names, and definitions as a context request takes them out of containers.

    Raises:
        ProblemError: A tool has no name, or a name too long for every model.
    """
    read: list[str | JsonObject] = []
    for place, tool in enumerate(given):
        field = f"tools[{place}]"
        for one in [tool] if isinstance(tool, str) else declared(tool):
            if not isinstance(one, str) and is_of_google(one):
                continue  # no call can hide it
            name = _name(one)
            if not name:
                raise ProblemError("invalid-input", f"{field}: has no name", field=field)
            if len(name) > MAX_TOOL_NAME_CHARS:
                message = f"{field}: a name of more than {MAX_TOOL_NAME_CHARS} characters"
                raise ProblemError("invalid-input", message, field=field, limit=MAX_TOOL_NAME_CHARS)
            read.append(one)
    return read


def _name(tool: str | JsonObject) -> str:
    return tool if isinstance(tool, str) else tool_name(tool)


def attachment_kinds(attachments: list[str | JsonObject] | tuple[()]) -> list[str]:
    """Name the kind of each attachment, if given: a media type or a file's name."""
    kinds = []
    for one in attachments:
        said = [one] if isinstance(one, str) else [one.get(name) for name in _KINDS_OF_ATTACHMENT]
        kinds.append(next((kind for kind in said if isinstance(kind, str) and kind), "document"))
    return kinds


@router.put(
    "/config",
    openapi_extra=documented(PreflightPolicy),
    **answers(PreflightConfig, "put_preflight_config", "Set the policy of preflight"),
)
def put_config(call: BodyCall) -> Response:
    """Put a policy in force, replacing the earlier policy. A repeated policy changes nothing."""
    caller = call.caller("admin")
    given = call.body(PreflightPolicy).model_dump(mode="json", by_alias=True, exclude_none=True)
    config = read_config(given, base=preflight_settings().policy)

    def put(scope: Scope) -> Policy:
        stored = put_policy(scope, given)
        return Policy(config, stored.version, load_factors(scope))

    policy = committed(caller.tenant_id, put)
    return _json(_policy_json(policies.keep(caller.tenant_id, policy)))


@router.get("/config", **answers(PreflightConfig, "get_preflight_config", "Get the policy of preflight"))
def show_config(call: BodyCall) -> Response:
    """Answer with the policy in force; version 0 is the settings' policy."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        return _json(_policy_json(load_policy(scope)))


def _policy_json(policy: Policy) -> JsonObject:
    return {
        "policy_version": policy.version,
        "config": write_config(policy.config),
        "learned_factors": {str(category): factor for category, factor in policy.factors.items()},
    }


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")

"""What a context request brings, read and counted before any history is."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import TypeVar
from uuid import UUID

from pydantic import Field

from api.budgets import profiles
from api.call import Body
from api.intake import MAX_WINDOW, MIN_WINDOW, read_messages
from api.preflight import Judged
from api.window.activation import Asked
from api.window.attachments import MOST_ATTACHMENTS, RequestAttachment
from api.window.tails import system_message
from api.window.tools import NO_TOOLS_CHOSEN, ChosenTools
from context.budget import Budget, HistoryLimit, choose_budget
from context.contents import PartKind, read_parts
from context.errors import InvalidInputError
from context.preflight.annotate import HintPlace
from context.preflight.types import Kind
from context.shape.fitting import is_blank
from context.tokens import NO_TOOLS, ToolsCount
from context.tokens.tools import TOOLS_OVERHEAD
from context.turns import newest_step
from context.types import JsonObject, Message, Role, Wire
from context.usual_window import UsualWindow
from context.wire.anthropic_blocks import told_blocks
from models.freshness import Standing
from models.history_limit import tenant_history_limit
from models.limit import find_limit
from models.session import Transaction


class RecallScope(StrEnum):
    """Where recall looks."""

    SESSION = "session"
    USER = "user"


class RecallWish(Body):
    """What a request wants recalled."""

    scope: RecallScope = Field(
        RecallScope.SESSION, description="user: what the user's other sessions said as well."
    )


class ContextRequest(Body):
    """The request that is about to be sent to a model, as far as the platform knows it."""

    model: str = Field(min_length=1, max_length=200, description="The model that will answer.")
    context_window: int | None = Field(
        None, ge=MIN_WINDOW, le=MAX_WINDOW, description="Its window, in tokens."
    )
    max_tokens: int | None = Field(None, ge=1, le=MAX_WINDOW, description="The output limit.")
    system_prompt: str | None = Field(None, description="The platform's own instructions.")
    messages: list[JsonObject] = Field(min_length=1, description="The new message or messages.")
    tools: list[JsonObject] | None = Field(None, description="Tool definitions of the request.")
    catalog: str | None = Field(None, description="A stored catalog instead of `tools`.")
    attachments: list[RequestAttachment] | None = Field(
        None, max_length=MOST_ATTACHMENTS, description="Documents of the request."
    )
    focus: str | None = Field(None, max_length=2_000, description="What artifacts are read for.")
    budget: int | None = Field(None, ge=1, le=MAX_WINDOW, description="A lower limit of input tokens.")
    wire: Wire = Field(Wire.OPENAI, description="The format of `messages`, in and out.")
    user_id: str | None = Field(
        None, max_length=200, description="Who asks, as turns name the user; else the session's only user."
    )
    recall: RecallWish = Field(RecallWish(), description="Where recall looks.")
    wait_ms: int = Field(0, ge=0, description="How long to wait for work that is under way.")
    kind: Kind = Field(Kind.USER, description="What the request comes from.")
    hint: HintPlace = Field(HintPlace.FIELD, description="Where preflight's hint goes beside the answer.")
    top_n: int | None = Field(None, ge=1, le=5_000, description="The most tools to send.")
    planner_model: str | None = Field(None, max_length=200, description="The model that plans.")
    summarizer_model: str | None = Field(None, max_length=200, description="The model that summarizes.")

    @property
    def recalls_user(self) -> bool:
        """Whether the user's other sessions are to be searched."""
        return self.recall.scope is RecallScope.USER


Request = TypeVar("Request", bound=ContextRequest)


@dataclass(frozen=True)
class Given:
    """What a request brings, read and counted.

    Attributes:
        new: Its messages.
        system: Its system prompt.
        tools: The size of the tools that it is sent with.
        chosen: These tools, and what was left out.
        judged: What preflight says; None until it was asked.
        unhinted: The messages without the block in which a request wants the hint.
        prompt: The text of the system prompt, wherever the request had it.
    """

    new: list[Message]
    system: Message | None
    tools: ToolsCount
    chosen: ChosenTools = NO_TOOLS_CHOSEN
    judged: Judged | None = None
    unhinted: Sequence[Message] = ()
    prompt: str = ""

    @property
    def said(self) -> Sequence[Message]:
        """What the user said, for whoever looks for its words."""
        return self.unhinted or self.new

    @property
    def tools_tokens(self) -> int:
        """The canonical count of the tool definitions."""
        return self.tools.tokens + TOOLS_OVERHEAD if self.tools.tools else 0


def read_request(request: ContextRequest) -> Given:
    """Read what a request brings.

    Raises:
        AfterturnError: One of its messages can never be sent, or its output limit leaves no room.
    """
    budget_of(request, NO_LIMITS)
    prompt, new = _read_messages(request)
    if request.wire is not Wire.ANTHROPIC and not request.attachments and all(map(_is_empty, new)):
        raise InvalidInputError("messages", "say nothing; send text, media or a tool's result in one of them")
    if request.wire is Wire.ANTHROPIC and not request.attachments and not any(map(_tells, new)):
        raise InvalidInputError("messages", "say nothing; send text, media or a tool's result in one of them")
    return Given(new, system_message(prompt), NO_TOOLS, prompt=prompt or "")


def _read_messages(request: ContextRequest) -> tuple[str | None, list[Message]]:
    """Read the messages; those of the system that lead them are the system prompt.

    Raises:
        InvalidInputError: There is a system prompt beside them, or nothing but a system prompt.
    """
    read = read_messages(request.messages, request.wire)
    leading = list(takewhile(lambda message: message.role is Role.SYSTEM, read))
    if not leading:
        return request.system_prompt, read
    if request.system_prompt is not None:
        raise InvalidInputError(
            "system_prompt",
            "stands beside messages[0], which is a system message too; send the prompt in one of both",
            also="messages[0]",
        )
    if len(leading) == len(read):
        raise InvalidInputError("messages", "hold a system prompt alone; send the new message after it")
    return "\n\n".join(filter(None, map(_words, leading))) or None, read[len(leading) :]


def _words(message: Message) -> str:
    return "\n\n".join(part.text for part in read_parts(message) if part.kind is PartKind.TEXT)


def _is_empty(message: Message) -> bool:
    """Whether a user's message holds no parts, or blank ones alone."""
    content = message.body.get("content")
    return message.role is Role.USER and isinstance(content, list) and all(map(is_blank, content))


def _tells(message: Message) -> bool:
    """Whether the provider takes anything of a message; where it takes none of them, nobody has asked."""
    return bool(told_blocks(message.body["content"]))


def with_known_window(tenant_id: UUID, request: Request, standing: Standing | None) -> Request:
    """Let a request that names no window have that of its session, or else that of its model's profile.

    Args:
        tenant_id: The tenant whose profiles count.
        request: The request.
        standing: How its session stands; its window counts where the same model answered.

    Returns:
        The request with the first window that leaves room for an answer; as it came where there is none.
    """
    if request.context_window is not None:
        return request
    least = request.max_tokens or 0
    for window in (_window_of(request.model, standing), _profile_window(tenant_id, request.model)):
        if window is not None and window > least:
            return request.model_copy(update={"context_window": window})
    return request


def _in_usual_window(request: Request, standing: Standing | None) -> Request:
    """Give a request the window of its session, never smaller than its own, and no budget."""
    named, usual = request.context_window, standing.session.usual_window if standing else UsualWindow()
    window = named and usual.after(named).tokens
    return request.model_copy(update={"context_window": window, "budget": None})


def _window_of(model: str, standing: Standing | None) -> int | None:
    session = standing.session if standing else None
    return session.context_window if session and session.model == model else None


def _profile_window(tenant_id: UUID, model: str) -> int | None:
    """The window of a model's profile; None for a model of which nothing is known."""
    profile = profiles.find(tenant_id, model)
    return profile.window_tokens if profile.prefix or profile.context_window else None


@dataclass(frozen=True)
class Limits:
    """What bounds a window beside what its request says.

    Attributes:
        learned: The window that the model turned out to have, in tokens; None where nobody knows of one.
        history: The most that history may take; None where nobody said so.
    """

    learned: int | None = None
    history: HistoryLimit | None = None


NO_LIMITS = Limits()


def find_limits(
    db: Transaction, tenant_id: UUID, model: str, session_id: str, standing: Standing | None
) -> Limits:
    """Find what bounds the windows of a session, as it stands or before its first turn."""
    if standing is not None:
        return Limits(standing.learned_limit, standing.session.history_limit)
    return Limits(find_limit(db, tenant_id, model, session_id), tenant_history_limit(db, tenant_id))


def budget_of(request: ContextRequest, limits: Limits) -> Budget:
    """Settle the budget, within what the model is known to take and what its tenant wants sent."""
    return choose_budget(
        request.context_window,
        request.max_tokens,
        ceiling=limits.learned,
        input_limit=request.budget,
        history_limit=limits.history,
    )


def ask(request: ContextRequest, given: Given, limits: Limits, standing: Standing | None) -> Asked:
    """Say what the request spends beside history, in its own window and in those that its session has."""
    return Asked(
        request.model,
        budget_of(request, limits),
        budget_of(_in_usual_window(request, standing), limits),
        given.system.tokens if given.system else 0,
        given.tools_tokens,
        sum(message.tokens for message in given.new),
        goes_on=any(message.answer_ids for message in given.new),
        fresh_tokens=sum(message.tokens for message in newest_step(given.new)),
    )

"""Parsing and counting of a context request and its documents, before reading any history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import takewhile
from typing import Self, TypeVar
from uuid import UUID

from pydantic import Field, model_validator

from api.artifacts.documents.read import read_inline
from api.catalogs.budgets import profiles
from api.context.activation import RequestSize
from api.context.tail import system_message
from api.context.tools import NO_TOOLS_CHOSEN, ChosenTools
from api.http.call import Body
from api.http.errors import ProblemError
from api.http.values import check_id
from api.preflight.decide import PreflightResult
from api.turns.intake import MAX_WINDOW, MIN_WINDOW, read_messages
from context.artifacts.content import document_artifact, is_artifact_id
from context.artifacts.types import Artifact, ContentKind
from context.conversation.turns import newest_step
from context.errors import InvalidInputError
from context.preflight.types import HintPlace, RequestKind
from context.providers.model_windows import ANY_BUDGET, UsualBudget
from context.tokens import NO_TOOLS, ToolsCount
from context.tokens.budget import Budget, HistoryLimit, choose_budget
from context.tokens.tools import TOOLS_OVERHEAD
from context.types import JsonObject, Message, Role, Wire
from context.wire.formats import format_of
from context.wire.parts import PartKind, read_parts
from models.artifacts.attachment import load_attachments
from models.conversations.session_notes import tenant_history_limit
from models.conversations.session_state import SessionState
from models.conversations.standing import SessionSnapshot
from models.providers.context_limit import find_limit
from models.scope import Scope

MOST_ATTACHMENTS = 50


class AttachmentType(StrEnum):
    """Form of an attachment; `document` is detected from the text."""

    DOCUMENT = "document"
    DATA = "data"
    TABLE = "table"
    LOG = "log"
    CODE = "code"


_PROSE = {ContentKind.TEXT, ContentKind.MARKDOWN, ContentKind.HTML}
_KINDS: dict[str, ContentKind] = {
    AttachmentType.DATA: ContentKind.LOG,
    AttachmentType.TABLE: ContentKind.TABLE,
    AttachmentType.LOG: ContentKind.LOG,
    AttachmentType.CODE: ContentKind.CODE,
}
"""Kinds of prose for each declared form; structured text keeps its own kind."""


class RequestAttachment(Body):
    """A document for the request."""

    attachment_id: str | None = Field(None, max_length=200, description="One that was uploaded before.")
    content: str | None = Field(None, description="Its text, where it was not.")
    title: str = Field("", max_length=300, description="What people call it.")
    source: str = Field("", max_length=2_000, description="Where it comes from, as a URL or path.")
    media_type: str = Field("text/plain", max_length=200, description="What `content` is.")
    attachment_type: AttachmentType = Field(
        AttachmentType.DOCUMENT, description="How it is read: as a document, or line by line as data."
    )

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.attachment_id is None) == (self.content is None):
            raise ValueError("send attachment_id or content, and not both")
        return self


def read_attachments(wanted: Sequence[RequestAttachment]) -> list[Artifact]:
    """Make artifacts of the request's inline documents; documents named by id come later.

    Raises:
        ProblemError: A document is not of its declared type, or too large.
    """
    return [_inline(place, each) for place, each in enumerate(wanted) if each.content is not None]


def _inline(place: int, wanted: RequestAttachment) -> Artifact:
    try:
        document = read_inline(wanted.content or "", wanted.media_type)
    except ProblemError as error:
        if "field" not in error.numbers:
            raise
        field = f"attachments[{place}].{error.numbers['field']}"
        message = f"attachments[{place}].{error.message}"
        raise ProblemError(error.code, message, **{**error.numbers, "field": field}) from None
    title = wanted.title or document.title
    artifact = document_artifact(document.text, title=title, timestamp=datetime.now(UTC))
    return _attached(replace(artifact, kind=document.kind), wanted)


def find_attachments(scope: Scope, wanted: Sequence[RequestAttachment]) -> list[Artifact]:
    """Find the documents named by id in the request, in order.

    Raises:
        ProblemError: The tenant has no such attachment; the error names the field.
    """
    named = [(place, each) for place, each in enumerate(wanted) if each.attachment_id is not None]
    ids = [each.attachment_id or "" for _, each in named if is_artifact_id(each.attachment_id or "")]
    stored = load_attachments(scope, ids)
    found = []
    for place, each in named:
        attachment = stored.get(each.attachment_id or "")
        if attachment is None:
            raise ProblemError(
                "invalid-input",
                f"attachments[{place}].attachment_id: there is no such attachment; upload it first",
                field=f"attachments[{place}].attachment_id",
            )
        value = replace(attachment.value, title=each.title or attachment.value.title)
        found.append(_attached(value, each, stored_as=attachment.attachment_type))
    return found


def _attached(artifact: Artifact, wanted: RequestAttachment, *, stored_as: str = "") -> Artifact:
    """Set an artifact's source and form from the request."""
    name = wanted.source or wanted.title
    is_said = wanted.attachment_type is not AttachmentType.DOCUMENT
    read_as = wanted.attachment_type.value if is_said else stored_as
    kind = _KINDS.get(read_as) if artifact.kind in _PROSE else None
    facts = {"attached": True, "attachment_type": read_as or AttachmentType.DOCUMENT.value}
    return replace(
        artifact,
        source=f"attachment:{name}" if name else artifact.source,
        kind=kind or artifact.kind,
        metadata={**artifact.metadata, **facts},
    )


class RecallScope(StrEnum):
    """Where recall looks."""

    SESSION = "session"
    USER = "user"


class SentHistory(StrEnum):
    """Extent of a request's messages."""

    NEW = "new"
    FULL = "full"


class RecallWish(Body):
    """Wish for recall of a request."""

    scope: RecallScope = Field(
        RecallScope.SESSION, description="user: what the user's other sessions said as well."
    )


class ContextRequest(Body):
    """The next model request, as far as known to the platform."""

    model: str = Field(min_length=1, max_length=200, description="The model that will answer.")
    context_window: int | None = Field(
        None, ge=MIN_WINDOW, le=MAX_WINDOW, description="Its window, in tokens."
    )
    max_tokens: int | None = Field(None, ge=1, le=MAX_WINDOW, description="The output limit.")
    system_prompt: str | None = Field(None, description="The platform's own instructions.")
    messages: list[JsonObject] = Field(min_length=1, description="The new message or messages.")
    history: SentHistory = Field(
        SentHistory.NEW, description="full: `messages` holds the whole history; stored messages count once."
    )
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
    speakers: bool = Field(default=False, description="Whether stored words of users name who speaks.")
    wait_ms: int = Field(0, ge=0, description="How long to wait for work under way, and for `after_turn`.")
    after_turn: str | None = Field(
        None, max_length=200, description="A turn that must be stored; 409 if it is not in time."
    )
    kind: RequestKind = Field(RequestKind.USER, description="What the request comes from.")
    hint: HintPlace = Field(HintPlace.FIELD, description="Where preflight's hint goes beside the answer.")
    top_n: int | None = Field(None, ge=1, le=5_000, description="The most tools to send.")
    explain: bool = Field(default=False, description="Whether the answer names every tool left out.")
    planner_model: str | None = Field(None, max_length=200, description="The model that plans.")
    summarizer_model: str | None = Field(None, max_length=200, description="The model that summarizes.")

    @property
    def recalls_user(self) -> bool:
        """True if the user's other sessions are searched too."""
        return self.recall.scope is RecallScope.USER


Request = TypeVar("Request", bound=ContextRequest)


@dataclass(frozen=True)
class ParsedRequest:
    """A parsed and counted request.

    Attributes:
        new: The request's messages.
        system: The system prompt.
        tools: The size of the sent tools.
        chosen: The sent tools, and the tools left out.
        judged: The preflight decision; None before preflight.
        unhinted: The messages without the block of the requested hint.
        prompt: Text of the system prompt, from any place in the request.
    """

    new: list[Message]
    system: Message | None
    tools: ToolsCount
    chosen: ChosenTools = NO_TOOLS_CHOSEN
    judged: PreflightResult | None = None
    unhinted: Sequence[Message] = ()
    prompt: str = ""

    @property
    def said(self) -> Sequence[Message]:
        """The user's words, for searches."""
        return self.unhinted or self.new

    @property
    def tools_tokens(self) -> int:
        """The canonical count of the tool definitions."""
        return self.tools.tokens + TOOLS_OVERHEAD if self.tools.tools else 0


def read_request(request: ContextRequest) -> ParsedRequest:
    """Parse a request.

    Raises:
        AfterturnError: A message can never be sent, the user has no valid id, or the output has no room.
    """
    if request.user_id:
        check_id(request.user_id, "user_id")  # kept windows have it, and are erased with the user
    budget_of(request, NO_LIMITS)
    prompt, new = _read_messages(request)
    is_told = format_of(request.wire).is_told
    if not request.attachments and not any(is_told(message.body) for message in new):
        raise InvalidInputError("messages", "say nothing; send text, media or a tool's result in one of them")
    return ParsedRequest(new, system_message(prompt), NO_TOOLS, prompt=prompt or "")


def _read_messages(request: ContextRequest) -> tuple[str | None, list[Message]]:
    """Read the messages; leading system messages become the system prompt.

    Raises:
        InvalidInputError: A separate system prompt is given too, or the request has only a system prompt.
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


def with_known_window(tenant_id: UUID, request: Request, standing: SessionSnapshot | None) -> Request:
    """Add a missing window to a request: the session's window, or else the model profile's.

    Args:
        tenant_id: The tenant with the profiles.
        request: The request.
        standing: The session's state; its window counts for the same model only.

    Returns:
        The request with the first window large enough for an answer; unchanged if there is none.
    """
    if request.context_window is not None:
        return request
    least = request.max_tokens or 0
    for window in (_window_of(request.model, standing), _profile_window(tenant_id, request.model)):
        if window is not None and window > least:
            return request.model_copy(update={"context_window": window})
    return request


def _in_usual_window(request: Request, standing: SessionSnapshot | None) -> Request:
    """Give a request the window and the budget of its session, never smaller than its own."""
    session, named = standing.session if standing else SessionState(""), request.context_window
    window = named and session.usual_window.after(named).tokens
    budget = session.usual_budget.after(request.budget, session.last_seq).tokens
    return request.model_copy(update={"context_window": window, "budget": budget})


def _window_of(model: str, standing: SessionSnapshot | None) -> int | None:
    session = standing.session if standing else None
    return session.context_window if session and session.model == model else None


def _profile_window(tenant_id: UUID, model: str) -> int | None:
    """Return the window of a model's profile; None for an unknown model."""
    profile = profiles.find(tenant_id, model)
    return profile.window_tokens if profile.prefix or profile.context_window else None


@dataclass(frozen=True)
class WindowLimits:
    """Limits of a window beside the request's own.

    Attributes:
        learned: The model's learned window, in tokens; None if unknown.
        history: Limit of history tokens; None without a limit.
        usual: The budget of the session's requests.
    """

    learned: int | None = None
    history: HistoryLimit | None = None
    usual: UsualBudget = ANY_BUDGET


NO_LIMITS = WindowLimits()


def find_limits(scope: Scope, model: str, session_id: str, standing: SessionSnapshot | None) -> WindowLimits:
    """Find the limits of a session's windows, also before its first turn."""
    if standing is not None:
        session = standing.session
        return WindowLimits(standing.learned_limit, session.history_limit, session.usual_budget)
    return WindowLimits(find_limit(scope, model, session_id), tenant_history_limit(scope))


def budget_of(request: ContextRequest, limits: WindowLimits) -> Budget:
    """Compute the budget, within the model's learned window and the tenant's limit."""
    return choose_budget(
        request.context_window,
        request.max_tokens,
        ceiling=limits.learned,
        input_limit=request.budget,
        history_limit=limits.history,
        is_usual=limits.usual.holds(request.budget),
    )


def ask(
    request: ContextRequest, given: ParsedRequest, limits: WindowLimits, standing: SessionSnapshot | None
) -> RequestSize:
    """Compute the request's size beside history, for its own window and the session's usual window."""
    return RequestSize(
        request.model,
        budget_of(request, limits),
        budget_of(_in_usual_window(request, standing), limits),
        given.system.tokens if given.system else 0,
        given.tools_tokens,
        sum(message.tokens for message in given.new),
        goes_on=any(message.answer_ids for message in given.new),
        fresh_tokens=sum(message.tokens for message in newest_step(given.new)),
    )

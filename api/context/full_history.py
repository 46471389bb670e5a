"""A request with the whole history, where stored messages count once, or with a provider's compaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from api.context.request import ContextRequest, SentHistory
from api.http.errors import ProblemError
from api.settings import api_settings
from api.turns.intake import describe_messages
from api.turns.large_results import restore_messages
from context.conversation.compare import CompactedList, count_known, leading_system, read_compacted
from context.shape.target import target_of
from context.tokens.budget import Budget
from context.types import Message, Role
from models.conversations.history import load_newest
from models.conversations.session import find_session
from models.conversations.session_state import NOTHING_PREPARED
from models.conversations.standing import SessionSnapshot, under_compaction
from models.scope import Scope


def stand_under(
    tenant_id: UUID,
    standing: SessionSnapshot | None,
    *,
    request: ContextRequest,
    new: Sequence[Message],
    budget: Budget,
) -> SessionSnapshot | None:
    """Return the session's state with the provider's compaction in place of a summary, if one applies.

    A compaction among the new messages stands for all stored messages, unless the new messages go on with a
    stored call.

    Args:
        tenant_id: The tenant of the session.
        standing: The session's state; None for an unstored session.
        request: The request.
        new: The new messages of the request.
        budget: The window.
    """
    if standing is None:
        return None
    if _brings_own(request, new):
        session = standing.session
        session = replace(
            session,
            **NOTHING_PREPARED,
            summarized_seq=session.last_seq,
            summarized_tokens=session.history_tokens,
            summary_tokens=0,
        )
        return replace(standing, session=session, summary=None)
    if not standing.compactions:
        return standing
    with Scope.read(tenant_id) as scope:
        return under_compaction(scope, standing, model=request.model, budget=budget, wire=request.wire)


def _brings_own(request: ContextRequest, new: Sequence[Message]) -> bool:
    if not any(message.compaction for message in new):
        return False
    made = {call_id for message in new for call_id in message.call_ids}
    answers = {call_id for message in new for call_id in message.answer_ids}
    return answers <= made and target_of(request.wire, request.model).reads_compaction(request.wire, None)


@dataclass(frozen=True)
class NewPart:
    """The new part of a request.

    Attributes:
        request: The request with the new messages alone.
        again: Stored messages at the end of the log that the request brings again as new.
    """

    request: ContextRequest
    again: tuple[Message, ...] = ()

    def before(self, standing: SessionSnapshot | None) -> SessionSnapshot | None:
        """Return the session's state before the messages that the request brings again."""
        if standing is None or not self.again:
            return standing
        session, first_seq = standing.session, self.again[0].seq
        if first_seq <= session.tail_from or session.last_seq != self.again[-1].seq:
            return standing
        tokens = max(session.history_tokens - sum(message.tokens for message in self.again), 0)
        return replace(standing, session=replace(session, last_seq=first_seq - 1, history_tokens=tokens))


def find_new_part(tenant_id: UUID, session_id: str, request: ContextRequest) -> NewPart:
    """Leave the stored messages out of a request with the whole history.

    If every message is stored, the messages after the last answer are the new ones.

    Raises:
        AfterturnError: The stored history differs, or nothing is new.
    """
    if request.history is SentHistory.NEW:
        return NewPart(request)
    limit = api_settings().max_history_messages
    if len(request.messages) > limit:
        message = f"messages: {len(request.messages)} are more than {limit} in one history"
        raise ProblemError("too-large", message, field="messages", limit=limit)
    given = describe_messages(request.messages, request.wire)
    head = leading_system(given)
    given = given[head:]
    is_compacted = any(message.compaction for message in given)
    stored = _load(tenant_id, session_id, most=limit if is_compacted else len(given) + 1)
    compacted = read_compacted(stored, given)
    known = _count_known(stored, given, compacted) if stored else 0
    if known is None:
        raise ProblemError(
            "history-conflict",
            "messages: differ from the stored history; sync the history first (`PUT .../messages`), or send "
            "the new messages alone",
            field="messages",
        )
    new_from = known if known < len(given) else _after_answer(given)
    messages = [*request.messages[:head], *request.messages[head + new_from :]]
    again = tuple(stored[len(stored) - (known - new_from) :]) if new_from < known else ()
    return NewPart(request.model_copy(update={"messages": messages}), again)


def _count_known(
    stored: Sequence[Message], given: Sequence[Message], compacted: CompactedList | None
) -> int | None:
    """Count the first messages that are stored; a new compaction and everything beside it is new."""
    if compacted is None:
        return count_known(stored, given)
    if compacted.offset is None:
        return 0
    known = count_known([stored[place] for place in compacted.places], compacted.given)
    return None if known is None else known + compacted.offset


def _load(tenant_id: UUID, session_id: str, *, most: int) -> list[Message]:
    """Load the newest messages since the last reset, with large results put back."""
    with Scope.read(tenant_id) as scope:
        session = find_session(scope, session_id)
        if session is None:
            return []
        bounds = {"after_seq": session.start_seq, "up_to_seq": session.last_seq, "most": most}
        stored = load_newest(scope, session_id, **bounds)
        stored = restore_messages(scope, session_id, stored)
    return stored[leading_system(stored) :] if len(stored) < most else stored


def _after_answer(given: list[Message]) -> int:
    """Return the index after the last answer of the assistant.

    Raises:
        ProblemError: The history ends with the answer.
    """
    answers = [index for index, message in enumerate(given) if message.role is Role.ASSISTANT]
    new_from = answers[-1] + 1 if answers else 0
    if new_from == len(given):
        raise ProblemError(
            "invalid-input",
            "messages: every message is stored, and the last is an answer; send the new message after it",
            field="messages",
        )
    return new_from

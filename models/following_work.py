"""Work that becomes due after turns: readings of large results, an index, a summary."""

from collections.abc import Collection, Mapping, Sequence

from models.artifacts.settings import artifact_settings
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session_state import SessionState, is_due
from models.conversations.settings import compression_settings
from models.due_work.queue import WorkKind, enqueue_each
from models.recall.settings import recall_settings
from models.recall.user import recalls_users
from models.scope import Scope

INDEX_FROM_TOKENS = 600
"""Least size of an indexed session; a shorter session fits every reasonable budget."""

Wish = tuple[WorkKind, str, float]
"""Kind and key of due work, and the seconds until the work is due."""


def enqueue_following(
    scope: Scope,
    turns: Sequence[NewTurn],
    answers: Sequence[AcceptedTurn],
    sessions: Mapping[str, SessionState],
) -> None:
    """Queue the work that follows from new turns: readings, an index, a summary.

    Args:
        scope: The transaction that stores the turns.
        turns: The turns.
        answers: The place of each turn.
        sessions: The states of the sessions afterwards.
    """
    changed = {answer.session_id for answer in answers if not answer.duplicate}
    named = {turn.session_id for turn in turns if turn.user_id}
    wishes = _wish_readings(turns, answers)
    wishes += _wish_of_sessions(scope, [sessions[session_id] for session_id in changed], named=named)
    enqueue_each(scope, wishes)


def enqueue_of_sessions(scope: Scope, sessions: Sequence[SessionState], *, named: Collection[str]) -> None:
    """Queue index and summary of changed sessions; `named` are the sessions with turns that name a user."""
    enqueue_each(scope, _wish_of_sessions(scope, sessions, named=named))


def _wish_readings(turns: Sequence[NewTurn], answers: Sequence[AcceptedTurn]) -> list[Wish]:
    """List the readings of new turns' large results for likely questions."""
    settings = artifact_settings()
    large = {
        new.artifact.artifact_id
        for turn, answer in zip(turns, answers, strict=True)
        if not answer.duplicate
        for new in turn.artifacts
        if new.artifact.size_chars >= settings.artifact_split_chars
    }
    return [(WorkKind.ARTIFACT, artifact_id, settings.artifact_debounce_s) for artifact_id in large]


def _wish_of_sessions(
    scope: Scope, sessions: Sequence[SessionState], *, named: Collection[str]
) -> list[Wish]:
    """List index and summary of changed sessions."""
    delay_s = compression_settings().summarize_debounce_s
    indexed = _sessions_to_index(scope, sessions, named=named)
    due = [session.session_id for session in sessions if is_due(session)]
    return [
        *((WorkKind.RECALL, session_id, delay_s) for session_id in indexed),
        *((WorkKind.SUMMARIZE, session_id, delay_s) for session_id in due),
    ]


def _sessions_to_index(scope: Scope, sessions: Sequence[SessionState], *, named: Collection[str]) -> set[str]:
    """Choose sessions to index, before a summary or small budget hides turns, or others need them."""
    if not recall_settings().recall_is_on:
        return set()
    due = {session.session_id for session in sessions if session.history_tokens > INDEX_FROM_TOKENS}
    short = {session.session_id for session in sessions if session.session_id in named} - due
    return due | short if short and recalls_users(scope) else due

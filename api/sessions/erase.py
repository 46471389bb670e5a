"""Editing and erasing: a message, a session, all data of a user; each call answers with a receipt."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.sessions import ErasureReceipt, MessageReceipt, UserReceipt
from api.http.call import (
    Body,
    ChangeCall,
    SessionId,
    documented,
    number_in_path,
    number_schema,
    read_as,
)
from api.http.errors import ProblemError, committed, not_found
from api.http.values import encode
from api.http.waiting import CHANGES_SESSION, CHANGES_SESSIONS_OF_USER
from api.settings import api_settings
from api.turns.large_results import take_out_of
from context.artifacts.positions import read_results
from context.artifacts.subjects import subject_of
from context.conversation.erasing import check_replacement
from context.conversation.tool_calls import read_calls
from context.text.sanitize import CLEANED, MAX_ID_CHARS
from context.types import JsonObject, Message
from context.wire import describe
from models.conversations.history import load_turns
from models.conversations.session import lock_existing
from models.erasure.artifacts import LargeResults, Retold
from models.erasure.kept_receipts import (
    Erased,
    find_message_receipt,
    find_receipt,
    keep_message_receipt,
    keep_receipt,
)
from models.erasure.log import Receipt
from models.erasure.messages import Changed, Edit, edit_message, remove_messages
from models.erasure.sessions import erase_session, erase_user_belongings, erase_user_from, sessions_of_user
from models.scope import Scope

FIELD = "message"


def read_edit(turn: Sequence[Message], index: int, body: JsonObject) -> Edit:
    """Read a replacement for a message of a turn.

    Args:
        turn: The turn as stored.
        index: Index of the message to replace.
        body: The replacement as sent.

    Raises:
        AfterturnError: The replacement cannot be sent, is too large, or does not fit in place of the old
            message.
    """
    old = turn[index]
    new = _describe(old, body)
    check_replacement(old, new, FIELD)
    taken = take_out_of([*turn[:index], new, *turn[index + 1 :]], index)
    uses = [replace(use, message=0) for use in taken.uses]
    retold = tuple(_retell(turn[index + 1 :], new))
    return Edit(old, taken.messages[index], LargeResults(taken.artifacts, uses, retold))


def _describe(old: Message, body: JsonObject) -> Message:
    facts = describe(body, old.wire, FIELD)
    raw = encode(body)
    limit = api_settings().max_message_bytes
    if len(raw) > limit:
        message = f"{FIELD}: {len(raw)} bytes are more than {limit}"
        raise ProblemError("too-large", message, field=FIELD, limit=limit)
    return replace(
        old,
        role=facts.role,
        raw=raw.decode(),
        tokens=0,
        tokens_wide=None,
        call_ids=facts.call_ids,
        answer_ids=facts.answer_ids,
        speaker=facts.speaker or _speaker_of_turn(old),
        compaction=(old.compaction or (0,)) if facts.compacts else (),
    )


def _speaker_of_turn(old: Message) -> str | None:
    """Return the speaker given outside of the message; a name given by the old message only is dropped."""
    return None if describe(old.body, old.wire, FIELD).speaker else old.speaker


def _retell(following: Sequence[Message], edited: Message) -> Iterator[Retold]:
    """Yield the new subjects of results of an edited message's calls."""
    calls = read_calls([edited])
    for message in following if calls else ():
        for result in read_results(message):
            call = calls.get(result.call_id)
            if call is not None:
                subject = subject_of(call.name, call.arguments, failed=result.failed)
                yield Retold(message.seq, result.place, subject.text, subject.writes)


router = APIRouter(prefix="/v1", tags=["erasing"])

USER_S = 20.0
"""Longest time of a call to erase a user's sessions, in seconds; the answer counts remaining sessions."""

_MOST_SEQ = 2**63 - 1


async def _seq(
    request: Request,
    seq: Annotated[
        str,
        Path(description="The message's number in its session.", json_schema_extra=number_schema(_MOST_SEQ)),
    ],
) -> int:
    return number_in_path(request, seq, "seq", _MOST_SEQ)


Seq = Annotated[int, Depends(_seq)]


UserId = Annotated[
    str,
    Path(
        description="The user, as turns and attachments name it.",
        json_schema_extra={"maxLength": MAX_ID_CHARS},
    ),
]


class EditedMessage(Body):
    """Other words for a stored message."""

    message: JsonObject = Field(description="The whole message, in the format of the stored one.")


@router.patch(
    "/sessions/{session_id}/messages/{seq}",
    openapi_extra=documented(EditedMessage),
    dependencies=CHANGES_SESSION,
    **answers(MessageReceipt, "edit_message", "Edit a message"),
)
def edit(session_id: SessionId, seq: Seq, call: ChangeCall) -> Response:
    """Replace a message; everything derived from the old message is gone with the answer.

    Speaker, format, and the tool calls made and answered stay the same.
    """
    tenant_id = call.caller("write").tenant_id
    body, cleaned = read_as(EditedMessage, call.raw)
    with Scope.read(tenant_id) as scope:
        turn, index = _find(scope, session_id, seq)
    new = read_edit(turn, index, body.message)
    changed = committed(tenant_id, partial(edit_message, session_id=session_id, edit=new))
    if changed is None:  # others changed it meanwhile: now they wait
        held = partial(_edit_held, session_id=session_id, seq=seq, body=body.message)
        changed = committed(tenant_id, held)
    return _json({**_changed(changed), **({"notes": [CLEANED]} if cleaned else {})})


def _edit_held(scope: Scope, *, session_id: str, seq: int, body: JsonObject) -> Changed:
    """Read and edit a message under a lock on its session."""
    lock_existing(scope, [session_id])
    turn, index = _find(scope, session_id, seq)
    changed = edit_message(scope, session_id, read_edit(turn, index, body))
    if changed is None:
        raise not_found("message")
    return changed


@router.delete(
    "/sessions/{session_id}/messages/{seq}",
    dependencies=CHANGES_SESSION,
    **answers(MessageReceipt, "erase_message", "Erase a message"),
)
def erase_message(session_id: SessionId, seq: Seq, call: ChangeCall) -> Response:
    """Erase a message, with the other half of each tool call or result, and everything derived from it.

    After a lost answer, call again: the receipt is repeated, with `repeated`.
    """
    tenant_id = call.caller("write").tenant_id

    def erase(scope: Scope) -> dict[str, Any]:
        changed = remove_messages(scope, session_id, [seq])
        if changed is not None:
            keep_message_receipt(scope, session_id, changed)
            return _changed(changed)
        kept = find_message_receipt(scope, session_id, seq)
        if kept is None:
            raise not_found("message")
        return kept.as_json()

    return _json(committed(tenant_id, erase))


@router.delete(
    "/sessions/{session_id}",
    dependencies=CHANGES_SESSION,
    **answers(ErasureReceipt, "erase_session", "Erase a session"),
)
def erase_whole_session(session_id: SessionId, call: ChangeCall) -> Response:
    """Erase a session: its log, everything derived from the log, and the session's uploads.

    After a lost answer, call again: the receipt is repeated, with `repeated`.
    """
    tenant_id = call.caller("write").tenant_id

    def erase(scope: Scope) -> dict[str, Any]:
        receipt = erase_session(scope, session_id)
        keep_receipt(scope, "session", session_id, receipt)
        return _told(scope, "session", session_id, receipt)

    return _json(committed(tenant_id, erase))


@router.delete(
    "/users/{user_id}",
    dependencies=CHANGES_SESSIONS_OF_USER,
    **answers(UserReceipt, "erase_user", "Erase a user"),
)
def erase_user(user_id: UserId, call: ChangeCall) -> Response:
    """Erase a user: the user's sessions, own turns in shared sessions, plans and documents.

    If time runs out, the rest is left for the next call: `remaining_sessions` has the number of sessions
    left. After the end, a call answers with the receipt of the whole, and `repeated`.
    """
    tenant_id = call.caller("write").tenant_id
    ends_at = time.monotonic() + USER_S
    with Scope.read(tenant_id) as scope:
        waiting = list(sessions_of_user(scope, user_id))
    receipt = Receipt()
    while waiting and time.monotonic() < ends_at:
        erase = partial(erase_user_from, user_id=user_id, session_id=waiting.pop(0))
        receipt.add(committed(tenant_id, partial(_erase_part, user_id=user_id, erase=erase, is_done=False)))
    belongings = partial(erase_user_belongings, user_id=user_id)
    receipt.add(
        committed(tenant_id, partial(_erase_part, user_id=user_id, erase=belongings, is_done=not waiting))
    )
    answer = committed(tenant_id, lambda scope: _told(scope, "user", user_id, receipt))
    return _json({**answer, "remaining_sessions": len(waiting)})


def _erase_part(scope: Scope, *, user_id: str, erase: Callable[[Scope], Receipt], is_done: bool) -> Receipt:
    """Erase a part of a user's data, and add the result to the stored receipt."""
    receipt = erase(Scope(scope.db, scope.tenant_id))
    keep_receipt(scope, "user", user_id, receipt, is_done=is_done)
    return receipt


def _told(scope: Scope, erased: Erased, subject: str, receipt: Receipt) -> dict[str, Any]:
    """Return the receipt of the call; if nothing was left to erase, the stored receipt.

    Raises:
        ProblemError: No stored receipt exists.
    """
    if not receipt.is_empty:
        return receipt.as_json()
    kept = find_receipt(scope, erased, subject)
    if kept is None:
        raise not_found(erased)
    return kept.as_json()


def _find(scope: Scope, session_id: str, seq: int) -> tuple[list[Message], int]:
    """Find the turn of a message, and the message's index."""
    turns, _ = load_turns(scope, session_id, from_seq=seq, to_seq=seq, most_messages=1, most_bytes=1)
    messages = [message for turn in turns for message in turn.messages]
    found = next((index for index, message in enumerate(messages) if message.seq == seq), None)
    if found is None:
        raise not_found("message")
    return messages, found


def _changed(changed: Changed) -> dict[str, Any]:
    return {**changed.receipt.as_json(), **changed.as_json()}


def _json(content: dict[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")

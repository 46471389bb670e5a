"""Preparation of a message edit: checked, counted, large results taken out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from api.http.errors import ProblemError
from api.http.values import encode
from api.settings import api_settings
from api.turns.large_results import take_out_of
from context.artifacts.positions import read_results
from context.artifacts.subjects import subject_of
from context.conversation.erasing import check_replacement
from context.conversation.tool_calls import read_calls
from context.types import JsonObject, Message
from context.wire import describe
from models.erasure.artifacts import LargeResults, Retold
from models.erasure.messages import Edit

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

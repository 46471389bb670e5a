"""From other words for a stored message to what is stored: checked, counted, its large results taken out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from api.encoding import encode
from api.errors import ProblemError
from api.results import take_out_of
from api.settings import api_settings
from context.artifacts.positions import read_results
from context.artifacts.subjects import subject_of
from context.artifacts.toolcalls import read_calls
from context.erasing import check_replacement
from context.types import JsonObject, Message
from context.wire import describe
from models.erase import Edit
from models.erase_uses import LargeResults, Retold

FIELD = "message"


def read_edit(turn: Sequence[Message], index: int, body: JsonObject) -> Edit:
    """Read other words for one message of a turn.

    Args:
        turn: The turn as it is stored.
        index: Which of its messages.
        body: What takes its place, as it was sent.

    Raises:
        AfterturnError: It can never be sent, is too large, or would not fit in the old one's place.
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
    )


def _speaker_of_turn(old: Message) -> str | None:
    """Who speaks where the message itself did not say; a name that only its old words gave is gone."""
    return None if describe(old.body, old.wire, FIELD).speaker else old.speaker


def _retell(following: Sequence[Message], edited: Message) -> Iterator[Retold]:
    """Say of the results of an edited message's calls what they are about now."""
    calls = read_calls([edited])
    for message in following if calls else ():
        for result in read_results(message):
            call = calls.get(result.call_id)
            if call is not None:
                subject = subject_of(call.name, call.arguments, failed=result.failed)
                yield Retold(message.seq, result.place, subject.text, subject.writes)

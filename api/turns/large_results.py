"""Take large results out of messages, and put results back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from context.artifacts.content import ID_PREFIX
from context.artifacts.positions import read_results
from context.artifacts.split import Split, SplitArtifact, pointed_artifacts, restore_results, split_results
from context.artifacts.subjects import subject_of
from context.conversation.tool_calls import ToolCall, read_calls
from context.tokens import EncodingName, count_text, measure_message
from context.types import Message
from models.artifacts.artifact import NewArtifact, new_artifact
from models.artifacts.settings import artifact_settings
from models.artifacts.use import NewUse, TakenResult, load_results
from models.scope import Scope


def restore_messages(scope: Scope, session_id: str, messages: Sequence[Message]) -> list[Message]:
    """Put large tool results back into stored messages.

    Only results taken out of the message itself are put back, regardless of pointers in its text.

    Args:
        scope: The transaction and its tenant.
        session_id: The session's id.
        messages: Stored messages of the session.

    Returns:
        The messages as sent; messages without a pointer are the same objects.
    """
    pointing = [message.seq for message in messages if message.answer_ids and pointed_artifacts(message)]
    if not pointing:
        return list(messages)
    taken = load_results(scope, session_id, from_seq=min(pointing), to_seq=max(pointing))
    return [_restored(message, taken.get(message.seq, {})) for message in messages]


def _restored(message: Message, taken: Mapping[str, TakenResult]) -> Message:
    contents = {artifact_id: result.content for artifact_id, result in taken.items()}
    counts = {artifact_id: result.count for artifact_id, result in taken.items()}
    return restore_results(message, contents, counts=counts) if contents else message


_MOST_PLACES = 32_767


@dataclass(frozen=True)
class SplitTurn:
    """A turn without its large results.

    Attributes:
        messages: The turn's messages, counted as stored.
        artifacts: The extracted contents, each once.
        uses: Places of the contents, and writes behind small results.
    """

    messages: list[Message]
    artifacts: tuple[NewArtifact, ...] = ()
    uses: tuple[NewUse, ...] = ()


def take_out(messages: Sequence[Message]) -> SplitTurn:
    """Take the large results out of a turn and count the rest.

    Args:
        messages: The turn's messages as sent, not counted yet.
    """
    if not any(message.answer_ids for message in messages):
        return SplitTurn([measured(message) for message in messages])
    calls = read_calls(messages)
    splits = [_split(message, calls) for message in messages]
    found = [(index, artifact) for index, split in enumerate(splits) for artifact in split.artifacts]
    contents = {artifact.artifact_id: artifact for _, artifact in found}
    return SplitTurn(
        [split.message if split.artifacts else measured(split.message) for split in splits],
        tuple(_new(artifact) for artifact in contents.values()),
        tuple(_uses(messages, splits, calls)),
    )


def take_out_of(messages: Sequence[Message], index: int) -> SplitTurn:
    """Take the large results out of a message of a stored turn; other messages are already processed.

    Args:
        messages: The turn, with the message as sent.
        index: Index of the message.

    Returns:
        The turn, with contents and uses of the message only.
    """
    return take_out_in(messages, range(index, index + 1))


def take_out_in(messages: Sequence[Message], places: range) -> SplitTurn:
    """Take the large results out of some messages of a turn; other messages are already processed.

    Args:
        messages: The turn, with the messages as sent.
        places: Indexes of the messages.

    Returns:
        The turn, with contents and uses of the messages only.
    """
    calls = read_calls(messages)
    stored = [Split(message) for message in messages]
    taken, found = list(messages), dict[str, SplitArtifact]()
    for index in places:
        split = stored[index] = _split(messages[index], calls)
        taken[index] = split.message if split.artifacts else measured(split.message)
        found |= {one.artifact_id: one for one in split.artifacts}
    uses = tuple(use for use in _uses(messages, stored, calls) if use.message in places)
    return SplitTurn(taken, tuple(map(_new, found.values())), uses)


def measured(message: Message) -> Message:
    """Return the message with its counts."""
    count = measure_message(message.body, message.wire)
    return message.with_counts(count.tokens, count.wide)


def _split(message: Message, calls: Mapping[str, ToolCall]) -> Split:
    """Split a message with possibly large results, or with text resembling an artifact pointer."""
    settings = artifact_settings()
    large = len(message.raw) >= settings.artifact_split_chars
    if not message.answer_ids or not (large or ID_PREFIX in message.raw):
        return Split(message)
    return split_results(
        message,
        least_chars=settings.artifact_split_chars,
        calls=calls,
        preview_chars=settings.artifact_preview_chars,
    )


def _new(artifact: SplitArtifact) -> NewArtifact:
    return new_artifact(artifact.as_artifact(source="", timestamp=datetime.now(UTC)))


def _uses(
    messages: Sequence[Message], splits: Sequence[Split], calls: Mapping[str, ToolCall]
) -> Iterator[NewUse]:
    step = 0
    for index, message in enumerate(messages):
        if not message.answer_ids:
            continue
        taken = {artifact.place: artifact for artifact in splits[index].artifacts}
        for result in read_results(splits[index].message):
            step += 1
            artifact = taken.get(result.place)
            use = (
                _of_artifact(index, artifact, step, result.texts)
                if artifact
                else _of_write(index, result.place, calls.get(result.call_id), step)
            )
            if use is not None and use.place <= _MOST_PLACES:
                yield use


def _of_artifact(index: int, artifact: SplitArtifact, step: int, pointers: Sequence[str]) -> NewUse:
    tokens = sum(map(count_text, pointers))
    wide = sum(count_text(pointer, EncodingName.WIDE) for pointer in pointers)
    return NewUse(
        message=index,
        place=artifact.place,
        artifact_id=artifact.artifact_id,
        source=f"step_{step}:{artifact.tool or 'tool'}",
        tool=artifact.tool,
        subject=artifact.subject.text,
        writes=artifact.subject.writes,
        saved=(artifact.tokens - tokens, artifact.tokens_wide - wide),
    )


def _of_write(index: int, place: int, call: ToolCall | None, step: int) -> NewUse | None:
    """Record a small result of a write: no content, but earlier reads are out of date."""
    if call is None:
        return None
    subject = subject_of(call.name, call.arguments)
    if not subject.writes or not subject.key:
        return None
    return NewUse(index, place, None, f"step_{step}:{call.name}", call.name, subject.text, writes=True)

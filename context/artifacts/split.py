"""Large tool results taken out of a message, put back, or kept whole in place."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from context.artifacts.content import PREVIEW_CHARS, artifact_id_of, count_lines, kind_of, preview_of
from context.artifacts.positions import (
    Described,
    ResultTexts,
    read_results,
    rewrite_results,
    write_continuation,
    write_pointer,
)
from context.artifacts.subjects import UNKNOWN_SUBJECT, Subject, subject_of
from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.conversation.tool_calls import NO_CALLS, ToolCall
from context.tokens import Count, EncodingName, count_text, measure_message
from context.types import JsonObject, Message, once_a_message
from context.wire.parts import Reference, read_pointer

_JOINT = "\n"
"""Separator between several texts of a result."""


@dataclass(frozen=True)
class SplitArtifact:
    """A tool result removed from a message.

    Attributes:
        artifact_id: The id, made from the content.
        content: The whole text; several texts of one result joined by line breaks.
        kind: The kind of text.
        lines: The number of lines, >= 0.
        tokens: The cost in the canonical count, >= 0.
        tokens_wide: The same in the second count.
        preview: The beginning and end.
        place: The number of the result in its message, from 0.
        call_id: The answered call.
        tool: The tool; empty if the call is unknown.
        subject: The subject read or written by the call.
    """

    artifact_id: str
    content: str
    kind: ContentKind
    lines: int
    tokens: int
    tokens_wide: int
    preview: str
    place: int
    call_id: str
    tool: str
    subject: Subject

    @property
    def size_chars(self) -> int:
        """Length of the whole text."""
        return len(self.content)

    def as_artifact(
        self, *, source: str, timestamp: datetime, metadata: Mapping[str, object] | None = None
    ) -> Artifact:
        """Make an artifact for plans.

        Args:
            source: The source, such as `step_1:web_scraper`.
            timestamp: The time of the result.
            metadata: Further facts.
        """
        known = {"tool": self.tool, "subject": self.subject.text, "writes": self.subject.writes}
        return Artifact(
            artifact_id=self.artifact_id,
            artifact_type=ArtifactType.TOOL_RESULT,
            kind=self.kind,
            size_chars=self.size_chars,
            tokens=self.tokens,
            tokens_wide=self.tokens_wide,
            source=source,
            timestamp=timestamp,
            preview=self.preview,
            content=self.content,
            metadata={**known, **(metadata or {})},
        )


@dataclass(frozen=True)
class Split:
    """A message without its large results.

    Attributes:
        message: The message, counted anew; the very same object if nothing was removed.
        artifacts: The removed results, in order; equal contents are each listed.
    """

    message: Message
    artifacts: tuple[SplitArtifact, ...] = ()


def split_results(
    message: Message,
    *,
    least_chars: int,
    calls: Mapping[str, ToolCall] = NO_CALLS,
    preview_chars: int = PREVIEW_CHARS,
) -> Split:
    """Remove the large tool results from a message; a pointer with a preview stays for each.

    A result stays if shorter than `least_chars`, or if its pointer would cost as much. Media, ids, error
    flags and all other fields stay. A short result written like a pointer is removed too, whatever its size,
    so a pointer in a result's place was always written here.

    Args:
        message: A message of any wire format; its own counts are not read.
        least_chars: The length from which a result is large, in characters, >= 1.
        calls: The calls of the turn, for the names of the tools and their subjects.
        preview_chars: The most characters of a preview, >= 1.

    Returns:
        The message and the removed results. `restore_results` is the way back.
    """
    artifacts: list[SplitArtifact] = []

    def rewrite(result: ResultTexts) -> Sequence[str]:
        if not _is_large(result, least_chars):
            return result.texts
        artifact, fresh = _taken_out(result, calls, preview_chars)
        if not _saves(artifact, result, fresh):
            return result.texts
        artifacts.append(artifact)
        return fresh

    body = rewrite_results(message, rewrite)
    return Split(_rewritten(message, body), tuple(artifacts)) if artifacts else Split(message)


@once_a_message
def pointed_artifacts(message: Message) -> tuple[str, ...]:
    """List the artifacts named by a message's pointers, in order, each once.

    Args:
        message: A stored message.
    """
    texts = (text for result in read_results(message) for text in result.texts)
    return tuple(dict.fromkeys(found.artifact_id for found in map(read_pointer, texts) if found))


def restore_results(
    message: Message, contents: Mapping[str, str], *, counts: Mapping[str, Count] | None = None
) -> Message:
    """Replace pointers by the whole results: the message as sent.

    Checked here: a pointer counts in a result's place only, never in words of a user or a model; the pointer
    must be the whole text; its id must be in `contents`; and a content must match its id. Left to the
    caller: `contents` must hold only artifacts removed from this very message, looked up by tenant, session
    and place. Then no text can name its way to anything else.

    Args:
        message: A stored message.
        contents: Whole contents by artifact id; a pointer to another id stays.
        counts: Stored counts of the contents by artifact id; with them no content is counted again.

    Returns:
        The message with its results, and their cost included; the same object if nothing was restored.
    """
    restored: list[tuple[str, Reference]] = []

    def put_back(text: str) -> str:
        found = read_pointer(text)
        content = contents.get(found.artifact_id) if found else None
        whole = found.read(content) if found and content is not None else None
        if found is None or content is None or whole is None or not _is_named(content, found.artifact_id):
            return text
        restored.append((text, found))
        return whole

    body = rewrite_results(message, lambda result: [put_back(text) for text in result.texts])
    if not restored:
        return message
    known = _count_by_parts(message, restored, counts or {})
    return _rewritten(message, body, known)


def _is_named(content: str, artifact_id: str) -> bool:
    return artifact_id_of(content) == artifact_id


def _is_large(result: ResultTexts, least_chars: int) -> bool:
    length = sum(map(len, result.texts)) + len(_JOINT) * (len(result.texts) - 1)
    return length >= least_chars or _is_forged(result)


def _is_forged(result: ResultTexts) -> bool:
    return any(read_pointer(text) is not None for text in result.texts)


def _saves(artifact: SplitArtifact, result: ResultTexts, fresh: Sequence[str]) -> bool:
    """Say whether the pointer is smaller in both counts, or the result a forged pointer to remove anyway."""
    if _is_forged(result):
        return True
    if sum(map(len, fresh)) >= len(artifact.content):
        return False
    tokens, wide = _both_counts("".join(fresh))
    return tokens < artifact.tokens and wide < artifact.tokens_wide


def _both_counts(text: str) -> tuple[int, int]:
    return count_text(text), count_text(text, EncodingName.WIDE)


def _taken_out(
    result: ResultTexts, calls: Mapping[str, ToolCall], preview_chars: int
) -> tuple[SplitArtifact, list[str]]:
    content = _JOINT.join(result.texts)
    call = calls.get(result.call_id)
    tokens, wide = _both_counts(content)
    artifact = SplitArtifact(
        artifact_id=artifact_id_of(content),
        content=content,
        kind=kind_of(content),
        lines=count_lines(content),
        tokens=tokens,
        tokens_wide=wide,
        preview=preview_of(content, preview_chars),
        place=result.place,
        call_id=result.call_id,
        tool=call.name if call else result.name,
        subject=subject_of(call.name, call.arguments, failed=result.failed) if call else UNKNOWN_SUBJECT,
    )
    return artifact, _pointers(artifact, result.texts)


def _pointers(artifact: SplitArtifact, texts: Sequence[str]) -> list[str]:
    described = Described(
        artifact.artifact_id,
        artifact.tool,
        artifact.kind,
        artifact.size_chars,
        artifact.lines,
        artifact.tokens,
        artifact.preview,
    )
    if len(texts) == 1:
        return [write_pointer(described)]
    spans, start = [], 0
    for text in texts:
        spans.append((start, start + len(text)))
        start += len(text) + len(_JOINT)
    further = [write_continuation(artifact.artifact_id, span) for span in spans[1:]]
    return [write_pointer(described, spans[0]), *further]


def _count_by_parts(
    message: Message, restored: Sequence[tuple[str, Reference]], counts: Mapping[str, Count]
) -> Count | None:
    """Count from stored counts: exact if every pointer stood for a whole artifact; else None."""
    if message.tokens_wide is None:
        return None
    tokens, wide = message.tokens, message.tokens_wide
    for pointer, found in restored:
        count = counts.get(found.artifact_id)
        if count is None or count.wide is None or found.start is not None:
            return None
        less = _both_counts(pointer)
        tokens, wide = tokens + count.tokens - less[0], wide + count.wide - less[1]
    return Count(max(tokens, 0), max(wide, 0))


def _rewritten(message: Message, body: JsonObject, count: Count | None = None) -> Message:
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    count = count or measure_message(body, message.wire)
    return replace(message, raw=raw, tokens=count.tokens, tokens_wide=count.wide)


READING_TOKENS = 600
"""Tokens kept free for a reading of each result that stays a pointer."""


def fit_restored(
    stored: Sequence[Message], restored: Sequence[Message], *, room_tokens: int
) -> list[Message]:
    """Choose the results of an open turn to put back into their messages.

    If not all fit, the oldest stay pointers: a reading made for the turn's question stands for them. The
    newest is always put back, because the model is still working on it.

    Args:
        stored: The turn's messages, with pointers.
        restored: The same with whole results; the very same object for a message without a pointer.
        room_tokens: The room of the turn, in stored tokens.

    Returns:
        As many messages, each stored or restored.
    """
    chosen = list(restored)
    whole = [place for place, message in enumerate(restored) if message is not stored[place]]
    over = sum(message.tokens for message in restored) - room_tokens
    for place in whole[:-1]:
        if over <= 0:
            break
        chosen[place] = stored[place]
        over += stored[place].tokens - restored[place].tokens + READING_TOKENS
    return chosen


def put_back_newest(
    stored: Sequence[Message], restored: Sequence[Message], *, room_tokens: int
) -> list[Message]:
    """Choose the history results to put back into their messages: the newest first, while room is left.

    If a result does not fit, the result and every older result stay pointers: whole results form a suffix.

    Args:
        stored: Messages, oldest first, with pointers.
        restored: The messages with whole results; the same object if there is no result to put back.
        room_tokens: Limit for all messages, in stored tokens.

    Returns:
        As many messages, each stored or restored.
    """
    chosen = list(stored)
    left = room_tokens - sum(message.tokens for message in stored)
    for place in reversed(range(len(stored))):
        if restored[place] is stored[place]:
            continue
        left -= restored[place].tokens - stored[place].tokens
        if left < 0:
            break
        chosen[place] = restored[place]
    return chosen


PORTION = 1 / 4
"""Share of the room by which the oldest results move behind history, so that the prefix rarely changes."""


def choose_in_place(sizes: Mapping[int, int], *, most_tokens: int, room_tokens: int) -> frozenset[int]:
    """Choose the messages to keep with whole results.

    All stay if they fit. Else the oldest go first, as much as a multiple of a portion of the room; a result
    too large alone never stays in place.

    Args:
        sizes: Tokens of the results by message.
        most_tokens: The most tokens of all results together.
        room_tokens: The room beside the fixed parts; the room sets the portion.

    Returns:
        Places of messages in the log.
    """
    fitting = {seq: tokens for seq, tokens in sorted(sizes.items()) if tokens <= most_tokens}
    portion = max(int(room_tokens * PORTION), 1)
    to_free = -(-max(sum(fitting.values()) - most_tokens, 0) // portion) * portion
    kept = set(fitting)
    for seq, tokens in fitting.items():
        if to_free <= 0:
            break
        kept.discard(seq)
        to_free -= tokens
    return frozenset(kept)

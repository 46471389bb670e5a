"""Conversation with the tool calls behind each message, and the resulting artifacts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from context.artifacts.content import artifact_id_of, preview_of
from context.artifacts.kinds import kind_of
from context.artifacts.positions import ResultTexts, read_results
from context.artifacts.reference import read_pointer
from context.artifacts.subjects import Subject, subject_of
from context.artifacts.superseded import Access
from context.artifacts.toolcalls import ToolCall, read_calls
from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.calls import looks_failed
from context.contents import Part, PartKind, read_parts
from context.tokens import EncodingName, count_text
from context.types import Message, Role

NO_STORED: Mapping[str, Artifact] = {}


@dataclass(frozen=True)
class ReasoningStepRecord:
    """One tool call and its result.

    Attributes:
        step: The number among the steps of the message, from 1.
        tool: The tool; empty if no call is known for the result.
        arguments: The call's arguments, as JSON text.
        output: The result's words, or the pointer to the artifact.
        call_id: The call's id.
        seq: The result's place in the log; 0 while not stored.
        failed: True if the result reports a failure; None if the result does not say.
    """

    step: int
    tool: str
    arguments: str
    output: str
    call_id: str = ""
    seq: int = 0
    failed: bool | None = None

    @property
    def subject(self) -> Subject:
        """The subject read or written by the call."""
        failed = looks_failed(self.output) if self.failed is None else self.failed
        return subject_of(self.tool, self.arguments, failed=failed)


@dataclass(frozen=True)
class ConversationMessage:
    """A message with the tool calls that led to it.

    Attributes:
        role: `system`, `user` or `assistant`.
        content: The words; empty for steps without words so far.
        reasoning_steps: The calls with results since the assistant's previous words, in order.
        sequence_number: The place in the log; None while not stored.
    """

    role: str
    content: str
    reasoning_steps: tuple[ReasoningStepRecord, ...] = ()
    sequence_number: int | None = None


def read_conversation(messages: Sequence[Message]) -> list[ConversationMessage]:
    """Write stored messages as a conversation with steps.

    Args:
        messages: Messages of any wire formats, in order.

    Returns:
        Every message with words. A result belongs to the assistant's next words. If a user speaks first, or
        nobody does, the result belongs to an assistant message without words, at the last result's place.
    """
    calls = read_calls(messages)
    conversation: list[ConversationMessage] = []
    waiting: list[ReasoningStepRecord] = []
    for message in messages:
        waiting.extend(_steps(message, calls, first=len(waiting) + 1))
        words = _words(message)
        if not words:
            continue
        if message.role is not Role.ASSISTANT and waiting:
            conversation.append(_wordless(waiting))
            waiting = []
        taken = tuple(waiting) if message.role is Role.ASSISTANT else ()
        waiting = [] if taken else waiting
        conversation.append(ConversationMessage(message.role.value, words, taken, message.seq or None))
    return [*conversation, _wordless(waiting)] if waiting else conversation


def read_accesses(messages: Sequence[Message]) -> list[Access]:
    """List the subjects read and written by the calls of messages, for `find_superseded`.

    Args:
        messages: Messages of any wire formats, in order; large results as pointers.

    Returns:
        One entry a result with a known call, in order.
    """
    calls = read_calls(messages)
    return [
        Access(message.seq, subject_of(call.name, call.arguments, failed=result.failed), _pointed(result))
        for message in messages
        for result in read_results(message)
        if (call := calls.get(result.call_id)) is not None
    ]


def extract_artifacts_from_steps(
    steps: Iterable[ReasoningStepRecord],
    *,
    timestamp: datetime,
    stored: Mapping[str, Artifact] = NO_STORED,
    least_chars: int = 1,
) -> list[Artifact]:
    """Make artifacts of the results of steps.

    Args:
        steps: The steps of the open turn.
        timestamp: The time for results not yet stored.
        stored: Stored artifacts by id; a pointer to another id gives nothing.
        least_chars: The length of the shortest artifact, in characters, >= 1.

    Returns:
        Artifacts with sources such as `step_1:web_scraper`, each id once, at its last step's place.
    """
    return _unique(
        _artifact(step, f"step_{step.step}:{step.tool or 'tool'}", timestamp, stored, least_chars)
        for step in steps
    )


def extract_artifacts_from_messages(
    messages: Iterable[ConversationMessage],
    *,
    timestamp: datetime,
    stored: Mapping[str, Artifact] = NO_STORED,
    least_chars: int = 1,
) -> list[Artifact]:
    """Make artifacts of the results of earlier turns.

    Args:
        messages: The conversation so far.
        timestamp: As for steps.
        stored: As for steps.
        least_chars: As for steps.

    Returns:
        Artifacts with sources such as `history:msg_3:web_search` and `historical` in their metadata.
    """
    found = _unique(
        _artifact(
            step,
            f"history:msg_{message.sequence_number or step.seq}:{step.tool or 'tool'}",
            timestamp,
            stored,
            least_chars,
        )
        for message in messages
        for step in message.reasoning_steps
    )
    return [replace(artifact, metadata={**artifact.metadata, "historical": True}) for artifact in found]


def document_artifact(
    content: str, *, timestamp: datetime, title: str = "", source: str = "", kind: ContentKind | None = None
) -> Artifact:
    """Make an artifact of a document sent with a request.

    Args:
        content: The text.
        timestamp: The time of arrival.
        title: The document's common name.
        source: An address or file name; the artifact's source is `attachment:` plus this value, or the title.
        kind: The kind of text, if known better than from the text.
    """
    made = _measured(content, timestamp, kind)
    name = source or title or made.artifact_id
    return replace(
        made,
        artifact_type=ArtifactType.DOCUMENT,
        source=f"attachment:{name}",
        title=title,
        metadata={"attached": True},
    )


def all_artifacts(
    current: Sequence[Artifact], historical: Sequence[Artifact], attached: Sequence[Artifact]
) -> list[Artifact]:
    """Merge the artifacts of all sources, each id once.

    Args:
        current: Artifacts of the open turn.
        historical: Artifacts of earlier turns.
        attached: Artifacts of the request.

    Returns:
        The artifacts in this order; an attached or current artifact is never historical.
    """
    known: dict[str, Artifact] = {}
    for artifact in (*current, *historical):
        known.setdefault(artifact.artifact_id, artifact)
    known |= {artifact.artifact_id: artifact for artifact in attached}
    return list(known.values())


def _steps(message: Message, calls: Mapping[str, ToolCall], *, first: int) -> list[ReasoningStepRecord]:
    failed = {part.call_id: part.failed for part in _results(message)}
    return [
        ReasoningStepRecord(
            step=first + place,
            tool=calls[result.call_id].name if result.call_id in calls else result.name,
            arguments=calls[result.call_id].arguments if result.call_id in calls else "",
            output="\n".join(result.texts) if _pointed(result) is None else result.texts[0],
            call_id=result.call_id,
            seq=message.seq,
            failed=failed.get(result.call_id),
        )
        for place, result in enumerate(read_results(message))
    ]


def _results(message: Message) -> list[Part]:
    return [part for part in read_parts(message) if part.kind is PartKind.RESULT]


def _words(message: Message) -> str:
    if message.role is Role.TOOL:
        return ""
    return "\n".join(part.text for part in read_parts(message) if part.kind is PartKind.TEXT)


def _wordless(steps: Sequence[ReasoningStepRecord]) -> ConversationMessage:
    return ConversationMessage(Role.ASSISTANT.value, "", tuple(steps), steps[-1].seq or None)


def _pointed(result: ResultTexts) -> str | None:
    found = read_pointer(result.texts[0])
    return found.artifact_id if found else None


def _artifact(
    step: ReasoningStepRecord,
    source: str,
    timestamp: datetime,
    stored: Mapping[str, Artifact],
    least_chars: int,
) -> Artifact | None:
    found = read_pointer(step.output)
    if found is not None:
        artifact = stored.get(found.artifact_id)
    else:
        artifact = _measured(step.output, timestamp) if len(step.output) >= least_chars else None
    if artifact is None:
        return None
    subject = step.subject
    facts = {"tool": step.tool, "subject": subject.text, "writes": subject.writes, "seq": step.seq}
    return replace(artifact, source=source, metadata={**artifact.metadata, **facts, "failed": step.failed})


def _measured(content: str, timestamp: datetime, kind: ContentKind | None = None) -> Artifact:
    return Artifact(
        artifact_id=artifact_id_of(content),
        artifact_type=ArtifactType.TOOL_RESULT,
        kind=kind or kind_of(content),
        size_chars=len(content),
        tokens=count_text(content),
        tokens_wide=count_text(content, EncodingName.WIDE),
        source="",
        timestamp=timestamp,
        preview=preview_of(content),
        content=content,
    )


def _unique(artifacts: Iterable[Artifact | None]) -> list[Artifact]:
    known: dict[str, Artifact] = {}
    for artifact in artifacts:
        if artifact is not None:
            known.pop(artifact.artifact_id, None)
            known[artifact.artifact_id] = artifact
    return list(known.values())

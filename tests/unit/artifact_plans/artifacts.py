"""Artifacts for planning tests, made from a text or only said to be of a size."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from context.artifacts.content import artifact_id_of, document_artifact
from context.artifacts.types import Artifact, ArtifactType, ContentKind

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def sized(
    name: str, *, chars: int = 6_000, tokens: int | None = None, preview: str = "", **metadata: object
) -> Artifact:
    """A tool result of this size; a quarter of its characters in tokens where nothing else is said."""
    return Artifact(
        artifact_id=artifact_id_of(name),
        artifact_type=ArtifactType.TOOL_RESULT,
        kind=ContentKind.TEXT,
        size_chars=chars,
        tokens=chars // 4 if tokens is None else tokens,
        source=f"step_1:{name}",
        timestamp=NOW,
        preview=preview,
        metadata=metadata,
    )


def document(content: str, title: str, *, age_days: int = 0, **metadata: object) -> Artifact:
    """A document with its text."""
    made = document_artifact(content, timestamp=NOW - timedelta(days=age_days), title=title)
    return replace(made, metadata={**made.metadata, **metadata})


def result(content: str, source: str, *, age_days: int = 0, **metadata: object) -> Artifact:
    """A tool result with its text."""
    made = document(content, "", age_days=age_days)
    return replace(made, artifact_type=ArtifactType.TOOL_RESULT, source=source, metadata=metadata)

"""Artifacts of documents sent with a request, and the artifacts of all sources together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from context.artifacts.content import artifact_id_of, kind_of, preview_of
from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.tokens import EncodingName, count_text


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

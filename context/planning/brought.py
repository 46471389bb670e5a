"""Planner's view of documents sent as text with a request and stored nowhere else."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from context.artifacts.content import preview_of
from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.types import JsonObject

PREVIEW_CHARS = 600
"""The most characters of a preview: a planner is shown no more of a stored artifact either."""


def dump_brought(artifacts: Iterable[Artifact]) -> list[JsonObject]:
    """Write the planner's view of artifacts whose text is in the request alone.

    Args:
        artifacts: All artifacts of a request; stored artifacts are left out and found by id.
    """
    return [_dumped(artifact) for artifact in artifacts if artifact.content is not None]


def load_brought(stored: Iterable[Mapping[str, Any]], *, at: datetime) -> list[Artifact]:
    """Read the planner's view back: artifacts without their texts.

    Args:
        stored: As written by `dump_brought`.
        at: The time of the request.
    """
    return [
        Artifact(
            **{
                **one,
                "artifact_type": ArtifactType.DOCUMENT,
                "kind": ContentKind(one["kind"]),
                "timestamp": at,
                "metadata": {"attached": True},
            }
        )
        for one in stored
    ]


def _dumped(artifact: Artifact) -> JsonObject:
    return {
        "artifact_id": artifact.artifact_id,
        "kind": artifact.kind.value,
        "title": artifact.title,
        "source": artifact.source,
        "size_chars": artifact.size_chars,
        "tokens": artifact.tokens,
        "tokens_wide": artifact.tokens_wide,
        "preview": preview_of(artifact.preview, PREVIEW_CHARS),
    }

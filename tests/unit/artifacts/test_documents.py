"""Documents become artifacts, and the artifacts of all sources come together."""

from dataclasses import replace
from datetime import UTC, datetime

from context.artifacts.content import all_artifacts, document_artifact
from context.artifacts.types import Artifact, ArtifactType, ContentKind
from context.tokens import count_text

NOW = datetime(2024, 5, 1, tzinfo=UTC)


def test_a_document_is_an_artifact() -> None:
    made = document_artifact('{"a": 1}', timestamp=NOW, title="Report", source="report.json")
    assert (made.source, made.title, made.kind) == ("attachment:report.json", "Report", ContentKind.JSON)
    assert made.artifact_type is ArtifactType.DOCUMENT
    assert (made.size_chars, made.tokens) == (8, count_text('{"a": 1}'))
    assert document_artifact("x", timestamp=NOW, kind=ContentKind.HTML).kind is ContentKind.HTML


def found(text: str, *, is_historical: bool = False) -> Artifact:
    made = document_artifact(text, timestamp=NOW)
    return replace(made, metadata={"historical": True} if is_historical else {})


def test_all_sources_come_together_and_what_is_attached_is_not_historical() -> None:
    historical = [found(text, is_historical=True) for text in ("two", "three", "one")]
    attached = [document_artifact("two", timestamp=NOW, title="Two"), document_artifact("4", timestamp=NOW)]
    together = all_artifacts([found("one")], historical, attached)
    assert [(artifact.content, artifact.is_historical) for artifact in together] == [
        ("one", False),
        ("two", False),
        ("three", True),
        ("4", False),
    ]
    assert all_artifacts([], [], []) == []

"""Values of artifacts: kind, decision, plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ArtifactType(StrEnum):
    """Origins of an artifact."""

    TOOL_RESULT = "tool_result"
    DOCUMENT = "document"


class ContentKind(StrEnum):
    """Kinds of an artifact's text; the kind decides the possible cuts."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    TABLE = "table"
    HTML = "html"
    LOG = "log"
    CODE = "code"
    DIFF = "diff"


class ProcessingStrategy(StrEnum):
    """Treatment of an artifact in one window."""

    INCLUDE_FULL = "include_full"
    SUMMARIZE = "summarize"
    RAG_EXTRACT = "rag_extract"
    EXCLUDE = "exclude"


@dataclass(frozen=True)
class Artifact:
    """A tool result or document, as seen by a plan.

    Attributes:
        artifact_id: `art_` and the first 32 hex digits of the content's SHA-256; one a tenant and content.
        artifact_type: Tool result or document.
        kind: The kind of text.
        size_chars: Length of the whole text, >= 0.
        tokens: The cost in the canonical count, >= 0.
        tokens_wide: The same in the second count; None if not counted.
        source: A source such as `step_1:web_scraper`, `history:msg_3:web_search` or `attachment:report.pdf`.
        timestamp: The time of making, or of arrival.
        preview: The beginning, for a planner and for the pointer left in the message.
        title: The common name; empty for none.
        content: The whole text; None if not loaded.
        metadata: Further facts, such as `historical`, `tool`, `subject`, `seq`.
    """

    artifact_id: str
    artifact_type: ArtifactType
    kind: ContentKind
    size_chars: int
    tokens: int
    source: str
    timestamp: datetime
    preview: str = ""
    title: str = ""
    content: str | None = None
    tokens_wide: int | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_historical(self) -> bool:
        """True if the artifact comes from an earlier turn."""
        return bool(self.metadata.get("historical"))


@dataclass(frozen=True)
class ArtifactDecision:
    """Decision for one artifact.

    Attributes:
        artifact_id: The artifact.
        strategy: The treatment.
        priority: 1 is the highest.
        relevance_rationale: The reason, in a few words.
        summarization_focus: For `summarize`: the focus of the summary.
        extraction_query: For `rag_extract`: the query to look up.
    """

    artifact_id: str
    strategy: ProcessingStrategy
    priority: int
    relevance_rationale: str = ""
    summarization_focus: str | None = None
    extraction_query: str | None = None


@dataclass(frozen=True)
class ArtifactPlan:
    """A complete plan: a decision for every artifact, ordered by priority.

    Attributes:
        artifacts: The decisions.
        reasoning: The planner's reasons; empty for the deterministic plan.
    """

    artifacts: tuple[ArtifactDecision, ...]
    reasoning: str = ""

"""The values of artifacts: what they are, how each is to be used, how it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ArtifactType(StrEnum):
    """Where an artifact comes from."""

    TOOL_RESULT = "tool_result"
    DOCUMENT = "document"


class ContentKind(StrEnum):
    """How an artifact's text is built, which decides where it may be cut."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    TABLE = "table"
    HTML = "html"
    LOG = "log"
    CODE = "code"
    DIFF = "diff"


class ProcessingStrategy(StrEnum):
    """What is done with an artifact in one window."""

    INCLUDE_FULL = "include_full"
    SUMMARIZE = "summarize"
    RAG_EXTRACT = "rag_extract"
    EXCLUDE = "exclude"


@dataclass(frozen=True)
class Artifact:
    """A tool result or document, as a plan sees it.

    Attributes:
        artifact_id: `art_` and the first 32 hex digits of the content's SHA-256; one a tenant and content.
        artifact_type: Tool result or document.
        kind: How its text is built.
        size_chars: Length of the whole text, >= 0.
        tokens: Its cost in the canonical count, >= 0.
        tokens_wide: The same in the second count; None where it was not counted.
        source: Such as `step_1:web_scraper`, `history:msg_3:web_search` or `attachment:report.pdf`.
        timestamp: When it was made, or came in.
        preview: Its beginning, for a planner and for the pointer that stays in the message.
        title: What people call it; empty for nothing.
        content: The whole text; None where it was not loaded.
        metadata: Facts beside it, such as `historical`, `tool`, `subject`, `seq`.
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
        """Whether it comes from an earlier turn."""
        return bool(self.metadata.get("historical"))


@dataclass(frozen=True)
class ArtifactDecision:
    """What is decided for one artifact.

    Attributes:
        artifact_id: Which one.
        strategy: What is done with it.
        priority: 1 is the highest.
        relevance_rationale: Why, in a few words.
        summarization_focus: For `summarize`: what to read it for.
        extraction_query: For `rag_extract`: what to look up.
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
        reasoning: Why, as the planner says it; empty for the deterministic one.
    """

    artifacts: tuple[ArtifactDecision, ...]
    reasoning: str = ""

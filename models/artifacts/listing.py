"""Artifacts of a session for people who look, and an artifact with its latest turn for a worker."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select, text

from context.artifacts.types import ContentKind
from models.artifacts.artifact import ArtifactFacts, find_facts, open_content
from models.artifacts.summary import ArtifactSummary, SummaryKey, open_focus, text_row
from models.encryption.keys import TextCipher
from models.scope import Scope


@dataclass(frozen=True)
class Origin:
    """The latest use of an artifact.

    Attributes:
        session_id: The session.
        seq: The message of the use.
        tool: The called tool; empty when unknown.
    """

    session_id: str
    seq: int
    tool: str


@dataclass(frozen=True)
class ArtifactText:
    """An artifact as read by a worker.

    Attributes:
        artifact_id: Id of the artifact.
        kind: Structure of the text.
        title: Title given by people; empty without a title.
        language: Language of the beginning; empty or "und" when undetermined.
        tokens: Tokens of the whole text.
        content: The whole text.
        indexed_with: Version of the prepared index; None without an index.
    """

    artifact_id: str
    kind: ContentKind
    title: str
    language: str
    tokens: int
    content: str
    indexed_with: int | None


_TEXT = text(
    "select artifact_id, kind, title, language, tokens, content, indexed_with from artifact "
    "where tenant_id = :tenant_id and artifact_id = :artifact_id"
)
_LATEST = text(
    """
    select u.session_id, u.seq, u.tool from artifact_use u
    join session s on s.tenant_id = u.tenant_id and s.session_id = u.session_id and u.seq > s.start_seq
    where u.tenant_id = :tenant_id and u.artifact_id = :artifact_id
    order by u.created_at desc, u.seq desc limit 1
    """
)


def load_text(scope: Scope, artifact_id: str) -> ArtifactText | None:
    """Load an artifact with the whole text; returns None when the artifact is gone."""
    row = scope.execute(_TEXT, artifact_id=artifact_id).one_or_none()
    if row is None:
        return None
    cells = scope.cells
    stored = ArtifactText(row[0], ContentKind(row[1]), *row[2:])
    title = cells.open("artifact.title", stored.title, artifact_id)
    return replace(stored, title=title, content=open_content(cells, artifact_id, stored.content))


def find_origin(scope: Scope, artifact_id: str) -> Origin | None:
    """Find the latest use in the present life of a session; returns None without any such use."""
    row = scope.execute(_LATEST, artifact_id=artifact_id).one_or_none()
    return Origin(*row) if row else None


@dataclass(frozen=True)
class SessionArtifact:
    """An artifact of a session.

    Attributes:
        facts: Facts about the artifact.
        uses: Number of messages of the session with the artifact; 0 for an upload.
        last_seq: The newest such message; None for an upload.
    """

    facts: ArtifactFacts
    uses: int
    last_seq: int | None


@dataclass(frozen=True)
class FocusSummary:
    """A summary for a focus, in any state; attributes as in `ArtifactSummary`."""

    key: SummaryKey
    focus: str
    origin: str
    state: str
    text: str | None
    tokens: int | None
    method: str | None
    rejected_because: str | None
    ready_at: datetime | None
    uses: int


_OF_SESSION = text(
    """
    select artifact_id, sum(uses)::int as uses, max(last_seq) as last_seq from (
        select artifact_id, count(*) as uses, max(seq) as last_seq, max(created_at) as at from artifact_use
        where tenant_id = :tenant_id and session_id = :session_id and artifact_id is not null
        group by artifact_id
        union all
        select artifact_id, 0, null, max(uploaded_at) from artifact_attachment
        where tenant_id = :tenant_id and session_id = :session_id group by artifact_id
    ) found group by artifact_id order by max(at) desc, artifact_id limit :most
    """
)


def list_artifacts(scope: Scope, session_id: str, *, most: int) -> list[SessionArtifact]:
    """List the artifacts of a session's messages and uploads, the newest use first."""
    found = scope.execute(_OF_SESSION, session_id=session_id, most=most).all()
    facts = find_facts(scope, [row.artifact_id for row in found])
    return [
        SessionArtifact(facts[row.artifact_id], row.uses, row.last_seq)
        for row in found
        if row.artifact_id in facts
    ]


_KEY = [getattr(ArtifactSummary, name) for name in SummaryKey.__dataclass_fields__]
_REST = [
    getattr(ArtifactSummary, name)
    for name in ("origin", "state", "text", "tokens", "method", "rejected_because", "ready_at", "uses")
]


def list_focus_summaries(scope: Scope, artifact_ids: Sequence[str], *, most: int) -> list[FocusSummary]:
    """List the newest summaries of artifacts, in any state, with the words of each focus."""
    if not artifact_ids:
        return []
    cells = scope.cells
    rows = scope.db.execute(
        select(*_KEY, ArtifactSummary.focus, *_REST)
        .where(
            ArtifactSummary.tenant_id == scope.tenant_id,
            ArtifactSummary.artifact_id.in_(sorted(artifact_ids)),
        )
        .order_by(ArtifactSummary.created_at.desc(), ArtifactSummary.focus_key)
        .limit(most)
    )
    return [_opened(cells, row) for row in rows]


def _opened(cells: TextCipher, row: Any) -> FocusSummary:
    key = SummaryKey(*row[: len(_KEY)])
    stored = FocusSummary(key, *row[len(_KEY) :])
    focus, _ = open_focus(cells, key, stored.focus, ())
    content = None
    if stored.text is not None:
        content = cells.open("artifact_summary.text", stored.text, *text_row(key))
    return replace(stored, focus=focus, text=content)

"""Reading the focus cache: exact answers to a focus, and candidates for a near focus."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select, true

from models.artifacts.focus_key import key_forms
from models.artifacts.summary import (
    KEY_COLUMNS,
    ArtifactSummary,
    ReadingState,
    SummaryKey,
    answers_for,
    open_focus,
    text_row,
)
from models.database import Transaction
from models.encryption.keys import TextCipher


@dataclass(frozen=True)
class Maker:
    """Summarizer and prompt of the summaries accepted as exact answers.

    Attributes:
        model: The summarizer in force; None for any model.
        prompt_version: Prompt version of the summarizer; None for any version.
    """

    model: str | None = None
    prompt_version: str | None = None

    @property
    def is_known(self) -> bool:
        """True when a model or a prompt version is named, so that summaries by other makers exist."""
        return self != ANYBODY


ANYBODY = Maker()


@dataclass(frozen=True)
class ReadySummary:
    """A ready entry of the focus cache."""

    key: SummaryKey
    focus: str
    terms: Sequence[str]
    text: str
    tokens: int
    tokens_wide: int
    method: str
    call_ids: Sequence[UUID]
    ready_at: datetime


@dataclass(frozen=True)
class Candidate:
    """An entry possibly near to a focus; the text is read by key once the entry is chosen."""

    key: SummaryKey
    focus: str
    terms: Sequence[str]
    tokens: int
    asked_models: Sequence[str] = ()

    def is_of(self, maker: Maker) -> bool:
        """Check whether a maker wrote the entry, or another model answered in the maker's place."""
        models, prompt = (self.key.model, *self.asked_models), maker.prompt_version
        return maker.model in (None, *models) and prompt in (None, self.key.prompt_version)


def _ready(
    tenant_id: UUID,
    artifact_ids: Sequence[str],
    parts: dict[str, str | None],
    ready_by: datetime | None = None,
) -> ColumnElement[bool]:
    """Select the entries in force of the given artifacts; a key part of None matches any value.

    With a time, entries made later do not count.
    """
    asked = [
        answers_for(value) if name == "model" else getattr(ArtifactSummary, name) == value
        for name, value in parts.items()
        if value is not None
    ]
    return and_(
        ArtifactSummary.tenant_id == tenant_id,
        ArtifactSummary.artifact_id.in_(sorted(set(artifact_ids))),
        ArtifactSummary.state == ReadingState.READY,
        ArtifactSummary.expires_at > func.now(),
        true() if ready_by is None else ArtifactSummary.ready_at <= ready_by,
        *asked,
    )


def _made_by(maker: Maker) -> list[ColumnElement[bool]]:
    """List the conditions for an entry written by a maker."""
    prompt = maker.prompt_version
    return [
        answers_for(maker.model) if maker.model else true(),
        ArtifactSummary.prompt_version == prompt if prompt else true(),
    ]


def _asks(cells: TextCipher, focus_key: str) -> ColumnElement[bool]:
    """Select the entries of a focus, for both stored forms of the key."""
    return ArtifactSummary.focus_key.in_(key_forms(cells, focus_key))


_READY_COLUMNS = (
    ArtifactSummary.focus,
    ArtifactSummary.terms,
    ArtifactSummary.text,
    ArtifactSummary.tokens,
    func.coalesce(ArtifactSummary.tokens_wide, ArtifactSummary.tokens),
    func.coalesce(ArtifactSummary.method, ""),
    ArtifactSummary.call_ids,
    ArtifactSummary.ready_at,
)


def find_exact(
    db: Transaction,
    tenant_id: UUID,
    artifact_ids: Sequence[str],
    focus_key: str,
    *,
    size_class: str | None = None,
    language: str | None = None,
    model: str | None = None,
    prompt_version: str | None = None,
    ready_by: datetime | None = None,
) -> dict[str, ReadySummary]:
    """Find the entries for exactly this focus, by artifact; the newest entry wins when None leaves several.

    Args:
        db: A transaction.
        tenant_id: The tenant of the artifacts.
        artifact_ids: The artifacts.
        focus_key: The focus, as named by `context.focus`.
        size_class: Size class; None for any.
        language: Language; None for any.
        model: Model; None for any.
        prompt_version: Prompt version; None for any.
        ready_by: Latest time of the making; None for any.
    """
    if not artifact_ids:
        return {}
    cells = TextCipher(db, tenant_id)
    parts = {
        "size_class": size_class,
        "language": language,
        "model": model,
        "prompt_version": prompt_version,
    }
    rows = db.execute(
        select(*KEY_COLUMNS, *_READY_COLUMNS)
        .where(_ready(tenant_id, artifact_ids, parts, ready_by), _asks(cells, focus_key))
        .order_by(ArtifactSummary.ready_at)
    )
    return {row[0]: _summary(cells, row) for row in rows}


def is_settled(db: Transaction, tenant_id: UUID, key: SummaryKey) -> bool:
    """Check whether a wish needs no work: an answer or a refusal by any model exists.

    A key with a model counts only entries of the model, or of a model that answered in its place. A key with
    a prompt version counts only entries of the prompt version.
    """
    own = [answers_for(key.model)] if key.model else []
    own += [ArtifactSummary.prompt_version == key.prompt_version] if key.prompt_version else []
    settled = select(ArtifactSummary.artifact_id).where(
        ArtifactSummary.tenant_id == tenant_id,
        ArtifactSummary.artifact_id == key.artifact_id,
        _asks(TextCipher(db, tenant_id), key.focus_key),
        ArtifactSummary.size_class == key.size_class,
        ArtifactSummary.language == key.language,
        ArtifactSummary.state != ReadingState.WANTED,
        ArtifactSummary.expires_at > func.now(),
        *own,
    )
    return db.execute(settled.limit(1)).first() is not None


def find_standing(
    db: Transaction, tenant_id: UUID, key: SummaryKey, *, maker: Maker = ANYBODY
) -> tuple[ReadingState, str | None] | None:
    """Find the state of a wish: ready before wanted before rejected.

    Args:
        db: A transaction.
        tenant_id: The tenant of the artifact.
        key: The wish. The prompt version is the version in use now: rejections of older prompts do not count.
        maker: The maker of accepted answers.

    Returns:
        The state, and the reason of a rejection; None for a wish never asked.
    """
    rows = db.execute(
        select(ArtifactSummary.state, ArtifactSummary.rejected_because)
        .where(
            ArtifactSummary.tenant_id == tenant_id,
            ArtifactSummary.artifact_id == key.artifact_id,
            _asks(TextCipher(db, tenant_id), key.focus_key),
            ArtifactSummary.size_class == key.size_class,
            ArtifactSummary.language == key.language,
            ArtifactSummary.expires_at > func.now(),
            or_(
                ArtifactSummary.state != ReadingState.REJECTED,
                ArtifactSummary.prompt_version == key.prompt_version,
            ),
            or_(ArtifactSummary.state == ReadingState.WANTED, and_(*_made_by(maker))),
        )
        .order_by(ArtifactSummary.created_at)
    )
    found = {ReadingState(state): because for state, because in rows}
    order = (ReadingState.READY, ReadingState.WANTED, ReadingState.REJECTED)
    return next(((state, found[state]) for state in order if state in found), None)


def load_ready(db: Transaction, tenant_id: UUID, key: SummaryKey) -> ReadySummary | None:
    """Load an entry; returns None for an entry no longer in force."""
    cells = TextCipher(db, tenant_id)
    row = db.execute(
        select(*KEY_COLUMNS, *_READY_COLUMNS).where(
            key.of_either(cells),
            ArtifactSummary.state == ReadingState.READY,
            ArtifactSummary.expires_at > func.now(),
        )
    ).one_or_none()
    return _summary(cells, row) if row else None


def _summary(cells: TextCipher, row: Any) -> ReadySummary:
    length = len(KEY_COLUMNS)
    key = SummaryKey(*row[:length])
    stored = ReadySummary(key, *row[length:])
    focus, terms = open_focus(cells, key, stored.focus, stored.terms)
    content = cells.open("artifact_summary.text", stored.text, *text_row(key))
    return replace(stored, focus=focus, terms=terms, text=content)


def find_candidates(
    db: Transaction,
    tenant_id: UUID,
    artifact_ids: Sequence[str],
    *,
    size_class: str | None = None,
    language: str | None = None,
    model: str | None = None,
    ready_by: datetime | None = None,
    most: int = 200,
) -> list[Candidate]:
    """Find the entries of artifacts to search for a near focus, the latest used first, without texts."""
    if not artifact_ids:
        return []
    parts = {"size_class": size_class, "language": language, "model": model}
    latest = func.coalesce(ArtifactSummary.used_at, ArtifactSummary.ready_at)
    rows = db.execute(
        select(
            *KEY_COLUMNS,
            ArtifactSummary.focus,
            ArtifactSummary.terms,
            ArtifactSummary.tokens,
            ArtifactSummary.asked_models,
        )
        .where(_ready(tenant_id, artifact_ids, parts, ready_by))
        .order_by(latest.desc())
        .limit(most)
    )
    length = len(KEY_COLUMNS)
    cells = TextCipher(db, tenant_id)
    return [_candidate(cells, SummaryKey(*row[:length]), *row[length:]) for row in rows]


def _candidate(cells: TextCipher, key: SummaryKey, focus: str, terms: Sequence[str], *rest: Any) -> Candidate:
    return Candidate(key, *open_focus(cells, key, focus, terms), *rest)

"""Reading the focus cache: what answers a focus exactly, and among what a near one is looked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select, true

from models.artifact_summary import (
    KEY_COLUMNS,
    ArtifactSummary,
    ReadingState,
    SummaryKey,
    answers_for,
    open_focus,
    text_row,
)
from models.focus_keys import key_forms
from models.session import Transaction
from models.text_keys import Cells


@dataclass(frozen=True)
class Maker:
    """Whose summaries answer exactly.

    Attributes:
        model: The summarizer in force; None for anybody.
        prompt_version: The prompt that it is asked by; None for any.
    """

    model: str | None = None
    prompt_version: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether there can be a summary that it did not make."""
        return self != ANYBODY


ANYBODY = Maker()


@dataclass(frozen=True)
class ReadySummary:
    """An entry that answers its focus."""

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
    """An entry that may be near to a focus; its text is read by its key once it is chosen."""

    key: SummaryKey
    focus: str
    terms: Sequence[str]
    tokens: int
    asked_models: Sequence[str] = ()

    def is_of(self, maker: Maker) -> bool:
        """Whether a maker made it, or another answered in its place."""
        models, prompt = (self.key.model, *self.asked_models), maker.prompt_version
        return maker.model in (None, *models) and prompt in (None, self.key.prompt_version)


def _ready(tenant_id: UUID, artifact_ids: Sequence[str], parts: dict[str, str | None]) -> ColumnElement[bool]:
    """Entries in force of these artifacts; a part of the key that is None may be any."""
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
        *asked,
    )


def _made_by(maker: Maker) -> list[ColumnElement[bool]]:
    """Conditions that an entry is what a maker made."""
    prompt = maker.prompt_version
    return [
        answers_for(maker.model) if maker.model else true(),
        ArtifactSummary.prompt_version == prompt if prompt else true(),
    ]


def _asks(cells: Cells, focus_key: str) -> ColumnElement[bool]:
    """Entries of this focus, whichever way its key is stored."""
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
) -> dict[str, ReadySummary]:
    """The entries that answer exactly this focus, by artifact; the newest where None leaves several.

    Args:
        db: A transaction.
        tenant_id: Whose artifacts.
        artifact_ids: Which ones.
        focus_key: The focus, as `context.focus` names it.
        size_class: Of which size; None for any.
        language: In which language; None for any.
        model: By which model; None for any.
        prompt_version: By which prompt; None for any.
    """
    if not artifact_ids:
        return {}
    cells = Cells(db, tenant_id)
    parts = {
        "size_class": size_class,
        "language": language,
        "model": model,
        "prompt_version": prompt_version,
    }
    rows = db.execute(
        select(*KEY_COLUMNS, *_READY_COLUMNS)
        .where(_ready(tenant_id, artifact_ids, parts), _asks(cells, focus_key))
        .order_by(ArtifactSummary.ready_at)
    )
    return {row[0]: _summary(cells, row) for row in rows}


def is_settled(db: Transaction, tenant_id: UUID, key: SummaryKey) -> bool:
    """Whether a wish needs no work: it is answered, or what was made of it was refused, by any model.

    A key that names its model asks of that one alone, and of those that answered in its place; one that names
    its prompt, of what was made by that.
    """
    own = [answers_for(key.model)] if key.model else []
    own += [ArtifactSummary.prompt_version == key.prompt_version] if key.prompt_version else []
    settled = select(ArtifactSummary.artifact_id).where(
        ArtifactSummary.tenant_id == tenant_id,
        ArtifactSummary.artifact_id == key.artifact_id,
        _asks(Cells(db, tenant_id), key.focus_key),
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
    """Where a wish stands: ready before wanted, and rejected where it is neither.

    Args:
        db: A transaction.
        tenant_id: Whose artifact.
        key: The wish. Its prompt version is that by which it would be asked now: what was rejected of an
            older prompt counts no more.
        maker: Whose answer counts.

    Returns:
        The state, and why it was rejected; None where nobody ever asked.
    """
    rows = db.execute(
        select(ArtifactSummary.state, ArtifactSummary.rejected_because)
        .where(
            ArtifactSummary.tenant_id == tenant_id,
            ArtifactSummary.artifact_id == key.artifact_id,
            _asks(Cells(db, tenant_id), key.focus_key),
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
    """One entry, or None where it is not in force any more."""
    cells = Cells(db, tenant_id)
    row = db.execute(
        select(*KEY_COLUMNS, *_READY_COLUMNS).where(
            key.of_either(cells),
            ArtifactSummary.state == ReadingState.READY,
            ArtifactSummary.expires_at > func.now(),
        )
    ).one_or_none()
    return _summary(cells, row) if row else None


def _summary(cells: Cells, row: Any) -> ReadySummary:
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
    most: int = 200,
) -> list[Candidate]:
    """The entries of artifacts among which a near focus is looked for, the latest used first; no texts."""
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
        .where(_ready(tenant_id, artifact_ids, parts))
        .order_by(latest.desc())
        .limit(most)
    )
    length = len(KEY_COLUMNS)
    cells = Cells(db, tenant_id)
    return [_candidate(cells, SummaryKey(*row[:length]), *row[length:]) for row in rows]


def _candidate(cells: Cells, key: SummaryKey, focus: str, terms: Sequence[str], *rest: Any) -> Candidate:
    return Candidate(key, *open_focus(cells, key, focus, terms), *rest)

"""Summaries of artifacts for a focus, by the current or another maker, and a cache of artifact texts."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from datetime import datetime
from sys import getsizeof
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.cache import TEXT_UNUSED_S, RecentCache
from api.settings import api_settings
from context.artifacts.types import Artifact, ReadingForm
from context.extract import INDEX_VERSION, PassageIndex
from context.focus import Focus, nearest, normalise
from models.artifacts.artifact import load_contents, load_passages
from models.artifacts.summary_lookup import (
    ANYBODY,
    Candidate,
    Maker,
    QuestionKeys,
    ReadySummary,
    StoredForQuestion,
    load_for_question,
    load_ready,
)
from models.database import read_transaction
from models.due_work.heartbeat import ARTIFACT_PROMPT, find_agreed
from models.scope import Scope

log = structlog.get_logger()

KEPT_S = 10.0
"""Lifetime of a cached answer, in seconds: operators change models, requests do not."""


class KnownWorkers:
    """A detail reported by the workers, refreshed from time to time by a request."""

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with an unknown detail of the given name."""
        self._name, self._now = name, now
        self._lock = threading.Lock()
        self._value: str | None = None
        self._until = 0.0

    def find(self) -> str | None:
        """Return the detail if all workers agree; None if workers differ or are missing."""
        if self._now() >= self._until and self._lock.acquire(blocking=False):
            try:
                # It belongs to no tenant, and the one of this call may not read it.
                self._value = Context().run(self._read)
                self._until = self._now() + KEPT_S
            except SQLAlchemyError as error:
                self._until = self._now() + KEPT_S
                log.warning("summarizer_not_read", error=type(error).__name__)
            finally:
                self._lock.release()
        return self._value

    def forget(self) -> None:
        """Drop the cached value."""
        self._value, self._until = None, 0.0

    def _read(self) -> str | None:
        with read_transaction() as db:
            return find_agreed(db, "worker", self._name)


summarizer = KnownWorkers("summarizer")
"""Default summarizer model."""

planner = KnownWorkers("planner")
"""Default planner model."""

prompt = KnownWorkers(ARTIFACT_PROMPT)
"""Version of the prompt for artifact summaries."""


def find_maker(named: str = "") -> Maker:
    """Name the model and prompt of exactly matching summaries.

    Args:
        named: The summarizer named by the request; empty for none.
    """
    return Maker(named or summarizer.find(), prompt.find())


def forget() -> None:
    """Drop the cached details."""
    for known in (summarizer, planner, prompt):
        known.forget()


@dataclass(frozen=True)
class Match:
    """A matching summary, with the quality of the match.

    Attributes:
        how: Exact, or near: for another focus, or by another summarizer.
        summary: The summary.
        similarity: Similarity of the foci, in [0, 1]; 1 for the same focus.
        other_summarizer: True if made by another model or prompt than in force: a new summary is due.
    """

    how: ReadingForm
    summary: ReadySummary
    similarity: float = 1.0
    other_summarizer: bool = False

    @property
    def answers_focus(self) -> bool:
        """True if made for the same focus, by any maker."""
        return self.similarity == 1.0


def find_matches(
    scope: Scope,
    artifact_ids: Sequence[str],
    focus: Focus,
    maker: Maker,
    *,
    ready_by: datetime | None = None,
    stored: StoredForQuestion | None = None,
) -> dict[str, Match]:
    """Find the best summary of each artifact for a focus, if near enough.

    The order: a summary of the maker in force, of another maker for the same focus, for a near focus.

    Args:
        scope: The transaction and its tenant.
        artifact_ids: The artifacts' ids.
        focus: The reader's question.
        maker: The summarizer in force, and its prompt.
        ready_by: Latest time of the making; None for any.
        stored: Summaries read before, used if read for the artifacts and the focus.
    """
    if not artifact_ids:
        return {}
    if stored is None or not stored.serves(focus.key, artifact_ids):
        stored = load_for_question(scope, None, artifact_ids, QuestionKeys(focus.key, ""))
    own = stored.find_exact(artifact_ids, maker, ready_by)
    left = [one for one in artifact_ids if one not in own]
    others = stored.find_exact(left, ANYBODY, ready_by) if maker.is_known else {}
    left = [one for one in left if one not in others]
    return {
        **_near(scope, stored.find_candidates(left, ready_by), focus, maker),
        **{one: Match(ReadingForm.NEAR, summary, other_summarizer=True) for one, summary in others.items()},
        **{one: Match(ReadingForm.EXACT, summary) for one, summary in own.items()},
    }


def _near(scope: Scope, candidates: Sequence[Candidate], focus: Focus, maker: Maker) -> dict[str, Match]:
    chosen: dict[str, tuple[Candidate, float]] = {}
    for artifact_id, by_focus in _by_artifact(candidates, maker).items():
        best = nearest(focus, list(by_focus))
        if best:
            chosen[artifact_id] = by_focus[best[0]], best[1]
    found = load_ready(scope, [one.key for one, _ in chosen.values()])
    return {
        artifact_id: Match(ReadingForm.NEAR, found[one.key], similarity, not one.is_of(maker))
        for artifact_id, (one, similarity) in chosen.items()
        if one.key in found
    }


def _by_artifact(candidates: Sequence[Candidate], maker: Maker) -> dict[str, dict[Focus, Candidate]]:
    """Group candidates by artifact and focus; for the same focus the maker's summary, else the latest one."""
    by_artifact: dict[str, dict[Focus, Candidate]] = {}
    for candidate in candidates:
        of_one = by_artifact.setdefault(candidate.key.artifact_id, {})
        focus = normalise(candidate.focus)
        kept = of_one.get(focus)
        if kept is None or (candidate.is_of(maker) and not kept.is_of(maker)):
            of_one[focus] = candidate
    return by_artifact


ENTRY_BYTES = 64
"""Bytes of an index term beside its letters, and of a tuple place."""


@dataclass(frozen=True)
class CachedText:
    """The whole text of an artifact, with its passages if prepared or cheap to make."""

    content: str
    index: PassageIndex | None

    @property
    def weight_bytes(self) -> int:
        """Estimated memory; a short text's index is several times larger than the text."""
        index = self.index
        if index is None:
            return getsizeof(self.content)
        numbers = (index.tokens, index.salience, index.frame_tokens, index.offsets, index.postings)
        parts = len(index.vocabulary) + 3 * (len(index.pieces) + len(index.frames))
        return getsizeof(self.content) + sum(map(getsizeof, numbers)) + parts * ENTRY_BYTES


class TextCache(RecentCache[str, CachedText]):
    """Cache of recently read texts by artifact id; a text too large for the cache is not kept.

    Access rights of a tenant are checked in the database each time, before any lookup in the cache.
    """

    def __init__(self, most_bytes: int | None = None) -> None:
        """Limit the cache to a size in bytes; None for the size in the settings."""
        super().__init__(self._size, lambda text: text.weight_bytes, TEXT_UNUSED_S)
        self._most_bytes = most_bytes

    def keep(self, key: str, value: CachedText) -> CachedText:
        """Cache a text of at most a quarter of the size. Returns the text."""
        return super().keep(key, value) if value.weight_bytes <= self._size() // 4 else value

    def _size(self) -> int:
        return api_settings().text_cache_bytes if self._most_bytes is None else self._most_bytes


texts = TextCache()

INDEX_AT_ONCE_CHARS = 200_000
"""Longest text indexed during a read, in characters; a longer text waits for the worker's index."""


def load_texts(scope: Scope, wanted: Sequence[Artifact], *, most_bytes: int) -> dict[str, CachedText]:
    """Load the texts of the tenant's artifacts in order, up to a total size.

    Args:
        scope: The transaction and its tenant.
        wanted: The artifacts, just found among the tenant's rows.
        most_bytes: Limit of the total size, in characters; the rest is not read.

    Returns:
        Texts by artifact id.
    """
    found: dict[str, CachedText] = {}
    missing: dict[str, Artifact] = {}
    for artifact in wanted:
        most_bytes -= artifact.size_chars
        if most_bytes < 0:
            break
        known = texts.get(artifact.artifact_id)
        if known is None or known.index is None:
            missing[artifact.artifact_id] = artifact
        else:
            found[artifact.artifact_id] = known
    return found | _read(scope, missing)


def _read(scope: Scope, missing: Mapping[str, Artifact]) -> dict[str, CachedText]:
    if not missing:
        return {}
    contents = load_contents(scope, missing)
    passages = load_passages(scope, missing, version=INDEX_VERSION)
    found = {}
    for artifact_id, content in contents.items():
        index = _index(missing[artifact_id], content, passages.get(artifact_id))
        found[artifact_id] = CachedText(content, index)
        texts.keep(artifact_id, found[artifact_id])
    return found


def _index(artifact: Artifact, content: str, prepared: bytes | None) -> PassageIndex | None:
    if prepared is not None:
        try:
            return PassageIndex.from_bytes(prepared)
        except ValueError:
            log.warning("passage_index_unreadable", artifact_id=artifact.artifact_id)
    return index_now(content, artifact)


def brought_text(tenant_id: UUID, artifact: Artifact, content: str) -> CachedText:
    """Return a request's inline document as a text, cached for the next request.

    The cache is per tenant, so that response times reveal nothing about other tenants' documents.

    Args:
        tenant_id: The request's tenant.
        artifact: The document.
        content: The document's whole text.
    """
    name = f"{tenant_id} {artifact.artifact_id} {artifact.kind.value}"
    known = texts.get(name)
    if known is None:
        known = CachedText(content, index_now(content, artifact))
        texts.keep(name, known)
    return known


def index_now(content: str, artifact: Artifact) -> PassageIndex | None:
    """Index a short text at once; None for a longer text."""
    if len(content) > INDEX_AT_ONCE_CHARS:
        return None
    return PassageIndex.build(content, artifact.kind)

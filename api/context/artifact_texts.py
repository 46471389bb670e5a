"""Cache of artifact texts and passage indexes; content never changes."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import getsizeof
from threading import Lock
from uuid import UUID

import structlog

from api.settings import api_settings
from context.artifacts.types import Artifact
from context.extract import INDEX_VERSION, PassageIndex
from models.artifacts.artifact import load_contents, load_passages
from models.database import Transaction

log = structlog.get_logger()

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
        parts = len(index.vocabulary) + 2 * (len(index.pieces) + len(index.frames))
        return getsizeof(self.content) + sum(map(getsizeof, numbers)) + parts * ENTRY_BYTES


class TextCache:
    """Cache of recently read texts, least recently used dropped first.

    Access rights of a tenant are checked in the database each time, before any lookup in the cache.
    """

    def __init__(self, most_bytes: int | None = None) -> None:
        """Limit the cache to a size in bytes; None for the size in the settings."""
        self._known: OrderedDict[str, CachedText] = OrderedDict()
        self._bytes = 0
        self._most = most_bytes
        self._lock = Lock()

    def find(self, artifact_id: str) -> CachedText | None:
        """Find a text in the cache."""
        with self._lock:
            found = self._known.get(artifact_id)
            if found is not None:
                self._known.move_to_end(artifact_id)
            return found

    def keep(self, artifact_id: str, text: CachedText) -> None:
        """Cache a text; a text too large for the cache is not kept."""
        most = api_settings().text_cache_bytes if self._most is None else self._most
        size = text.weight_bytes
        if size > most // 4:
            return
        with self._lock:
            old = self._known.pop(artifact_id, None)
            self._bytes += size - (old.weight_bytes if old else 0)
            self._known[artifact_id] = text
            while self._bytes > most:
                _, out = self._known.popitem(last=False)
                self._bytes -= out.weight_bytes


texts = TextCache()

INDEX_AT_ONCE_CHARS = 200_000
"""Longest text indexed during a read, in characters; a longer text waits for the worker's index."""


def load_texts(
    db: Transaction, tenant_id: UUID, wanted: Sequence[Artifact], *, most_bytes: int
) -> dict[str, CachedText]:
    """Load the texts of the tenant's artifacts in order, up to a total size.

    Args:
        db: A transaction.
        tenant_id: The artifacts' tenant.
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
        known = texts.find(artifact.artifact_id)
        if known is None or known.index is None:
            missing[artifact.artifact_id] = artifact
        else:
            found[artifact.artifact_id] = known
    return found | _read(db, tenant_id, missing)


def _read(db: Transaction, tenant_id: UUID, missing: Mapping[str, Artifact]) -> dict[str, CachedText]:
    if not missing:
        return {}
    contents = load_contents(db, tenant_id, missing)
    passages = load_passages(db, tenant_id, missing, version=INDEX_VERSION)
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
    known = texts.find(name)
    if known is None:
        known = CachedText(content, index_now(content, artifact))
        texts.keep(name, known)
    return known


def index_now(content: str, artifact: Artifact) -> PassageIndex | None:
    """Index a short text at once; None for a longer text."""
    if len(content) > INDEX_AT_ONCE_CHARS:
        return None
    return PassageIndex.build(content, artifact.kind)

"""Inputs of a window: the newest raw messages, the notes before, cached counts."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from uuid import UUID

from api.cache import TEXT_UNUSED_S, FreshCache, RecentCache
from api.http.values import encode
from api.settings import api_settings
from context.tokens import Count, guarantee
from context.tokens.budget import Budget
from context.tokens.message import count_of, counted_now
from context.tokens.tools import ToolCount
from context.types import JsonObject, Message, Role
from context.window.assemble import ActiveSummary, Unread
from context.window.emergency import with_note
from context.window.types import new_message, notes_message
from context.wire.parts import without_compaction
from models.conversations.history import load_newest
from models.conversations.session_state import COUNTS_REVISION, SessionState
from models.conversations.standing import SessionSnapshot
from models.read_ahead import NewestMessages, ReadAhead
from models.scope import Scope
from models.telemetry.tracing import span

MIN_READ, MAX_READ = 64, 2_000
"""Fewest and most messages of a query."""

MORE_THAN_AVERAGE = 1.3
"""Factor on the messages that fill the budget on average."""

MOST_MESSAGES, MOST_TOKENS = 5_000, 2_000_000
"""End of reading without a turn's start: a turn of such a size is left out whole."""


MESSAGE_BYTES = 3_000
"""Approximate memory of a message beside its text."""

TEXT_COPIES = 4
"""Approximate memory of a message's text, read as JSON, against its length."""


@dataclass(frozen=True)
class _KnownMessages:
    """Messages of a session by number, of reads since a time."""

    since: float
    by_seq: dict[int, Message]


class RecentMessages:
    """Newest messages of recently read sessions, so that nothing of a message is found out twice.

    The messages are read from the database each time, and opened with the tenant's key: only those that are
    equal in all parts are exchanged for the ones that were read before. A message that no read found again
    leaves the process in twice `TEXT_UNUSED_S`, since it may have been erased.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._kept = RecentCache[tuple[UUID, str], _KnownMessages](self._size, self._weigh, TEXT_UNUSED_S)

    def again(self, session: tuple[UUID, str], read: Sequence[Message], *, after_seq: int) -> list[Message]:
        """Exchange messages for those read before, and keep them for the next read.

        Args:
            session: The tenant, and the session.
            read: Messages of the session, just read.
            after_seq: Earlier messages of the session are forgotten.
        """
        now = time.monotonic()
        kept = self._kept.get(session) or _KnownMessages(now, {})
        known, is_old = kept.by_seq, now - kept.since > TEXT_UNUSED_S
        found = [before if (before := known.get(one.seq)) == one else one for one in read]
        if is_old or any(one is not known.get(one.seq) for one in found):
            others = {} if is_old else {seq: one for seq, one in known.items() if seq > after_seq}
            kept = _KnownMessages(now if is_old else kept.since, others | {one.seq: one for one in found})
            if self._weigh(kept) <= self._size() // 4:
                self._kept.keep(session, kept)
        return found

    @staticmethod
    def _weigh(kept: _KnownMessages) -> float:
        return sum(MESSAGE_BYTES + TEXT_COPIES * len(one.raw) for one in kept.by_seq.values())

    @staticmethod
    def _size() -> int:
        return api_settings().message_cache_bytes


recent = RecentMessages()


@dataclass(frozen=True)
class Tail:
    """The newest raw messages of a session.

    Attributes:
        messages: Oldest first.
        unread: Older ones that were not read.
    """

    messages: Sequence[Message] = ()
    unread: Unread | None = None


def load_tail(
    tenant_id: UUID,
    standing: SessionSnapshot | None,
    model: str,
    budget: Budget,
    ahead: ReadAhead | None = None,
) -> Tail:
    """Read the newest raw messages, as many as the budget may take."""
    if standing is None:
        return Tail()
    with span("load tail") as step, Scope.read(tenant_id) as scope:
        newest = ahead.newest if ahead else None
        tail = Tail(*read_tail(scope, standing, model, budget, newest=newest))
        step.tell(afterturn__messages=len(tail.messages))
        return tail


def read_tail(
    scope: Scope,
    standing: SessionSnapshot,
    model: str,
    budget: Budget,
    *,
    newest: NewestMessages | None = None,
) -> tuple[list[Message], Unread | None]:
    """Read raw messages from the newest back until the window is full, and a turn's start is included.

    Messages that were read ahead are not read again.

    Returns:
        The messages, oldest first, and the unread older messages. A message kept by an emergency comes before
        the others.
    """
    session = standing.session
    after, up_to = session.tail_from, session.last_seq
    tail: list[Message] = []
    most = _rows_to_fill(session, budget)
    while up_to > after and not _is_enough(tail, model, budget):
        bounds = {"after_seq": after, "up_to_seq": up_to, "most": most}
        known = newest.find(**bounds) if newest else None
        part = load_newest(scope, session.session_id, **bounds) if known is None else known
        if session.counts_revision < COUNTS_REVISION:
            part = list(map(counted_now, part))
        part = recent.again((scope.tenant_id, session.session_id), part, after_seq=after)
        up_to = part[0].seq - 1 if len(part) == most else after
        tail = _without_compactions(part) + tail
    left_out = session.left_out
    if up_to > after:
        tokens = session.raw_tokens - sum(message.tokens for message in tail)
        return tail, Unread(after + 1, up_to, None if left_out else max(tokens, 0))
    if left_out and left_out.kept_seq:
        kept = left_out.kept_seq
        tail = [
            *load_newest(scope, session.session_id, after_seq=kept - 1, up_to_seq=kept, most=1),
            *tail,
        ]
    if standing.compacted and standing.compacted.after:
        tail = [standing.compacted.after, *tail]
    return tail, None


def _without_compactions(messages: Sequence[Message]) -> list[Message]:
    """Leave out compactions: the one in force comes before the turns, and no other stands for anything."""
    kept = (without_compaction(message) if message.compaction else message for message in messages)
    return [message for message in kept if message is not None]


def _is_enough(tail: Sequence[Message], model: str, budget: Budget) -> bool:
    if not tail:
        return False
    count = count_of(tail)
    if len(tail) >= MOST_MESSAGES or count.tokens >= MOST_TOKENS:
        return True
    return guarantee(count, model) > budget.input_tokens and any(message.starts_turn for message in tail)


def _rows_to_fill(session: SessionState, budget: Budget) -> int:
    """Estimate the rows needed to fill the budget, by the session's average, and slightly more."""
    average = max(session.raw_tokens / max(session.raw_messages, 1), 1)
    return min(max(int(budget.input_tokens / average * MORE_THAN_AVERAGE), MIN_READ), MAX_READ)


def notes_of(standing: SessionSnapshot | None) -> ActiveSummary | None:
    """Return the summary in force, with the note of a later emergency."""
    if standing is None:
        return None
    notes, left_out = summary_notes(standing), standing.session.left_out
    notes = with_note(notes, left_out) if left_out else notes
    if notes is None:
        return None
    known = counts.find(_digest(f"{notes.from_seq}-{notes.to_seq}", notes.words), lambda: _count_notes(notes))
    return replace(notes, tokens=known.tokens, tokens_wide=known.wide)


def summary_notes(standing: SessionSnapshot | None) -> ActiveSummary | None:
    """Return the summary in force alone, not counted yet."""
    found = standing.summary if standing else None
    if found is None:
        return None
    return ActiveSummary(found.version, found.from_seq, found.to_seq, found.text, tainted=found.tainted)


def _count_notes(notes: ActiveSummary) -> Count:
    return count_of([notes_message(notes)])


def system_message(text: str | None) -> Message | None:
    """Build the system prompt's message; None for a blank prompt."""
    if text is None or not text.strip():
        return None
    body = {"role": "system", "content": text}
    known = counts.find(_digest("system", text), lambda: count_of([new_message(body, Role.SYSTEM)]))
    return new_message(body, Role.SYSTEM, tokens=known.tokens, tokens_wide=known.wide)


def count_tool(tool: JsonObject) -> ToolCount:
    """Count a tool definition, once: requests send other choices of the same tools."""
    return tool_counts.find(_tool_digest(tool), lambda: ToolCount.of(tool))


def _tool_digest(tool: JsonObject) -> bytes:
    return hashlib.sha256(encode(tool)).digest()


def _digest(kind: str, text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


counts = FreshCache[bytes, Count](lambda: inf, most=20_000)
"""Counts of long repeated texts by their digests."""

tool_counts = FreshCache[bytes, ToolCount](lambda: inf, most=20_000)
"""Counts of tools by their digests."""

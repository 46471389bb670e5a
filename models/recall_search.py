"""The search of recall: a few indexed reads, whatever the length of the session."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import Any

from sqlalchemy import text

from context.recall.passages import Passage
from context.recall.ranking import Hit, RecallStats, find_ranges, weigh_terms
from context.recall.words import query_terms
from models.recall import RecallKey
from models.session import Transaction

MAX_HITS = 300
"""The most passages that a search for rare terms reads."""

_PAIR_TERMS = 3
_PAIR_HITS = 100
_RECENT_TOKENS = 200_000
_RECENT_HITS = 200
_STRETCH_PASSAGES = 1000

_COUNTS = text("""
    select progress.passages, progress.tokens, term.key, term.passages
    from recall_progress progress
    left join recall_term term
        on term.tenant_id = progress.tenant_id and term.session_id = progress.session_id
        and term.start_seq = progress.start_seq and term.key = any(cast(:keys as bigint[]))
    where progress.tenant_id = :tenant_id and progress.session_id = :session_id
        and progress.start_seq = :start_seq
""")
# The keys are the session's own: searched alone, they lead to few rows by the one right index.
_WITH_ANY = text("""
    with found as materialized (
        select tenant_id, session_id, start_seq, seq, start, tokens, keys
        from recall_passage where keys && cast(:keys as bigint[]) limit :most
    )
    select start, tokens, keys from found
    where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
        and seq <= :through_seq
""")
_WITH_ALL = text(_WITH_ANY.text.replace("&&", "@>"))
_LATEST = text("""
    select start, tokens, keys from recall_passage
    where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
        and keys @> cast(:keys as bigint[]) and seq <= :through_seq and start > :after
    order by start desc limit :most
""")
_STRETCHES = text("""
    select stretch.*
    from unnest(cast(:firsts as bigint[]), cast(:lasts as bigint[])) wanted (first, last)
    cross join lateral (
        select seq, turn_index, line, part, parts, speaker, body, start, tokens, keys as term_keys
        from recall_passage
        where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
            and seq <= :through_seq and start between wanted.first and wanted.last
        order by start limit :most
    ) stretch
    order by start
""")


@dataclass(frozen=True)
class FoundPassages:
    """What a search found: passages in the order of the session, and the session's counts."""

    passages: list[Passage]
    stats: RecallStats


def find_passages(
    db: Transaction, index: RecallKey, query: str, *, through_seq: int, max_tokens: int
) -> FoundPassages:
    """Find the passages that may bear on a query, with a bounded amount of work.

    Args:
        db: Where to read.
        index: Whose passages.
        query: The new message.
        through_seq: The last message that may be found: what comes after it is in the window.
        max_tokens: How much is wanted; two to four times as much is loaded.

    Returns:
        Passages for `select_recall`; none where the session has none of the query's terms.
    """
    keys = index.term_keys(query_terms(query))
    if not keys or max_tokens <= 0:
        return FoundPassages([], RecallStats(0, {}))
    stats, tokens = _count(db, index, keys)
    weights = weigh_terms(list(keys), stats)
    if not weights:
        return FoundPassages([], stats)
    search = _Search(db, index, through_seq, {keys[term]: term for term in weights})
    hits = search.hits(_rare_keys(stats, keys, weights), from_start=tokens - _RECENT_TOKENS)
    ranges = find_ranges(hits, weights, max_tokens=max_tokens)
    return FoundPassages(search.load(ranges) if ranges else [], stats)


def _count(db: Transaction, index: RecallKey, keys: Mapping[str, int]) -> tuple[RecallStats, int]:
    """Read in how many passages each term occurs, and how many tokens the session's passages have."""
    rows = db.execute(_COUNTS, {**index.columns(), "keys": list(keys.values())}).all()
    passages, tokens = rows[0][:2] if rows else (0, 0)
    found = {row[2]: row[3] for row in rows}
    return RecallStats(passages, {term: found.get(key, 0) for term, key in keys.items()}), tokens


def _rare_keys(stats: RecallStats, keys: Mapping[str, int], weights: Mapping[str, float]) -> list[int]:
    """The rarest terms, as many as lead to no more than `MAX_HITS` passages together."""
    totals = accumulate(stats.frequencies[term] for term in weights)
    return [keys[term] for term, total in zip(weights, totals, strict=True) if total <= MAX_HITS]


@dataclass(frozen=True)
class _Search:
    """One search: where, how far, and for which keys of which terms, the rarest first."""

    db: Transaction
    index: RecallKey
    through_seq: int
    asked: Mapping[int, str]

    def hits(self, rare: list[int], *, from_start: int) -> list[Hit]:
        """Find all passages with a rare term; where none is rare, those where two meet, and the latest."""
        if rare:
            rows = self._run(_WITH_ANY, keys=rare, most=2 * MAX_HITS)
        else:
            common = list(self.asked)
            rows = self._run(_LATEST, keys=common[:1], after=from_start, most=_RECENT_HITS)
            for pair in combinations(common[:_PAIR_TERMS], 2):
                rows += self._run(_WITH_ALL, keys=list(pair), most=_PAIR_HITS)
        found = {start: Hit(start, tokens, self._terms(keys)) for start, tokens, keys in rows}
        return [found[start] for start in sorted(found)]

    def load(self, ranges: Sequence[tuple[int, int]]) -> list[Passage]:
        """Load the passages that start in the ranges, in order."""
        firsts, lasts = zip(*ranges, strict=True)
        rows = self._run(_STRETCHES, firsts=list(firsts), lasts=list(lasts), most=_STRETCH_PASSAGES)
        return [_passage(row, self._terms(row.term_keys)) for row in rows]

    def _run(self, statement: Any, **parameters: Any) -> list[Any]:
        values = {**self.index.columns(), "through_seq": self.through_seq, **parameters}
        return list(self.db.execute(statement, values))

    def _terms(self, keys: Sequence[int]) -> frozenset[str]:
        return frozenset(self.asked[key] for key in keys if key in self.asked)


def _passage(row: Any, terms: frozenset[str]) -> Passage:
    return Passage(
        seq=row.seq,
        turn_index=row.turn_index,
        line=row.line,
        part=row.part,
        parts=row.parts,
        speaker=row.speaker,
        text=row.body,
        start=row.start,
        tokens=row.tokens,
        terms=terms,
    )

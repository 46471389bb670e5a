"""The search of recall: a few indexed reads, whatever the length of the session."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, combinations
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, outerjoin, select, true

from context.recall.passages import Passage
from context.recall.ranking import Hit, RecallStats, find_ranges, weigh_terms
from context.recall.words import query_terms
from models.recall import RecallKey, RecallPassage, RecallProgress, RecallTerm, big_array
from models.session import Transaction

MAX_HITS = 300
"""The most passages that one search for rare terms reads, whatever the length of the session."""

_PAIR_TERMS = 3
_PAIR_HITS = 100
_RECENT_TOKENS = 200_000
_RECENT_HITS = 200
_STRETCH_PASSAGES = 1000
_FACTS = tuple(field.name for field in fields(Passage) if field.name != "terms")


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
        max_tokens: How much is wanted; about twice as much is loaded.

    Returns:
        Passages for `select_recall`; none where the session has none of the query's terms.
    """
    keys = index.term_keys(query_terms(query))
    stats, tokens = _find_stats(db, index, keys)
    weights = weigh_terms(list(keys), stats)
    if not weights or max_tokens <= 0:
        return FoundPassages([], stats)
    wanted = {term: keys[term] for term in weights}
    asked = {key: term for term, key in wanted.items()}
    probes = _probes(index, stats, wanted, through_seq=through_seq, end=tokens)
    ranges = find_ranges(_find_hits(db, probes, asked), weights, max_tokens=max_tokens)
    return FoundPassages(_load(db, index, ranges, asked, through_seq) if ranges else [], stats)


def _find_stats(db: Transaction, index: RecallKey, keys: Mapping[str, int]) -> tuple[RecallStats, int]:
    """Read the counts, and how many tokens the session's passages have."""
    term = and_(index.of(RecallTerm), RecallTerm.key == func.any(big_array(list(keys.values()))))
    rows = db.execute(
        select(RecallProgress.passages, RecallProgress.tokens, RecallTerm.key, RecallTerm.passages)
        .select_from(outerjoin(RecallProgress, RecallTerm, term))
        .where(index.of(RecallProgress))
    ).all()
    passages, tokens = rows[0][:2] if rows else (0, 0)
    found = {row[2]: row[3] for row in rows}
    return RecallStats(passages, {name: found.get(key, 0) for name, key in keys.items()}), tokens


def _find_hits(db: Transaction, probes: Iterable[Select[Any]], asked: Mapping[int, str]) -> list[Hit]:
    found: dict[int, Hit] = {}
    for probe in probes:
        for start, tokens, keys in db.execute(probe):
            found[start] = Hit(start, tokens, frozenset(asked[key] for key in keys if key in asked))
    return [found[start] for start in sorted(found)]


def _probes(
    index: RecallKey, stats: RecallStats, keys: Mapping[str, int], *, through_seq: int, end: int
) -> list[Select[Any]]:
    """Ask for all passages with a rare term; where none is rare, for where two meet, and for the latest."""
    totals = accumulate(stats.frequencies[term] for term in keys)
    rare = [key for key, total in zip(keys.values(), totals, strict=True) if total <= MAX_HITS]
    if rare:
        return [_by_keys(index, RecallPassage.keys.overlap(big_array(rare)), through_seq, 2 * MAX_HITS)]
    common = list(keys.values())
    pairs = combinations(common[:_PAIR_TERMS], 2)
    return [
        _latest(index, common[0], through_seq, end - _RECENT_TOKENS),
        *(
            _by_keys(index, RecallPassage.keys.contains(big_array(pair)), through_seq, _PAIR_HITS)
            for pair in pairs
        ),
    ]


def _by_keys(index: RecallKey, match: ColumnElement[bool], through_seq: int, limit: int) -> Select[Any]:
    """Search the keys first: only they lead to few rows, and they are the session's own already."""
    table = RecallPassage.__table__.c
    names = ("tenant_id", "session_id", "generation", "seq", "start", "tokens", "keys")
    found = (
        select(*(table[name] for name in names))
        .where(match)
        .limit(limit)
        .cte()
        .prefix_with("materialized", dialect="postgresql")
    )
    return select(found.c.start, found.c.tokens, found.c["keys"]).where(
        found.c.tenant_id == index.tenant_id,
        found.c.session_id == index.session_id,
        found.c.generation == index.generation,
        found.c.seq <= through_seq,
    )


def _latest(index: RecallKey, key: int, through_seq: int, from_start: int) -> Any:
    return (
        select(RecallPassage.start, RecallPassage.tokens, RecallPassage.keys)
        .where(
            index.of(RecallPassage),
            RecallPassage.keys.contains(big_array([key])),
            RecallPassage.seq <= through_seq,
            RecallPassage.start > from_start,
        )
        .order_by(RecallPassage.start.desc())
        .limit(_RECENT_HITS)
    )


def _load(
    db: Transaction,
    index: RecallKey,
    ranges: Sequence[tuple[int, int]],
    asked: Mapping[int, str],
    through_seq: int,
) -> list[Passage]:
    table = RecallPassage.__table__.c
    facts = [table["body" if name == "text" else name] for name in _FACTS]
    wanted = select(
        func.unnest(big_array([first for first, _ in ranges])).label("first"),
        func.unnest(big_array([last for _, last in ranges])).label("last"),
    ).subquery()
    stretch = (
        select(*facts, table["keys"])
        .where(
            index.of(RecallPassage),
            RecallPassage.seq <= through_seq,
            RecallPassage.start.between(wanted.c.first, wanted.c.last),
        )
        .order_by(RecallPassage.start)
        .limit(_STRETCH_PASSAGES)
        .lateral()
    )
    rows = db.execute(select(stretch).select_from(wanted.join(stretch, true())))
    passages = [_passage(row, asked) for row in rows]
    return sorted(passages, key=lambda passage: passage.start)


def _passage(row: Any, asked: Mapping[int, str]) -> Passage:
    *facts, keys = row
    terms = frozenset(asked[key] for key in keys if key in asked)
    return Passage(**dict(zip(_FACTS, facts, strict=True)), terms=terms)

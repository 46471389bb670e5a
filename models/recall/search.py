"""The search of recall: a few indexed reads, for any length of the session."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from context.recall.passages import Passage
from context.recall.ranking import MAX_TERMS, Hit, RecallStats, find_ranges, weigh_terms
from context.text.terms import query_terms
from models.base import read_rows
from models.database import Transaction
from models.driver_statement import DriverStatement
from models.encryption.keys import TextCipher
from models.recall.index import RecallKey, find_secret, passage_row

MAX_HITS = 300
"""Maximum number of passages read by a search for rare terms."""

_PAIR_TERMS = 3
_PAIR_HITS = 100
_RECENT_TOKENS = 200_000
_RECENT_HITS = 200
_STRETCH_PASSAGES = 1000

# Which of the terms asked for a passage has: a bit each, since reading its keys back would cost more.
ASKED = """(
    select bit_or(1 << (place - 1))
    from unnest(cast(:asked as bigint[]), cast(:bits as int[])) term (key, place)
    where key = any({keys})
)"""
# The keys are the session's own: searched alone, they lead to few rows by the one right index.
_BY_KEYS = """
    with found as materialized (
        select tenant_id, session_id, start_seq, seq, start, tokens, keys
        from recall_passage where keys @> cast(:keys as bigint[]) limit :most
    )
    select start, tokens, {asked} from found
    where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
        and seq <= :through_seq
"""
_WITH_ALL = DriverStatement(_BY_KEYS.format(asked=ASKED.format(keys="found.keys")))
# The counts decide which terms are rare: read in the same statement, they cost no round trip of their own.
_FIRST = DriverStatement("""
    with counted as (
        select key, passages from recall_term
        where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
            and key = any(cast(:keys as bigint[]))
    ), ranked as (
        select key, passages, cast(row_number() over (order by passages, place) as int) as rank
        from unnest(cast(:keys as bigint[])) with ordinality asked (key, place) join counted using (key)
        where passages > 0
    ), rare as (
        select array_agg(key) as keys
        from (select key, sum(passages) over (order by rank) as total from ranked where rank <= :terms) known
        where total <= :rare_passages
    ), found as materialized (
        select tenant_id, session_id, start_seq, seq, start, tokens, keys
        from recall_passage where keys && (select keys from rare) limit :most
    ), hits as (
        select start, tokens, (
            select bit_or(1 << (rank - 1)) from ranked where rank <= :terms and key = any(found.keys)
        ) as bits
        from found
        where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
            and seq <= :through_seq
    )
    select passages, tokens, through_seq,
        cast((select json_agg(json_build_array(key, passages)) from counted) as text),
        cast((select json_agg(json_build_array(start, tokens, bits) order by start) from hits) as text)
    from recall_progress
    where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
""")
_LATEST = DriverStatement(f"""
    select start, tokens, {ASKED.format(keys="recall_passage.keys")} from recall_passage
    where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
        and keys @> cast(:keys as bigint[]) and seq <= :through_seq and start > :after
    order by start desc limit :most
""")  # noqa: S608 (parts of our own)
_STRETCHES = DriverStatement(f"""
    select stretch.seq, stretch.turn_index, line, part, parts, speaker, body, start, stretch.tokens,
        {ASKED.format(keys="stretch.keys")}, turn.completed_at
    from unnest(cast(:firsts as bigint[]), cast(:lasts as bigint[])) wanted (first, last)
    cross join lateral (
        select * from recall_passage
        where tenant_id = :tenant_id and session_id = :session_id and start_seq = :start_seq
            and seq <= :through_seq and start between wanted.first and wanted.last
        order by start limit :most
    ) stretch
    left join turn
        on turn.tenant_id = stretch.tenant_id and turn.session_id = stretch.session_id
        and turn.turn_index = stretch.turn_index
    order by start
""")  # noqa: S608 (parts of our own)


@dataclass(frozen=True)
class FoundPassages:
    """Result of a search.

    Attributes:
        passages: Passages in the order of the session.
        stats: The session's counts.
        weights: Weights of the question's terms.
        indexed_through: Last indexed message; the maximum without a question.
    """

    passages: list[Passage]
    stats: RecallStats
    weights: dict[str, float] = field(default_factory=dict)
    indexed_through: int = sys.maxsize


def find_passages(
    db: Transaction, index: RecallKey, query: str, *, through_seq: int, max_tokens: int
) -> FoundPassages:
    """Find the passages possibly relevant to a query, with a bounded amount of work.

    Args:
        db: A connection.
        index: Key of the index.
        query: The new message.
        through_seq: Last message to find: later messages are in the window.
        max_tokens: Wanted tokens; two to four times as many are loaded.

    Returns:
        Passages for `choose_blocks`; none when the session has none of the query's terms.
    """
    terms = query_terms(query)
    if not terms or max_tokens <= 0:
        return FoundPassages([], RecallStats(0, {}))
    keys = index.term_keys(terms, find_secret(db, index))
    first = _read_first(db, index, keys, through_seq)
    weights = weigh_terms(list(keys), first.stats)
    if not weights:
        return FoundPassages([], first.stats, indexed_through=first.through_seq)
    search = _Search(db, index, through_seq, {keys[term]: term for term in weights})
    is_rare = first.stats.frequencies[next(iter(weights))] <= MAX_HITS
    hits = (
        search.read(first.hits) if is_rare else search.common_hits(from_start=first.tokens - _RECENT_TOKENS)
    )
    ranges = find_ranges(hits, weights, max_tokens=max_tokens)
    return FoundPassages(search.load(ranges) if ranges else [], first.stats, weights, first.through_seq)


@dataclass(frozen=True)
class _First:
    """Counts of an index for a question, and the passages with a rare term.

    Attributes:
        stats: Number of passages, and of passages with each term.
        tokens: Tokens of all passages.
        through_seq: Last indexed message.
        hits: Start, tokens and terms of the passages with a rare term: the rarest terms that have at most
            `MAX_HITS` passages together.
    """

    stats: RecallStats
    tokens: int = 0
    through_seq: int = 0
    hits: Sequence[Sequence[Any]] = ()


def _read_first(db: Transaction, index: RecallKey, keys: Mapping[str, int], through_seq: int) -> _First:
    limits = {"terms": MAX_TERMS, "rare_passages": MAX_HITS, "most": 2 * MAX_HITS}
    asked = {**index.columns(), **limits, "keys": list(keys.values()), "through_seq": through_seq}
    rows = _FIRST.rows(db, asked)
    if not rows:
        return _First(RecallStats(0, dict.fromkeys(keys, 0)))
    [(passages, tokens, indexed_through, counted, hits)] = rows
    frequencies = {row[0]: row[1] for row in read_rows(counted)}
    counts = {term: frequencies.get(key, 0) for term, key in keys.items()}
    return _First(RecallStats(passages, counts), tokens, indexed_through, read_rows(hits))


class _Search:
    """A search: index, range and terms, the rarest first."""

    def __init__(self, db: Transaction, index: RecallKey, through_seq: int, asked: Mapping[int, str]) -> None:
        self._db, self._index = db, index
        self._common = list(asked)
        bits = list(range(1, len(asked) + 1))
        self._values = {**index.columns(), "through_seq": through_seq, "asked": self._common, "bits": bits}
        self._terms = Terms(asked.values())

    def read(self, rows: Iterable[Sequence[Any]]) -> list[Hit]:
        """Read the hits of rows, in the order of the session."""
        found = {start: Hit(start, tokens, self._terms[bits]) for start, tokens, bits in rows}
        return [found[start] for start in sorted(found)]

    def common_hits(self, *, from_start: int) -> list[Hit]:
        """Find passages with two of the terms, and the latest; for a question without rare terms."""
        rows = self._run(_LATEST, keys=self._common[:1], after=from_start, most=_RECENT_HITS)
        for pair in combinations(self._common[:_PAIR_TERMS], 2):
            rows += self._run(_WITH_ALL, keys=list(pair), most=_PAIR_HITS)
        return self.read(rows)

    def load(self, ranges: Sequence[tuple[int, int]]) -> list[Passage]:
        """Load the passages starting in the ranges, in order."""
        firsts, lasts = zip(*ranges, strict=True)
        rows = self._run(_STRETCHES, firsts=list(firsts), lasts=list(lasts), most=_STRETCH_PASSAGES)
        cells, index, terms = TextCipher(self._db, self._index.tenant_id), self._index, self._terms
        found = []
        for seq, turn_index, line, part, parts, speaker, body, start, tokens, asked, completed_at in rows:
            place = passage_row(index, start)
            name = cells.open("recall_passage.speaker", speaker, *place)
            words = cells.open("recall_passage.body", body, *place)
            said_on = completed_at.date() if completed_at else None
            said = (name, words, start, tokens, terms[asked], said_on)
            found.append(Passage(seq, turn_index, line, part, parts, *said))
        return found

    def _run(self, statement: DriverStatement, **parameters: Any) -> list[tuple[Any, ...]]:
        return statement.rows(self._db, {**self._values, **parameters})


class Terms(dict[int | None, frozenset[str]]):
    """Sets of terms by bits; few sets occur, and each is made once."""

    def __init__(self, asked: Iterable[str]) -> None:
        super().__init__({None: frozenset()})
        self._asked = list(asked)

    def __missing__(self, bits: int) -> frozenset[str]:
        terms = frozenset(term for place, term in enumerate(self._asked) if bits >> place & 1)
        return self.setdefault(bits, terms)

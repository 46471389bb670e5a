"""The search of recall across the sessions of a user: bounded reads, for any number of sessions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, combinations
from typing import Any

from sqlalchemy import text

from context.recall.passages import Passage
from context.recall.ranking import Hit, RecallStats, find_ranges, weigh_terms
from context.text.terms import query_terms
from models.database import Transaction
from models.encryption.keys import TextCipher
from models.recall.index import RecallKey, passage_row
from models.recall.search import ASKED, FoundPassages, Terms
from models.recall.user import SAMPLES, UserKey

MOST_COUNTED = 100
"""Maximum count of a term's passages; a term with more passages is common."""

MOST_HITS = 150
"""Maximum number of passages read by a search for rare terms."""

_ENOUGH_SAMPLES = 16
"""Passages of a term in a sample of 16 that make the term common: about 250 passages in all."""

_READ_FOR_COUNT = 500
"""Maximum number of a term's passages read for the count, with passages of the session itself."""

_ALL_PASSAGES = 20 * MOST_COUNTED
"""Assumed number of a user's passages beyond the counted maximum."""

_PAIR_TERMS = 4
_PAIR_HITS = 25
_STRETCH_PASSAGES = 100
_APART = 10**12
"""Distance between two sessions on the common line of tokens for ranking passages."""

_SAMPLED = """(
    select count(*) from (
        select from recall_passage where user_keys @> array[asked.{key}] limit :enough
    ) sampled
) >= :enough"""
# The smallest sample is asked first: a list that is walked is short, for any number of passages.
_COUNTS = text(f"""
    select asked.place, case
        when {_SAMPLED.format(key="in_256")} then :most
        when {_SAMPLED.format(key="in_16")} then :most
        else (
            select count(*) from (
                select from (
                    select tenant_id, session_id from recall_passage
                    where user_keys @> array[asked.key] limit :most_read
                ) of_the_user
                where tenant_id = :tenant_id and session_id <> :session_id limit :most
            ) counted
        ) end
    from unnest(cast(:keys as bigint[]), cast(:in_16 as bigint[]), cast(:in_256 as bigint[]),
        cast(:places as int[])) asked (key, in_16, in_256, place)
    union all
    select 0, count(*) from (
        select from turn where tenant_id = :tenant_id and user_id = :user_id limit :most
    ) turns
""")  # noqa: S608 (parts of our own)
_HITS = """
    with found as materialized (
        {found}
    )
    select session_id, start_seq, start, tokens, {asked} from found where tenant_id = :tenant_id
"""
_FOUND = """
        select tenant_id, session_id, start_seq, start, tokens, user_keys as found_by from recall_passage
        where user_keys {has} and session_id <> :session_id limit :most
"""
_WITH_ANY = text(
    _HITS.format(
        found=_FOUND.format(has="&& cast(:keys as bigint[])"), asked=ASKED.format(keys="found.found_by")
    )
)
_WITH_PAIRS = text(
    _HITS.format(
        found=f"""
        select hit.* from unnest(cast(:keys as bigint[]), cast(:others as bigint[])) pair (key, other)
        cross join lateral ({_FOUND.format(has="@> array[pair.key, pair.other]")}) hit
        """,  # noqa: S608 (parts of our own)
        asked=ASKED.format(keys="found.found_by"),
    )
)
# Each step is a subquery with a limit, which no planner takes apart: ranges lead to rows by keys alone.
_STRETCHES = text(f"""
    select stretch.*, told.told_at
    from unnest(cast(:sessions as text[]), cast(:epochs as bigint[]), cast(:firsts as bigint[]),
        cast(:lasts as bigint[])) wanted (session_id, start_seq, first, last)
    cross join lateral (
        select start_seq from session
        where tenant_id = :tenant_id and session_id = wanted.session_id limit 1
    ) held
    cross join lateral (
        select session_id, start_seq, seq, turn_index, line, part, parts, speaker, body, start, tokens,
            {ASKED.format(keys="passage.found_by")} as asked
        from (
            select *, user_keys as found_by from recall_passage
            where tenant_id = :tenant_id and session_id = wanted.session_id
                and start_seq = wanted.start_seq and start between wanted.first and wanted.last
            order by start limit :most
        ) passage
    ) stretch
    cross join lateral (
        select user_id, coalesce(completed_at, received_at) as told_at from turn
        where tenant_id = :tenant_id and session_id = stretch.session_id
            and turn_index = stretch.turn_index limit 1
    ) told
    where held.start_seq = wanted.start_seq and told.user_id = :user_id
""")  # noqa: S608 (parts of our own)


@dataclass(frozen=True)
class _PassagePlace:
    """Index of a passage: the session and the start of the session's life."""

    session_id: str
    start_seq: int


def find_user_passages(
    db: Transaction, user: UserKey, query: str, *, beside: str | None, max_tokens: int
) -> FoundPassages:
    """Find passages of a user's other sessions relevant to a query, with a bounded amount of work.

    A passage counts if the turn names the user, and the session was not reset since.

    Args:
        db: A connection.
        user: The user.
        query: The new message.
        beside: The session that asks: none of its passages are found; None where it is not stored.
        max_tokens: How much is wanted; once to twice as much is loaded.

    Returns:
        Passages for `choose_blocks`, session by session, the latest session at the end. `start` counts on a
        common line, with sessions far apart.
    """
    terms = query_terms(query)
    if not terms or max_tokens <= 0:
        return FoundPassages([], RecallStats(0, {}))
    search = _UserSearch(db, user, terms, beside)
    stats = search.count()
    weights = weigh_terms(terms, stats)
    if not weights:
        return FoundPassages([], stats)
    hits = search.hits(stats, weights)
    ranges = find_ranges(hits, weights, max_tokens=max(max_tokens // 2, 1))
    return FoundPassages(search.load(ranges, weights) if ranges else [], stats, weights)


class _UserSearch:
    """A search: user, terms, and the excluded session."""

    def __init__(self, db: Transaction, user: UserKey, terms: Sequence[str], beside: str | None) -> None:
        self._db, self._user, self._terms = db, user, terms
        self._cells = TextCipher(db, user.tenant_id)
        self._keys = _keys(self._cells, user, terms)
        self._values = {
            "tenant_id": user.tenant_id,
            "user_id": user.user_id,
            "session_id": beside or "",
        }
        self._order: list[_PassagePlace] = []

    def count(self) -> RecallStats:
        """Count the passages of each term and the user's turns, up to a bound."""
        keys = [key for term in self._terms for key in self._keys[term]]
        places = [place for place, term in enumerate(self._terms, 1) for _ in self._keys[term]]
        counted = {
            "keys": keys,
            **{f"in_{one_in}": [self._user.key_of(key, one_in) for key in keys] for one_in in SAMPLES},
            "places": places,
            "most": MOST_COUNTED + 1,
            "most_read": _READ_FOR_COUNT,
            "enough": _ENOUGH_SAMPLES,
        }
        found = [0] * (len(self._terms) + 1)
        for place, passages in self._run(_COUNTS, **counted):
            found[place] += passages
        passages = found[0] if found[0] <= MOST_COUNTED else _ALL_PASSAGES
        return RecallStats(passages, dict(zip(self._terms, found[1:], strict=True)))

    def hits(self, stats: RecallStats, weights: Mapping[str, float]) -> list[Hit]:
        """Find all passages with a rare term; without rare terms, some with two terms, some with a single."""
        totals = accumulate(stats.frequencies[term] for term in weights)
        rare = [
            term
            for term, total in zip(weights, totals, strict=True)
            if total <= MOST_HITS and stats.frequencies[term] <= MOST_COUNTED
        ]
        asked = self._asked(weights)
        if rare:
            keys = [key for term in rare for key in self._keys[term]]
            rows = self._run(_WITH_ANY, keys=keys, most=MOST_HITS, **asked)
        else:
            rows = self._run_pairs(list(weights)[:_PAIR_TERMS], asked)
        return self._in_line(rows, Terms(weights))

    def _run_pairs(self, terms: Sequence[str], asked: Mapping[str, Any]) -> list[Any]:
        """Find passages where two of the terms meet, and some with the first alone."""
        pairs = [
            pair
            for first, second in (*combinations(terms, 2), (terms[0], terms[0]))
            for pair in zip(self._keys[first], self._keys[second], strict=True)
        ]
        keys, others = zip(*pairs, strict=True)
        return self._run(_WITH_PAIRS, keys=list(keys), others=list(others), most=_PAIR_HITS, **asked)

    def _asked(self, weights: Iterable[str]) -> dict[str, Any]:
        """List the stored forms of the terms' keys, with a bit for each term."""
        asked = [(key, place) for place, term in enumerate(weights, 1) for key in self._keys[term]]
        return {"asked": [key for key, _ in asked], "bits": [place for _, place in asked]}

    def _in_line(self, rows: Sequence[Any], terms: Terms) -> list[Hit]:
        """Put the passages of all sessions on a common line."""
        places = sorted({(row.session_id, row.start_seq) for row in rows})
        self._order = [_PassagePlace(*place) for place in places]
        offsets = {place: number * _APART for number, place in enumerate(places)}
        found = {}
        for session_id, start_seq, start, tokens, bits in rows:
            at = offsets[session_id, start_seq] + start
            found[at] = Hit(at, tokens, terms[bits])
        return [found[at] for at in sorted(found)]

    def load(self, ranges: Sequence[tuple[int, int]], weights: Mapping[str, float]) -> list[Passage]:
        """Load the passages starting in the ranges of the line, with the sessions in order of time."""
        places = [self._order[last // _APART] for _, last in ranges]
        wanted = {
            "sessions": [place.session_id for place in places],
            "epochs": [place.start_seq for place in places],
            "firsts": [max(first - last // _APART * _APART, 0) for first, last in ranges],
            "lasts": [last % _APART for _, last in ranges],
        }
        rows = self._run(
            _STRETCHES,
            **wanted,
            **self._asked(weights),
            most=_STRETCH_PASSAGES,
        )
        terms = Terms(weights)
        told: dict[str, datetime] = {}
        for row in rows:
            told[row.session_id] = max(row[-1], told.get(row.session_id, row[-1]))
        offsets = {name: number * _APART for number, name in enumerate(sorted(told, key=told.__getitem__))}
        passages = [self._passage(row, terms, offsets[row[0]]) for row in rows]
        return sorted(passages, key=lambda passage: passage.start)

    def _passage(self, row: Any, terms: Terms, offset: int) -> Passage:
        index = RecallKey(self._user.tenant_id, row.session_id, row.start_seq)
        place = passage_row(index, row.start)
        *_, asked, told_at = row
        return Passage(
            row.seq,
            row.turn_index,
            row.line,
            row.part,
            row.parts,
            self._cells.open("recall_passage.speaker", row.speaker, *place),
            self._cells.open("recall_passage.body", row.body, *place),
            row.start + offset,
            row.tokens,
            terms[asked],
            told_at.date(),
            row.session_id,
        )

    def _run(self, statement: Any, **parameters: Any) -> list[Any]:
        return list(self._db.execute(statement, {**self._values, **parameters}).all())


def _keys(cells: TextCipher, user: UserKey, terms: Sequence[str]) -> dict[str, list[int]]:
    """Compute the keys of each term: hashed plainly, and with the tenant's key, if any.

    A user's indexes may be of both kinds, while a tenant's text is being sealed or opened.
    """
    index = RecallKey(user.tenant_id, "")
    secrets = [None, *([secret] if (secret := cells.key_at_hand()) else [])]
    hashed = [index.term_keys(terms, one) for one in secrets]
    return {term: [user.key_of(keys[term]) for keys in hashed] for term in terms}

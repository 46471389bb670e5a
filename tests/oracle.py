"""What a client was promised, kept on the client's side, and whether the database has kept it."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

Messages = Sequence[Mapping[str, Any]]

_WHY_RAW = "^(rejected|refused before|rolled back|no finished turn|nothing that could be noted)"
"""What work says that leaves a long history raw, and rightly."""


@dataclass(frozen=True)
class Promise:
    """An acknowledged turn.

    Attributes:
        first_seq: Of its messages, as the answer said.
        last_seq: The same.
        messages: What was sent.
    """

    first_seq: int
    last_seq: int
    messages: Messages


@dataclass
class AckLog:
    """What was sent and what was acknowledged; many threads may write to it.

    Attributes:
        sent: Turn ids by session, whether an answer came or not.
        promised: Acknowledged turns by session and turn id.
    """

    sent: dict[str, set[str]] = field(default_factory=dict)
    promised: dict[str, dict[str, Promise]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def sends(self, session_id: str, turn_id: str) -> None:
        """Note before a call that it is made."""
        with self._lock:
            self.sent.setdefault(session_id, set()).add(turn_id)

    def accepted(self, answer: Mapping[str, Any], messages: Messages) -> None:
        """Note an acknowledgement, the first or a later one of the same turn."""
        promise = Promise(answer["first_seq"], answer["last_seq"], messages)
        with self._lock:
            known = self.promised.setdefault(answer["session_id"], {}).setdefault(answer["turn_id"], promise)
        if (known.first_seq, known.last_seq) != (promise.first_seq, promise.last_seq):
            raise AssertionError(f"{answer['turn_id']} was promised another place before: {known}, {answer}")

    def forget(self, session_id: str) -> None:
        """A session that was erased holds no promises any more."""
        with self._lock:
            self.promised.pop(session_id, None)
            self.sent.pop(session_id, None)

    @property
    def turns(self) -> int:
        """How many turns were acknowledged."""
        return sum(map(len, self.promised.values()))


def find_violations(
    database_url: str, log: AckLog, *, overdue_s: float = 30, raw_messages: int | None = None
) -> list[str]:
    """Hold a database that has come to rest against what was promised.

    Args:
        database_url: Asked directly, around all code under test.
        log: The client's log.
        overdue_s: Work that is due for longer was forgotten.
        raw_messages: A session with so many that no summary covers must say why; None: any number is well.

    Returns:
        A sentence for each broken promise; empty where all is well.
    """
    with psycopg.connect(database_url, row_factory=dict_row) as db:
        return [
            *_lost_turns(db, log),
            *_broken_logs(db),
            *_doubtful_summaries(db),
            *_forgotten_work(db, overdue_s),
            *(_never_summarized(db, raw_messages) if raw_messages else ()),
            *_open_calls(db),
        ]


def _rows(db: psycopg.Connection[DictRow], query: str, **values: object) -> list[DictRow]:
    return db.execute(query.encode(), values).fetchall()


def _lost_turns(db: psycopg.Connection[DictRow], log: AckLog) -> Iterator[str]:
    for session_id, promises in log.promised.items():
        query = "select turn_id, first_seq, last_seq from turn where session_id = %(session)s"
        found = _rows(db, query, session=session_id)
        places = {row["turn_id"]: (row["first_seq"], row["last_seq"]) for row in found}
        if len(places) < len(found):
            yield f"{session_id}: a turn is stored twice"
        for stranger in places.keys() - log.sent.get(session_id, set()):
            yield f"{session_id}: {stranger} was never sent"
        for turn_id, promise in promises.items():
            if places.get(turn_id) != (promise.first_seq, promise.last_seq):
                place = places.get(turn_id)
                yield f"{session_id}: {turn_id} was promised at {promise.first_seq}, is at {place}"
        yield from _changed_messages(db, session_id, promises.values())


def _changed_messages(
    db: psycopg.Connection[DictRow], session_id: str, promises: Iterable[Promise]
) -> Iterator[str]:
    query = "select seq, body from message where session_id = %(session)s"
    bodies = {row["seq"]: json.loads(row["body"]) for row in _rows(db, query, session=session_id)}
    for promise in promises:
        for seq, sent in enumerate(promise.messages, promise.first_seq):
            if seq not in bodies:
                yield f"{session_id}: message {seq} is gone"
            elif bodies[seq] != sent and not _was_taken_out(sent, bodies[seq]):
                yield f"{session_id}: message {seq} is not what was sent"


def _was_taken_out(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """A large tool result stands in its artifact; the message keeps all but its content."""
    without = [{key: value for key, value in each.items() if key != "content"} for each in (sent, stored)]
    return sent.get("role") == "tool" and without[0] == without[1] and "art_" in str(stored.get("content"))


def _broken_logs(db: psycopg.Connection[DictRow]) -> Iterator[str]:
    query = """
        select session_id, last_seq, count(message.seq) as messages, coalesce(max(message.seq), 0) as newest
        from session left join message using (tenant_id, session_id)
        group by tenant_id, session_id, last_seq
        having coalesce(max(message.seq), 0) <> last_seq or count(message.seq) <> last_seq
    """
    for row in _rows(db, query):
        yield f"{row['session_id']}: {row['messages']} messages up to {row['newest']}, not {row['last_seq']}"


def _doubtful_summaries(db: psycopg.Connection[DictRow]) -> Iterator[str]:
    query = """
        select session_id, count(*) as active, max(to_seq) as to_seq, max(last_seq) as last_seq,
            max(summarized_seq) as summarized_seq
        from summary join session using (tenant_id, session_id, generation)
        where state = 'active' group by tenant_id, session_id
        having count(*) > 1 or max(to_seq) > max(last_seq) or max(to_seq) <> max(summarized_seq)
    """
    for row in _rows(db, query):
        yield (
            f"{row['session_id']}: {row['active']} summaries in force, up to {row['to_seq']} of "
            f"{row['last_seq']}; the session says {row['summarized_seq']}"
        )


def _forgotten_work(db: psycopg.Connection[DictRow], overdue_s: float) -> Iterator[str]:
    query = """
        select kind, key, state, last_error from due_work
        where (state = 'ready' and due_at < now() - make_interval(secs => %(overdue)s))
            or (state = 'running' and lease_until < now() - make_interval(secs => %(overdue)s))
            or (state = 'dead' and last_error is null)
    """
    for row in _rows(db, query, overdue=overdue_s):
        yield f"work {row['kind']} {row['key']} is {row['state']}: {row['last_error']}"


def _never_summarized(db: psycopg.Connection[DictRow], raw_messages: int) -> Iterator[str]:
    """Sessions that are long enough, and that nobody works for or has a word to say of.

    A prepared summary counts: while a window fits, it may wait until the window is full.
    """
    query = """
        select session_id, last_outcome,
            last_seq - greatest(start_seq, summarized_seq, prepared_seq, cut_seq) as raw
        from session left join due_work as work
            on work.tenant_id = session.tenant_id and kind = 'summarize' and key = session_id
        where last_seq - greatest(start_seq, summarized_seq, prepared_seq, cut_seq) >= %(raw)s
            and (work.state is null or work.state = 'idle')
            and coalesce(last_outcome, '') !~ %(told)s
    """
    for row in _rows(db, query, raw=raw_messages, told=_WHY_RAW):
        yield f"{row['session_id']}: {row['raw']} messages are raw, and its work says: {row['last_outcome']}"


def _open_calls(db: psycopg.Connection[DictRow]) -> Iterator[str]:
    for row in _rows(db, "select purpose, created_at from llm_call where state = 'reserved'"):
        yield f"a call for {row['purpose']} of {row['created_at']} is still open"


def is_at_rest(database_url: str, *, for_s: float = 2) -> bool:
    """Whether nothing runs or is due, now or soon, and no call of a model is open.

    Work that follows its event after a while, or is tried again, would begin while somebody looks.

    Args:
        database_url: Asked directly, around all code under test.
        for_s: So long nothing comes to be due, but for what every tick asks for again.
    """
    query = """
        select 1
        where exists (
                select from due_work where state = 'running' or (
                    state = 'ready'
                    and due_at < now() + make_interval(secs => case kind when 'sweep' then 0 else %s end)
                )
            )
            or exists (select from llm_call where state = 'reserved')
    """
    with psycopg.connect(database_url) as db:
        return db.execute(query, [for_s]).fetchone() is None


def find_word(database_url: str, word: str) -> list[str]:
    """The tables in which any row holds a word, as text or as bytes."""
    tables = "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
    with psycopg.connect(database_url) as db:
        names = [name for (name,) in db.execute(tables.encode())]
        held = "select 1 from {} as row where row::text ilike %s or row::text like %s limit 1"
        values = f"%{word}%", f"%{word.encode().hex()}%"
        return sorted(name for name in names if db.execute(held.format(name).encode(), values).fetchone())


def find_remains(database_url: str, sessions: Iterable[str]) -> list[str]:
    """What is left of sessions that were erased; the ledger keeps its numbers."""
    tables = "session", "turn", "message", "summary", "summary_part", "recall_passage"
    with psycopg.connect(database_url, row_factory=dict_row) as db:
        return [
            f"{row['session_id']} was erased and is in {table}"
            for table in tables
            for row in _rows(
                db,
                f"select distinct session_id from {table} where session_id = any(%(erased)s)",  # noqa: S608 (names above)
                erased=list(sessions),
            )
        ]

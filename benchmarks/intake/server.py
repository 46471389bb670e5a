"""The API as it is, with a route beside it that does the least an intake of turns could do.

The floor checks the key, reads the JSON and inserts the rows of the turns in one transaction, by a statement
a table. It looks for no turn that is stored already, locks no session, counts no token and queues no work.
Nothing of this folder is imported here, so that the code of another checkout can be served as well.
"""

import sys
from collections.abc import Sequence
from hashlib import sha256
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

import orjson
import uvicorn
from fastapi import FastAPI, Response
from sqlalchemy import event, text
from sqlalchemy.pool import Pool

from api.app import make_app
from api.http.call import BatchCall, BodyCall
from api.http.head_limits import BoundedHeads
from models.database import transaction
from models.telemetry.logging import configure_logging

SENT = 4
"""Place of the kind of message in a line of the trace, after date, time, direction and length."""

KEEP_S = 600
"""A connection stays open while the other sides of the comparison have their turns."""

DIGEST = sha256(b"x").digest()
TURNS = text(
    """
    insert into turn (tenant_id, session_id, turn_index, turn_id, body_sha256, generation, first_seq,
        last_seq, tokens)
    select :tenant_id, t.session_id, t.number, t.turn_id, :digest, 1, 2 * t.number - 1, 2 * t.number, 60
    from unnest(cast(:session_ids as text[]), cast(:numbers as int[]), cast(:turn_ids as text[]))
        as t (session_id, number, turn_id)
    """
)
MESSAGES = text(
    """
    insert into message (tenant_id, session_id, seq, turn_index, role, wire, tokens, tokens_wide, body)
    select :tenant_id, m.session_id, m.seq, (m.seq + 1) / 2, m.role, 'openai', 30, 30, m.body
    from unnest(cast(:session_ids as text[]), cast(:seqs as int[]), cast(:roles as text[]),
        cast(:bodies as text[])) as m (session_id, seq, role, body)
    """
)
SESSIONS = text(
    """
    update session set last_seq = s.last_seq, last_turn_at = now()
    from unnest(cast(:session_ids as text[]), cast(:last_seqs as int[])) as s (session_id, last_seq)
    where session.tenant_id = :tenant_id and session.session_id = s.session_id
    """
)


def insert_turns(tenant_id: UUID, turns: Sequence[dict[str, Any]]) -> None:
    """Insert turns of two messages, whose place in the session is the number of the turn."""
    numbers = [int(turn["turn_id"][1:]) + 1 for turn in turns]
    named = list(zip(turns, numbers, strict=True))
    ends = {turn["session_id"]: 2 * number for turn, number in named}
    with transaction() as db:
        db.execute(
            TURNS,
            {
                "tenant_id": tenant_id,
                "digest": DIGEST,
                "session_ids": [turn["session_id"] for turn in turns],
                "numbers": numbers,
                "turn_ids": [turn["turn_id"] for turn in turns],
            },
        )
        db.execute(
            MESSAGES,
            {
                "tenant_id": tenant_id,
                "session_ids": [turn["session_id"] for turn in turns for _ in turn["messages"]],
                "seqs": [2 * number - 1 + place for turn, number in named for place in range(2)],
                "roles": [message["role"] for turn in turns for message in turn["messages"]],
                "bodies": [orjson.dumps(message).decode() for turn in turns for message in turn["messages"]],
            },
        )
        ids = sorted(ends)
        last_seqs = [ends[session_id] for session_id in ids]
        db.execute(SESSIONS, {"tenant_id": tenant_id, "session_ids": ids, "last_seqs": last_seqs})


def make_measured_app() -> FastAPI:
    """Build the real application with the floor's routes."""
    app, counting = make_app(), Counting()

    @app.post("/floor/turns/{session_id}")
    def insert_one(session_id: str, call: BodyCall) -> Response:
        caller = call.caller("write")
        insert_turns(caller.tenant_id, [{"session_id": session_id, **orjson.loads(call.raw)}])
        return Response(call.raw, 202, media_type="application/json")

    @app.post("/floor/turns")
    def insert_many(call: BatchCall) -> Response:
        caller = call.caller("write")
        turns = [orjson.loads(line) for line in call.raw.split(b"\n")]
        insert_turns(caller.tenant_id, turns)
        return Response(orjson.dumps([turn["turn_id"] for turn in turns]), media_type="application/json")

    @app.put("/counting/{is_on}")
    def count(is_on: bool) -> dict[str, int]:
        return counting.begin() if is_on else counting.end()

    return app


class Counting:
    """Counts messages to the database, by the driver's own trace."""

    def __init__(self) -> None:
        """Count nothing yet."""
        self._trace, self._traced = TemporaryFile("w+"), dict[int, Any]()  # noqa: SIM115 (as long as the server)
        self._is_on = False
        event.listen(Pool, "checkout", self._take)

    def _take(self, connection: Any, *_: Any) -> None:
        if self._is_on and id(connection) not in self._traced:
            connection.pgconn.trace(self._trace.fileno())
            self._traced[id(connection)] = connection

    def begin(self) -> dict[str, int]:
        """Count from now on."""
        self._is_on = True
        return {}

    def end(self) -> dict[str, int]:
        """Stop, and return the statements and the round trips."""
        self._is_on = False
        for connection in self._traced.values():
            connection.pgconn.untrace()
        self._traced.clear()
        self._trace.seek(0)
        lines = (line.split() for line in self._trace)
        sent = [words[SENT] for words in lines if len(words) > SENT and words[2] == "F"]
        self._trace.truncate(0)
        queries = sent.count("Query")
        return {"statements": queries + sent.count("Execute"), "round_trips": queries + sent.count("Sync")}


def main() -> None:
    """Serve on the port of the command line."""
    configure_logging()
    options: dict[str, Any] = {"log_config": None, "log_level": "warning", "access_log": False}
    options |= {"http": BoundedHeads, "timeout_keep_alive": KEEP_S}
    uvicorn.run(make_measured_app, factory=True, host="127.0.0.1", port=int(sys.argv[1]), **options)


if __name__ == "__main__":
    main()

"""Helpers for tests of erasing: words planted wherever words can go, and a look into every table for them."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from fastapi.testclient import TestClient
from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import DBAPIError

from context.tool_plans.features import intent_sha, read_features
from context.tool_plans.outcomes import Outcome, StepOutcome
from models import database as session
from models.artifacts.plan import PlanKey, PlanWish, store_plan
from models.artifacts.plan import want_plan as want_context_plan
from models.artifacts.summary import MadeSummary, SummaryKey, Wish, store_made, want_summary
from models.conversations.kept_summaries import keep_part
from models.conversations.served_window import NewWindow, keep_window
from models.conversations.session import find_session
from models.conversations.session_notes import ChatPrefixRow
from models.conversations.settings import ServedWindowSettings
from models.conversations.summary import NewSummary, store_summary
from models.due_work.queue import WorkKind, enqueue, find_work
from models.encryption.keys import TextCipher
from models.hints import Hints, leave_hints
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import Caps
from models.plans.outcome import join_outcomes
from models.plans.plan import MadePlan, PlanMethod, WantedPlan, keep_plan, want_plan
from models.providers.context_limit import Sighting, SightingSource, learn_limit
from models.scope import Scope
from models.shadow.reads import record_reads
from tests.integration.summarizing import dialogue

PAD = "The crane driver reports that the box is wet and asks where it should go now. "


def tables_with(word: str) -> dict[str, int]:
    """How many rows of each table hold a word, as text or as bytes, whatever the table."""
    found: dict[str, int] = {}
    with session.read_transaction() as db:
        for name in _tables(db):
            held = db.execute(
                text(f"select count(*) from {name} t where t::text ilike :plain or t::text like :hexed"),  # noqa: S608 (names of the catalog)
                {"plain": f"%{word}%", "hexed": f"%{word.encode().hex()}%"},
            ).scalar_one()
            if held:
                found[name] = held
    return found


def _tables(db: Connection) -> list[str]:
    rows = db.execute(
        text("select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace")
    )
    return sorted(rows.scalars())


def tables_of_sessions() -> set[str]:
    """Every table whose rows say which session they belong to."""
    with session.read_transaction() as db:
        rows = db.execute(
            text(
                "select table_name from information_schema.columns "
                "where table_schema = 'public' and column_name = 'session_id'"
            )
        )
        return set(rows.scalars())


_COLUMNS = text(
    """
    select table_name, column_name, data_type from information_schema.columns c
    where table_schema = 'public' and data_type in ('text', 'jsonb', 'ARRAY')
        and column_name not in ('session_id', 'user_id', 'turn_id', 'artifact_id', 'focus_key', 'catalog')
        and (table_name <> 'llm_call' or column_name = 'detail')
        and (table_name <> 'message' or column_name = 'speaker') and table_name <> 'shadow_read'
        and exists (select from information_schema.columns k where k.table_schema = 'public'
            and k.table_name = c.table_name and k.column_name = 'session_id')
    order by table_name, column_name
    """
)


def stain(word: str, session_id: str) -> None:
    """Write a word into every column that takes one, in every row of a session."""
    values = {"text": word, "jsonb": json.dumps([{"said": word}]), "ARRAY": "{" + word + "}"}
    casts = {"text": "text", "jsonb": "jsonb", "ARRAY": "text[]"}
    with session.transaction() as db:
        for table, column, kind in db.execute(_COLUMNS).all():
            try:
                with db.begin_nested():
                    db.execute(
                        text(
                            f"update {table} set {column} = cast(:value as {casts[kind]}) "  # noqa: S608 (names of the catalog)
                            f"where session_id = :session_id and {column} is not null"
                        ),
                        {"value": values[kind], "session_id": session_id},
                    )
            except DBAPIError:
                continue  # a key, or one of a few values: no place for words


def tool_turn(turn_id: str, word: str, **fields: Any) -> dict[str, Any]:
    """A turn with a word in everything that is said, called and returned; its result is large."""
    call = {
        "id": f"{turn_id}-call",
        "type": "function",
        "function": {"name": "read_file", "arguments": json.dumps({"path": f"logs/{word}.log"})},
    }
    return {
        "turn_id": turn_id,
        "messages": [
            {"role": "user", "content": f"Please look for {word} in the log. {PAD}"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": f"{word}: {PAD}\n" * 120},
            {"role": "assistant", "content": f"I found {word}. {PAD}"},
        ],
        "usage": {"note": word, "prompt_tokens": 10},
        "plan": {"intent": f"find {word}", "steps": [{"tool": "read_file", "args": {"path": word}}]},
        **fields,
    }


def post_turn(client: TestClient, session_id: str, event: dict[str, Any]) -> dict[str, Any]:
    """Post a turn, which must be accepted."""
    answer = client.post(f"/v1/sessions/{session_id}/turns", json=event)
    assert answer.status_code == 202, answer.text
    accepted: dict[str, Any] = answer.json()
    return accepted


def talk(client: TestClient, session_id: str, turns: int, *, first: int = 1) -> None:
    """Post a plain conversation, two messages a turn."""
    for number in range(first, first + turns):
        post_turn(client, session_id, {"turn_id": f"talk-{number}", "messages": dialogue(number)})


def new_summary(to_seq: int, said: str, *, base: int | None, generation: int = 1) -> NewSummary:
    """Notes of the messages from the first on."""
    return NewSummary(generation, base, 1, to_seq, said, 9, 900, "m", "normal", "p1", "en")


def plant_everywhere(tenant_id: UUID, client: TestClient, session_id: str, word: str, user_id: str) -> None:
    """Make a row of a session in every table that has such, with a word in all that can hold one."""
    plant_in_message(tenant_id, client, session_id, word, turn_id=f"{word}-turn", user_id=user_id)
    document = {"content": f"{word} {PAD}" * 100, "title": word, "session_id": session_id, "source": word}
    uploaded = client.post("/v1/attachments", json={**document, "user_id": user_id})
    assert uploaded.status_code in {200, 201}, uploaded.text
    with session.transaction() as db:
        _plant_call(db, tenant_id, session_id, word)
        _plant_shadow(db, tenant_id, session_id)
    stain(word, session_id)


def plant_in_message(
    tenant_id: UUID, client: TestClient, session_id: str, word: str, *, turn_id: str, user_id: str
) -> None:
    """Say a word in a session's first turn, and write it into all that is made of one."""
    plant_by_our_own_ways(tenant_id, client, session_id, word, turn_id=turn_id, user_id=user_id)
    with session.transaction() as db:
        _plant_decision(db, tenant_id, session_id, word)
        _plant_index(db, tenant_id, session_id, word)


def plant_by_our_own_ways(
    tenant_id: UUID, client: TestClient, session_id: str, word: str, *, turn_id: str, user_id: str
) -> None:
    """Say a word in a session's first turn, and store what is made of that as the jobs store it."""
    post_turn(client, session_id, tool_turn(turn_id, word, user_id=user_id, speaker=word))
    talk(client, session_id, 4)
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        found = find_session(scope, session_id)
        assert found is not None
        for number, to_seq in enumerate((4, 6, 8)):
            said = f"Notes about {word}."
            made = new_summary(to_seq, said, base=number or None, generation=found.generation)
            assert store_summary(scope, session_id, made, activate=to_seq < 8)
        keep_part(scope, session_id, b"digest", content=f"A part about {word}.", tokens=5)
        _plant_prefix(db, tenant_id, session_id, word, generation=found.generation)
        body = json.dumps({"said": word}).encode()
        served = NewWindow(session_id, found.generation, "context", user_id, "m", "openai", 4, 1, 2, (), body)
        assert keep_window(scope, served, ServedWindowSettings(), erased_sha256=b"")
        _plant_readings(db, tenant_id, session_id, word)
        _plant_plan(db, tenant_id, session_id, word, user_id)
        leave_hints(scope, Hints(session_id, topic=(["coding"], 0.5)))
        seen = Sighting("m", session_id, 8_192, SightingSource.ERROR)
        learn_limit(scope, seen, floor_tokens=8_192)


def _plant_prefix(db: Connection, tenant_id: UUID, session_id: str, word: str, *, generation: int) -> None:
    """Store a prefix as earlier code did."""
    head = TextCipher(db, tenant_id).seal("chat_prefix.head", f"Mind {word}.", session_id)
    prefix = {"generation": generation, "model": "m", "notes_version": 0, "from_seq": 1, "to_seq": 4}
    db.execute(insert(ChatPrefixRow).values(tenant_id=tenant_id, session_id=session_id, head=head, **prefix))


def _plant_readings(db: Connection, tenant_id: UUID, session_id: str, word: str) -> None:
    scope = Scope(db, tenant_id)
    artifact_id = db.execute(
        text("select min(artifact_id) from artifact_use where session_id = :session_id"),
        {"session_id": session_id},
    ).scalar_one()
    key = SummaryKey(artifact_id, "focus-key", "medium", "en")
    want_summary(scope, Wish(key, f"where is {word}", [word], "turn", session_id), ttl_s=600)
    made = MadeSummary("m", "p1", "en", f"It says {word}.", 4, 4, "summary")
    assert store_made(scope, key, made, ttl_s=600)
    questions = [PlanKey(session_id, key, "digest") for key in ("question-key", "other-key")]
    for question in questions:
        want_context_plan(
            scope, question, PlanWish([artifact_id], f"what of {word}?", 100, focus=word, model="m")
        )
    assert store_plan(scope, questions[-1], plan={"artifacts": [{"focus": word}]})


def _plant_plan(db: Connection, tenant_id: UUID, session_id: str, word: str, user_id: str) -> None:
    scope = Scope(db, tenant_id)
    features = read_features(f"find {word}")
    plan_id = want_plan(
        scope,
        WantedPlan(
            intent=f"find {word}",
            intent_sha=intent_sha(word),
            features=features.as_json(),
            complexity=features.complexity,
            mode="plan",
            catalog="tools",
            catalog_digest="d",
            model="m",
            context=f"we spoke of {word}",
            session_id=session_id,
            user_id=user_id,
        ),
    )
    step = {"order": 1, "tool": "read_file", "args": {"path": word}, "rationale": word, "outcome": None}
    keep_plan(scope, plan_id, MadePlan([step], PlanMethod.LLM, gap_warning=f"nothing for {word}"))
    join_outcomes(scope, plan_id, [StepOutcome(1, Outcome.ERROR, f"no {word}")])


def _plant_decision(db: Connection, tenant_id: UUID, session_id: str, word: str) -> None:
    db.execute(
        text(
            "insert into preflight_decision (tenant_id, session_id, turn_index, policy_version, categories, "
            "scores, features, chars, confidence, reasons, pinned) values "
            "(:tenant_id, :session_id, 1, 1, '{coding}', '{}', '{}', 9, 0.5, array[:word], '{}')"
        ),
        {"tenant_id": tenant_id, "session_id": session_id, "word": word},
    )


def _plant_call(db: Connection, tenant_id: UUID, session_id: str, word: str) -> None:
    """A call that failed with words of the provider, made for work that is there."""
    scope = Scope(db, tenant_id)
    now = datetime.now(UTC)
    enqueue(scope, WorkKind.SUMMARIZE, session_id)
    work = find_work(scope, WorkKind.SUMMARIZE, session_id)
    assert work is not None
    call = Reservation(tenant_id, "summarize", "m", 100, Decimal("0.01"), session_id, work.work_id)
    call_id = reserve(db, call, caps=Caps(), now=now)
    settle(scope, call_id, Settlement(0.1, failure="invalid", detail=f"bad: {word}"), now=now)


def _plant_shadow(db: Connection, tenant_id: UUID, session_id: str) -> None:
    digests = dict.fromkeys(("salt", "held", "lacking", "hidden"), b"digests!")
    counts = dict.fromkeys(("generation", "after_seq", "new_messages", "hidden_tools"), 1)
    sizes = {"served_tokens": 10, "would_tokens": 5, "served": {}, "would": {}}
    row = {
        "read_id": uuid4(),
        "part": "summaries",
        "session_id": session_id,
        "model": "m",
        "state": "waiting",
    }
    record_reads(Scope(db, tenant_id), [{**row, **counts, **sizes, **digests}])


def _plant_index(db: Connection, tenant_id: UUID, session_id: str, word: str) -> None:
    place = {"tenant_id": tenant_id, "session_id": session_id, "word": f"{word} said so"}
    db.execute(
        text(
            "insert into recall_passage "
            "select :tenant_id, :session_id, 0, 0, 1, 1, 0, 0, 1, 'user', :word, 5, '{1}'"
        ),
        place,
    )
    db.execute(text("insert into recall_term select :tenant_id, :session_id, 0, 1, 1"), place)
    db.execute(text("insert into recall_progress select :tenant_id, :session_id, 0, 1, 1, 5"), place)

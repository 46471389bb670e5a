"""Guards of what Postgres remembers: leases, generations, money, tenants, retention."""

from tests.acceptance.faults.guards.guard import Guard

_WORK = ("tests/integration/test_work.py",)
_ERASED = ("tests/integration/test_erase_races.py",)

GUARDS = (
    Guard(
        "finish: only who holds the lease",
        "models/due_work/queue.py",
        """if again_in_s is None else true()
    done = db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)""",
        """if again_in_s is None else true()
    done = db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id)""",
        _WORK,
    ),
    Guard(
        "claim: a lease admits one",
        "models/due_work/fair_claim.py",
        "and (state = 'ready' or lease_until < now())",
        "",
        _WORK,
    ),
    Guard(
        "claim: an expired lease is free",
        "models/due_work/fair_claim.py",
        "and (state = 'ready' or lease_until < now())",
        "and state = 'ready'",
        (*_WORK, "tests/integration/test_due.py"),
    ),
    Guard(
        "claim: crashes are no attempts",
        "models/due_work/queue.py",
        '"attempts": DueWork.attempts + case((expired, 0), else_=1),',
        '"attempts": DueWork.attempts + 1,',
        _WORK,
    ),
    Guard(
        "claim: a crasher dies",
        "models/due_work/heartbeat.py",
        "return crashes >= max_crashes, {",
        "return crashes < 0, {",
        _WORK,
    ),
    Guard(
        "claim: a crasher dies by what is known of its workers",
        "models/due_work/heartbeat.py",
        "dies = or_(crashes >= max_crashes, losses >= rules.max_losses)",
        "dies = or_(crashes < 0, losses < 0)",
        (),
    ),
    Guard(
        "claim: only what is due",
        "models/due_work/queue.py",
        "(DueWork.state == WorkState.READY) & (DueWork.due_at <= func.now()),",
        "DueWork.state == WorkState.READY,",
        _WORK,
    ),
    Guard(
        "finish: what was wanted meanwhile",
        "models/due_work/queue.py",
        "again = DueWork.wanted > DueWork.claimed if",
        "again = false() if",
        _WORK,
    ),
    Guard(
        "want: quick turns make one job",
        "models/due_work/queue.py",
        "func.least(DueWork.due_at, row.excluded.due_at),",
        "row.excluded.due_at,",
        _WORK,
    ),
    Guard(
        "summary: the generation",
        "models/conversations/summary.py",
        "if session is None or session.generation != new.generation:",
        "if session is None:",
        ("tests/integration/test_summarize_job.py",),
    ),
    Guard(
        "summary: the base",
        "models/conversations/summary.py",
        "if (basis.version if basis else None) != new.base_version:",
        "if session is None:",
        ("tests/integration/test_work_races.py", "tests/integration/test_summarize_job.py"),
    ),
    Guard(
        "intake: a turn is stored once",
        "models/conversations/accept.py",
        "if place in known:",
        "if place in ():",
        ("tests/integration/test_intake.py",),
    ),
    Guard(
        "intake: another body is refused",
        "models/conversations/accept.py",
        "conflict=not _is_same(cells, sha, turn)",
        "conflict=False",
        ("tests/integration/test_intake.py",),
    ),
    Guard(
        "recall: the generation",
        "models/recall/index.py",
        "return found == generation",
        "return found is not None",
        _ERASED,
    ),
    Guard(
        "what was read of a session: the generation",
        "models/conversations/session.py",
        "return _held_generation(scope, session_id) == generation",
        "return _held_generation(scope, session_id) is not None",
        _ERASED,
    ),
    Guard(
        "learning: once a night",
        "models/learning/progress.py",
        "return made.one_or_none() is not None",
        "return True",
        ("tests/integration/test_learning.py",),
    ),
    Guard(
        "commits are durable",
        "models/database.py",
        '"synchronous_commit": "on",',
        '"synchronous_commit": "off",',
        ("tests/integration/test_servers.py",),
    ),
    Guard(
        "breaker: an open gate",
        "models/providers/circuit_breaker.py",
        "if row is None or row.open_until is None:",
        "if row is None or row.model:",
        ("tests/integration/test_provider_gate.py",),
    ),
    Guard(
        "breaker: what was on its way lifts no limit",
        "models/providers/circuit_breaker.py",
        "ProviderGate.model == model, ProviderGate.failed_at <= began_at",
        "ProviderGate.model == model",
        ("tests/integration/test_provider_gate.py", "tests/integration/test_gateway.py"),
    ),
    Guard(
        "models: what waits goes on once its gate closes",
        "models/due_work/waiting.py",
        "return sum(_release(db, models, most, look_s) for models in sets)",
        "return 0",
        ("tests/integration/test_parked_work.py",),
    ),
    Guard(
        "models: no more goes on than is begun",
        "models/due_work/waiting.py",
        'left = most - db.execute(BEGUN, {**of_these, "most": most}).scalar_one()',
        "left = most",
        ("tests/integration/test_parked_work.py",),
    ),
    Guard(
        "caps: checked on reserve",
        "models/ledger/call.py",
        "if cap is not None and used + wanted > cap:",
        "if cap is not None and used > cap:",
        ("tests/integration/test_ledger.py",),
    ),
    Guard(
        "caps: no more goes on than fits",
        "models/due_work/waiting.py",
        "_fitting(head, room - taken)",
        "_fitting(head, room)",
        ("tests/integration/test_capped_work.py",),
    ),
    Guard(
        "caps: a worker with a smaller one is waited for",
        "models/due_work/waiting.py",
        "if not head or any(one.is_other_cap for one in head):",
        "if not head:",
        ("tests/integration/test_capped_work.py",),
    ),
    Guard(
        "tenants: whose messages",
        "models/conversations/history.py",
        'StoredMessage.tenant_id == bindparam("tenant_id"), StoredMessage',
        "StoredMessage",
        ("tests/integration/test_tenancy.py",),
    ),
    Guard(
        "tenants: the second wall",
        "models/tenants/row_security.py",
        'return "" if tenant_id is None else ROLE',
        'return ""',
        ("tests/integration/test_row_security.py",),
    ),
    Guard(
        "retention: the session is held, and is old",
        "models/retention/delete_tables.py",
        """    if db.execute(_HOLD_IF_OLD, values).one_or_none() is None:
        return None
""",
        "",
        ("tests/integration/test_retention.py", "tests/integration/test_retention_runs.py"),
    ),
    Guard(
        "models: a deadline grows after a timeout",
        "llm/gateway.py",
        "request.max_output_tokens, timeouts=timeouts)",
        "request.max_output_tokens, timeouts=0)",
        ("tests/integration/test_gateway.py",),
    ),
)

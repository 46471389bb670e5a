"""The guards of this system, how each would be lost, and the tests that must notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """One protection in the code.

    Attributes:
        name: What it protects, in a word or two.
        file: Where it stands.
        text: The code that makes it, found once in the file.
        lost: What would stand there without it.
        tests: The tests of which one must fail then; paths and pytest's other ways to name some.
    """

    name: str
    file: str
    text: str
    lost: str
    tests: tuple[str, ...]


_WORK = ("tests/integration/test_work.py",)
_ERASED = ("tests/integration/test_erase_races.py",)

GUARDS = (
    Guard(
        "finish: only who holds the lease",
        "models/work.py",
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
        "models/work.py",
        "expired & (DueWork.lease_until < func.now()),",
        "expired,",
        _WORK,
    ),
    Guard(
        "claim: an expired lease is free",
        "models/work.py",
        "expired & (DueWork.lease_until < func.now()),",
        "false(),",
        _WORK,
    ),
    Guard(
        "claim: crashes are no attempts",
        "models/work.py",
        "attempts=DueWork.attempts + case((expired, 0), else_=1),",
        "attempts=DueWork.attempts + 1,",
        _WORK,
    ),
    Guard(
        "claim: a crasher dies",
        "models/work.py",
        "dies = crashes >= max_crashes",
        "dies = crashes < 0",
        _WORK,
    ),
    Guard(
        "claim: only what is due",
        "models/work.py",
        "(DueWork.state == WorkState.READY) & (DueWork.due_at <= func.now()),",
        "DueWork.state == WorkState.READY,",
        _WORK,
    ),
    Guard(
        "finish: what was wanted meanwhile",
        "models/work.py",
        "again = DueWork.wanted > DueWork.claimed if",
        "again = false() if",
        _WORK,
    ),
    Guard(
        "want: quick turns make one job",
        "models/work.py",
        "func.least(DueWork.due_at, row.excluded.due_at),",
        "row.excluded.due_at,",
        _WORK,
    ),
    Guard(
        "summary: the generation",
        "models/summary.py",
        "if session is None or session.generation != new.generation:",
        "if session is None:",
        ("tests/integration/test_summarize_job.py",),
    ),
    Guard(
        "summary: the base",
        "models/summary.py",
        "if (basis.version if basis else None) != new.base_version:",
        "if session is None:",
        ("tests/integration/test_work_races.py", "tests/integration/test_summarize_job.py"),
    ),
    Guard(
        "intake: a turn is stored once",
        "models/log.py",
        "if place in known:",
        "if place in ():",
        ("tests/integration/test_intake.py",),
    ),
    Guard(
        "intake: another body is refused",
        "models/log.py",
        "conflict=not _is_same(cells, sha, turn)",
        "conflict=False",
        ("tests/integration/test_intake.py",),
    ),
    Guard(
        "intake: acknowledged after the commit",
        "api/turns.py",
        "    [accepted] = committed(lambda db: store_turns(db, caller.tenant_id, [intake.turn]))",
        """    import contextlib

    from models.session import transaction

    with contextlib.suppress(Exception), transaction() as db:
        accepted = store_turns(db, caller.tenant_id, [intake.turn])[0]""",
        ("tests/integration/test_store_faults.py::test_a_turn_that_its_client_sends_again_is_stored_once",),
    ),
    Guard(
        "plans: only who holds the lease",
        "workers/jobs/plan.py",
        """        if not hold(db, held):
            raise LeaseLostError
        kept =""",
        "        kept =",
        ("tests/integration/test_plans_job.py",),
    ),
    Guard(
        "recall: the generation",
        "models/recall.py",
        "return found == generation",
        "return found is not None",
        _ERASED,
    ),
    Guard(
        "what was read of a session: the generation",
        "models/conversation.py",
        "return found == generation",
        "return found is not None",
        _ERASED,
    ),
    Guard(
        "learning: once a night",
        "models/learning.py",
        "return made.one_or_none() is not None",
        "return True",
        ("tests/integration/test_learning.py",),
    ),
    Guard(
        "commits are durable",
        "models/session.py",
        '"synchronous_commit": "on",',
        '"synchronous_commit": "off",',
        ("tests/integration/test_servers.py",),
    ),
    Guard(
        "hints: they say when they are over",
        "workers/dispatch.py",
        "{HINTED_UNTIL: hint.until.isoformat()} if hint.until else {}",
        "{}",
        ("tests/integration/test_dispatch.py",),
    ),
    Guard(
        "hints: over by the database's clock",
        "models/work.py",
        "true() if until is None else func.now() <= until,",
        "true(),",
        ("tests/integration/test_hints.py",),
    ),
    Guard(
        "breaker: an open gate",
        "models/provider.py",
        "if row is None or row.open_until is None:",
        "if row is None or row.model:",
        ("tests/integration/test_provider_gate.py",),
    ),
    Guard(
        "caps: checked on reserve",
        "models/ledger.py",
        "if cap is not None and used + wanted > cap:",
        "if cap is not None and used > cap:",
        ("tests/integration/test_ledger.py",),
    ),
    Guard(
        "model: a deadline on the clock",
        "llm/call.py",
        "return box.get(timeout=deadline_s)",
        "return box.get(timeout=deadline_s + 30)",
        ("tests/integration/test_gateway.py",),
    ),
    Guard(
        "gate: nothing empty, refused or cut off",
        "context/gate.py",
        "yield Verdict(text, Reason(fault) if fault else None)",
        "yield Verdict(text, None)",
        ("tests/unit/test_gate.py",),
    ),
    Guard(
        "gate: languages",
        "context/gate.py",
        "Reason.WRONG_LANGUAGE if present < settings.min_language_share else None",
        "None",
        ("tests/unit/test_gate.py",),
    ),
    Guard(
        "gate: identifiers",
        "context/gate.py",
        "Reason.IDENTIFIERS_LOST if is_poor else None",
        "None",
        ("tests/unit/test_gate.py",),
    ),
    Guard(
        "window: one contiguous tail",
        "context/assemble.py",
        "            if taken is None:\n                break\n",
        "            if taken is None:\n                continue\n",
        ("tests/unit/test_assemble.py",),
    ),
    Guard(
        "window: pairs are whole",
        "context/pairing.py",
        "        if index not in faults:\n            kept.append(message)\n            continue\n",
        "        if True:\n            kept.append(message)\n            continue\n",
        ("tests/unit/test_pairing.py",),
    ),
    Guard(
        "tools of the tail are pinned",
        "context/preflight/tools.py",
        "needed.update(pinned)",
        "needed.update(())",
        ("tests/unit/preflight",),
    ),
    Guard(
        "focus: near enough",
        "context/focus/similarity.py",
        "NEAR_THRESHOLD = 0.7",
        "NEAR_THRESHOLD = 0.1",
        ("tests/unit/focus",),
    ),
    Guard(
        "learning: better than words",
        "context/priors/evaluate.py",
        "if candidate.score <= lexical.score + LEAST_GAIN:",
        "if candidate.score < 0:",
        ("tests/unit/priors/test_evaluate.py",),
    ),
    Guard(
        "tenants: whose messages",
        "models/history.py",
        'StoredMessage.tenant_id == bindparam("tenant_id"), StoredMessage',
        "StoredMessage",
        ("tests/integration/test_tenancy.py",),
    ),
    Guard(
        "tenants: the second wall",
        "models/row_security.py",
        'return "" if tenant_id is None else ROLE',
        'return ""',
        ("tests/integration/test_row_security.py",),
    ),
    Guard(
        "door: no NUL",
        "context/sanitize.py",
        'text.replace("\\0", "").encode',
        "text.encode",
        ("tests/unit/test_sanitize.py",),
    ),
    Guard(
        "prompts: tags are escaped",
        "context/prompts.py",
        'return f"<{tag}>\\n{escape_tags(text)}\\n</{tag}>"',
        'return f"<{tag}>\\n{text}\\n</{tag}>"',
        ("tests/unit/test_prompts.py",),
    ),
    Guard(
        "retention: the session is held, and is old",
        "models/retention_steps.py",
        """    if db.execute(_HOLD_IF_OLD, values).one_or_none() is None:
        return None
""",
        "",
        ("tests/integration/test_retention.py", "tests/integration/test_retention_runs.py"),
    ),
    Guard(
        "retention: one session stops none behind it",
        "workers/jobs/retain.py",
        "not in PASSED_OVER:\n            raise\n        tenant_id",
        "not in ():\n            raise\n        tenant_id",
        ("tests/integration/test_retention_runs.py",),
    ),
    Guard(
        "erase: a receipt is kept with what it tells of",
        "api/erase.py",
        """        keep_receipt(db, tenant_id, "session", session_id, receipt)
""",
        "",
        ("tests/integration/test_erase_receipts.py",),
    ),
)

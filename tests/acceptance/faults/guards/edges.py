"""Guards of the processes: the API, the workers, the door to models, the stack."""

from tests.acceptance.faults.guards.guard import Guard

GUARDS = (
    Guard(
        "intake: acknowledged after the commit",
        "api/turns/routes.py",
        "    [accepted] = committed(caller.tenant_id, lambda scope: store_turns(scope, [intake.turn]))",
        """    import contextlib

    accepted = AcceptedTurn(session_id, intake.turn.turn_id, 1, 1, len(intake.turn.messages))
    with contextlib.suppress(Exception), Scope.write(caller.tenant_id) as scope:
        accepted = store_turns(scope, [intake.turn])[0]""",
        ("tests/integration/test_store_faults.py::test_a_turn_that_its_client_sends_again_is_stored_once",),
    ),
    Guard(
        "plans: only who holds the lease",
        "workers/jobs/tool_plan.py",
        """        if not lock_lease(db, held):
            raise LeaseLostError
        kept =""",
        "        kept =",
        ("tests/integration/test_plans_job.py",),
    ),
    Guard(
        "model: a deadline on the clock",
        "llm/call.py",
        "return box.get(timeout=deadline_s)",
        "return box.get(timeout=deadline_s + 30)",
        ("tests/integration/test_gateway.py",),
    ),
    Guard(
        "retention: one session stops none behind it",
        "workers/jobs/sweep.py",
        "not in PASSED_OVER:\n            raise\n        tenant_id",
        "not in ():\n            raise\n        tenant_id",
        ("tests/integration/test_retention_runs.py",),
    ),
    Guard(
        "erase: a receipt is kept with what it tells of",
        "api/sessions/erase.py",
        """        keep_receipt(scope, "session", session_id, receipt)
""",
        "",
        ("tests/integration/test_erase_receipts.py",),
    ),
)

"""Guards of work that goes wrong: what counts against it, how long it waits, what goes with its session."""

from tests.acceptance.faults.guards.guard import Guard

GUARDS = (
    Guard(
        "work: a failure is put off",
        "workers/jobs/lifecycle.py",
        "        return _put_off_in_the_end(held, _delay_after(error, held, settings), settings)",
        "        raise",
        (),
    ),
    Guard(
        "work: its own faults are counted",
        "workers/jobs/lifecycle.py",
        "own_fault = not (error.transient or error.parks)",
        "own_fault = False",
        (),
    ),
    Guard(
        "work: a full disk is not its fault",
        "models/database_errors.py",
        '    "53": Trouble.FULL,\n',
        "",
        (),
    ),
    Guard(
        "lease: a renewal that fails is tried again",
        "workers/jobs/lifecycle.py",
        '                log.warning("renewal_failed", work_id=held.work_id, error=kind_of(error))',
        """                log.warning("renewal_failed", work_id=held.work_id, error=kind_of(error))
                return""",
        (),
    ),
    Guard(
        "caps: what is denied waits for its day",
        "workers/jobs/lifecycle.py",
        """    if isinstance(error, BudgetDeniedError):
        return _Delay(error.message, error.retry_in_s, None, error.denial, waits_for=WaitsFor.CAP)""",
        """    if isinstance(error, BudgetDeniedError):
        return _Delay(error.message, delay, None, error.denial, waits_for=WaitsFor.CAP)""",
        (),
    ),
    Guard(
        "dispatcher: it outlives what the database says",
        "workers/dispatch.py",
        "        except (SQLAlchemyError, BrokerError, OSError) as error:",
        "        except (BrokerError, OSError) as error:",
        (),
    ),
    Guard(
        "retention: a session goes whole",
        "workers/jobs/sweep.py",
        """        with transaction() as db:
            return erase_if_old(db, place, general=days)""",
        """        with reading() as db:
            return erase_if_old(db, place, general=days)""",
        (),
    ),
    Guard(
        "reset: the old log is behind it",
        "models/conversations/session_notes.py",
        "            start_seq=Session.last_seq,\n",
        "",
        (),
    ),
    Guard(
        "erase: artifacts go along",
        "models/erasure/sessions.py",
        "    release(scope, {*used, *attached}, receipt)\n",
        "",
        (),
    ),
    Guard(
        "erase: work goes along",
        "models/erasure/sessions.py",
        "    drop_session_work(scope, session_id, receipt)\n",
        "",
        (),
    ),
)

"""Guards of the background: hints and their broker, the processes and who starts them again, the clocks."""

from tests.acceptance.faults.guards.guard import Guard

_APP = "workers/app.py"

GUARDS = (
    Guard(
        "hints: sent again until the work is taken",
        "models/hints.py",
        "where (ahead.hinted_until is null or ahead.hinted_until <= now())",
        "where ahead.hinted_until is null",
        ("tests/integration/test_hints.py", "tests/integration/test_work.py"),
    ),
    Guard(
        "hints: one dispatcher marks a row at a time",
        "models/hints.py",
        "        for update of due_work skip locked\n",
        "",
        ("tests/integration/test_work_races.py::test_dispatchers_at_once_take_each_row_once_and_never_wait",),
    ),
    Guard(
        "hints: ids and nothing else",
        "workers/dispatch.py",
        "args=[hint.work_id],",
        'args=[hint.work_id], kwargs={"kind": hint.kind},',
        ("tests/integration/test_dispatch.py::test_a_hint_carries_an_id_and_ends_by_itself",),
    ),
    Guard(
        "hints: clocks may be apart",
        "workers/dispatch.py",
        "expires=settings.hint_lifetime_s + CLOCKS_APART_S,",
        "expires=settings.hint_lifetime_s,",
        (),
    ),
    Guard(
        "dispatcher: it outlives its broker",
        "workers/dispatch.py",
        "except (SQLAlchemyError, BrokerError, OSError) as error:",
        "except (SQLAlchemyError, OSError) as error:",
        ("tests/integration/test_dispatch.py",),
    ),
    Guard(
        "broker: a silent connection is given up",
        _APP,
        '"socket_timeout": 5,',
        '"socket_timeout": None,',
        (),
    ),
    Guard(
        "worker: a silent broker is noticed in seconds",
        _APP,
        '        "health_check_interval": 5,\n',
        "",
        (),
    ),
    Guard(
        "worker: a hint is taken when its task starts",
        _APP,
        "task_acks_late=False,",
        "task_acks_late=True,",
        (),
    ),
    Guard(
        "worker: its broker may come late",
        _APP,
        "broker_connection_retry_on_startup=True,",
        "broker_connection_retry_on_startup=False,",
        (),
    ),
    Guard(
        "worker: its broker may go away",
        _APP,
        "broker_connection_max_retries=None,",
        "broker_connection_retry=False,",
        (),
    ),
    Guard(
        "worker: what runs has a moment to end",
        _APP,
        "worker_soft_shutdown_timeout=10,",
        "worker_soft_shutdown_timeout=0,",
        (),
    ),
    Guard(
        "regular: every tick asks for the same row",
        "workers/tasks.py",
        'want(db, operator, WorkKind.SWEEP, "tables")',
        "want(db, operator, WorkKind.SWEEP, current_task.request.id)",
        (),
    ),
    Guard(
        "supervisor: what ended is started again",
        "afterturn/stack/supervisor.py",
        "finished = watched.unit.once and watched.is_up",
        "finished = watched.was_up",
        ("tests/integration/test_supervisor.py::test_a_killed_process_is_started_again_after_its_delay",),
    ),
    Guard(
        "limits: a silent store is given up",
        "models/rate.py",
        "            socket_timeout=self._timeout_s,\n",
        "            socket_timeout=None,\n",
        ("tests/integration/test_rate_limits.py",),
    ),
    Guard(
        "leases: told by the database's clock",
        "models/work.py",
        "lease_until=case((dies, None), else_=func.now() + timedelta(seconds=lease_s)),",
        "lease_until=case((dies, None), else_=datetime.now().astimezone() + timedelta(seconds=lease_s)),",
        (),
    ),
    Guard(
        "due times: told by the database's clock",
        "models/work.py",
        'func.now() + bindparam("delay", type_=Interval),',
        'literal(datetime.now().astimezone()) + bindparam("delay", type_=Interval),',
        (),
    ),
    Guard(
        "logs: an error is told by its kind",
        "api/errors.py",
        'log.error("request_failed", error=type(origin).__name__)',
        'log.error("request_failed", error=str(origin))',
        (),
    ),
    Guard(
        "logs: Postgres tells of no rows",
        "afterturn/stack/servers.py",
        '    "log_error_verbosity": "terse",\n',
        "",
        ("tests/integration/test_servers.py",),
    ),
)

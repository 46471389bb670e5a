"""The Celery tasks: a bell in, due work done, a word for the log out."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, partial

import structlog
from celery import current_task
from celery.exceptions import SoftTimeLimitExceeded
from kombu.exceptions import OperationalError as BrokerError
from sqlalchemy.exc import SQLAlchemyError

from context.summary.gate import GateSettings
from llm.gateway import complete
from llm.settings import EXTRACTIVE, llm_settings
from models.artifacts.settings import artifact_settings
from models.conversations.settings import compression_settings
from models.database import database_now, read_transaction, transaction
from models.database_errors import facts_of
from models.due_work.fair_claim import Next, Turns, claim_next, find_shares
from models.due_work.kinds import WorkQueue
from models.due_work.operator import redrive
from models.due_work.queue import Claim, WorkKind, enqueue
from models.learning.settings import learning_settings
from models.ledger.settings import budget_settings
from models.recall.settings import recall_settings
from models.retention.settings import retention_settings
from models.retention.tenant_policy import OPERATOR, RETENTION
from models.scope import Scope
from models.shadow.settings import shadow_settings
from models.tenants.tenant import ensure_tenant
from workers.app import app, asked_to_stop, between_messages, hears_bells, node
from workers.dispatch import Bells
from workers.drain import (
    Drained,
    Ear,
    Places,
    Served,
    WakeNext,
    drain,
    is_closed,
    open_places,
    served_by,
    time_limits,
)
from workers.jobs.artifact_plan import plan_contexts
from workers.jobs.learn.night import ask_for_the_night, learn
from workers.jobs.lifecycle import Handler, do_work, rules_of
from workers.jobs.precompute import precompute_artifact
from workers.jobs.preflight_labels import relabel_session
from workers.jobs.recall import index_session
from workers.jobs.shadow import judge_shadows
from workers.jobs.summarize import summarize_session
from workers.jobs.sweep import ARTIFACTS, ARTIFACTS_EVERY_S, CAPS, sweep
from workers.jobs.tool_plan import make_plan
from workers.jobs.wake import key_passages, wake_sessions
from workers.settings import RUNG_AT, TaskName, WorkerSettings, precompute_settings, worker_settings
from workers.telemetry import EventSender, WorkPiece, piece_events, settings_in_use, show_life

log = structlog.get_logger()

OUTAGES = (SQLAlchemyError, BrokerError, OSError)
"""Errors of a missing database or broker, which end a drain and no process."""

FAILED = ("lost", "lease lost", "put off", "given up")
"""First words of the outcomes shown as failed by Flower."""


def _handlers() -> Mapping[WorkKind, Handler]:
    settings = compression_settings()
    thresholds = settings.thresholds
    return {
        WorkKind.SUMMARIZE: partial(
            summarize_session,
            complete=complete,
            llm=llm_settings(),
            thresholds=thresholds,
            gate=GateSettings(min_progress=thresholds.min_progress),
            activation=settings.activation_settings,
        ),
        WorkKind.RECALL: partial(index_session, settings=recall_settings()),
        WorkKind.SWEEP: partial(
            sweep, llm=llm_settings(), caps=budget_settings().caps, cap_look_s=worker_settings().cap_look_s
        ),
        WorkKind.LEARN: partial(learn, settings=learning_settings()),
        WorkKind.PLAN: partial(make_plan, complete=complete, most_wait_s=worker_settings().plan_wait_s),
        WorkKind.ARTIFACT: partial(
            precompute_artifact,
            complete=complete,
            llm=llm_settings(),
            settings=precompute_settings(),
            ttl_s=artifact_settings().artifact_summary_ttl_s,
        ),
        WorkKind.RELABEL: partial(relabel_session, complete=complete, llm=llm_settings()),
        WorkKind.SHADOW: partial(judge_shadows, settings=shadow_settings()),
        WorkKind.WAKE: wake_sessions,
        WorkKind.USER_KEYS: key_passages,
        WorkKind.CONTEXT_PLAN: partial(plan_contexts, complete=complete, llm=llm_settings()),
    }


_ear, _turns = Ear(may_end=hears_bells), Turns()
between_messages.is_spent = lambda: _ear.is_spent
_LONGEST_S = worker_settings().drain_s + worker_settings().task_hard_limit_s + 15


def hear(queue: str | None, rung_at: datetime | None) -> str:
    """Do the due work of this worker's queues, unless the bell brings no news.

    A process with several places only wakes a place: the work goes on in a thread after the bell.

    Args:
        queue: Queue of the bell; None for a bell of this process' own, which needs no broker.
        rung_at: Time of the due work, by the database's clock; None when the bell has no time.

    Returns:
        The outcome, for the log.
    """
    if not _ear.is_news(rung_at):
        return "nothing new"
    if places_at_once() > 1:
        return "a place is awake" if _places(os.getpid()).wake() else "takes nothing more"
    try:
        drained = _drain(worker_settings(), lambda: None)
        if queue and drained.more and drained.at is not None:
            Bells(app).ring(queue, drained.at)
    except OUTAGES as error:
        # A dispatcher that finds something due rings again.
        log.warning("drain_ended", error=type(error).__name__)
        return "ended early"
    return f"{drained.pieces} done"


def ring_alone() -> None:
    """Hear a bell of this process' own, and do beat's part: the worker has lost its broker.

    An error must not end the process: no other process would take its place before the broker is back.
    """
    settings = worker_settings()
    try:
        is_late = time.monotonic() - _ear.ticked >= settings.tick_s
        if is_late and WorkQueue.MAINTENANCE in app.amqp.queues.consume_from:
            _ear.ticked = time.monotonic()
            tick()
        hear(None, None)
    except Exception as error:  # noqa: BLE001 (the lease brings the piece back)
        log.warning("drain_ended", **facts_of(error))


between_messages.ring = ring_alone


def places_at_once() -> int:
    """Return the number of pieces that this process does at once.

    Only pieces that wait for models are done side by side: a piece that computes, or may kill its process,
    is alone.
    """
    llm = llm_settings()
    waits = {llm.summarizer_model, llm.context_planner_model} != {EXTRACTIVE}
    return worker_settings().pieces_at_once if waits and _served().only_waits else 1


_taking = threading.Lock()


@cache
def _places(_pid: int) -> Places:
    """Return the places of this process. A place drains until nothing is due: no bell waits for its end."""
    endless = worker_settings().model_copy(update={"drain_s": math.inf, "drain_pieces": sys.maxsize})
    return open_places(
        places_at_once(),
        lambda wake_next: _serve(endless, wake_next),
        is_over=lambda: _is_over() or _ear.is_spent,
    )


def _serve(settings: WorkerSettings, wake_next: WakeNext) -> None:
    """Do due work at a place. Nobody rings at its end: a dispatcher that finds something due rings again."""
    try:
        _drain(settings, wake_next)
    except OUTAGES as error:
        log.warning("drain_ended", error=type(error).__name__)


def _is_over() -> bool:
    return asked_to_stop() or is_closed()


def _served() -> Served:
    return served_by(app.amqp.queues.consume_from)


def _drain(settings: WorkerSettings, taken: Callable[[], None]) -> Drained:
    """Do due work in this thread.

    Args:
        settings: Limits of pieces and time.
        taken: Function called after each claim, before the work.
    """
    served, handlers = _served(), _handlers()

    def take() -> Next:
        with _taking, transaction() as db:
            return claim_next(
                db,
                served.kinds,
                _turns,
                isolated=served.isolated,
                lease_s=settings.lease_s,
                max_crashes=settings.max_crashes,
                rules=rules_of(settings),
            )

    def do(held: Claim) -> None:
        taken()
        _do(held, handlers, settings)

    if settings.tenant_shares:
        with read_transaction() as db:
            _turns.shares = find_shares(db, settings.tenant_shares)
    return drain(_ear, take, do, settings, is_over=_is_over)


def _do(held: Claim, handlers: Mapping[WorkKind, Handler], settings: WorkerSettings) -> None:
    """Do a piece of work within the time limits, and send task events for Flower."""
    piece = WorkPiece(str(held.lease), held.kind.task, held.work_id)
    events, began = piece_events(_events), time.monotonic()
    events.begin(piece)
    outcome = "lost"
    try:
        with time_limits(
            soft_s=settings.task_soft_limit_s, hard_s=settings.task_hard_limit_s, error=SoftTimeLimitExceeded
        ):
            outcome = do_work(held, handlers, settings)
    finally:
        took_s = time.monotonic() - began
        events.end(piece, outcome, took_s=took_s, failed=outcome.startswith(FAILED))


def _events() -> EventSender:
    name = node[0] if node else None
    sender: EventSender = app.events.Dispatcher(
        app.connection_for_write(), hostname=name, buffer_while_offline=False
    )
    return sender


def _hear(*_old: object) -> str:
    """Hear a bell. Safe to run twice, late or never: the lease admits a single worker to each piece."""
    request = current_task.request
    told = request.get(RUNG_AT)
    return hear(
        request.delivery_info["routing_key"], datetime.fromisoformat(told) if isinstance(told, str) else None
    )


for _name in (TaskName.BELL, *(kind.task for kind in WorkKind)):
    # The names of pieces are those of older code's messages, which were a row's; here each is a bell.
    app.task(name=_name, send_events=False, soft_time_limit=_LONGEST_S, time_limit=_LONGEST_S + 15)(_hear)


@app.task(name=TaskName.TICK)
def tick() -> str:
    """Request the regular work. Safe to run twice: both runs request the same rows.

    A tick's run proves that tasks are taken. Regular work is never given up: the next tick redrives the work.
    """
    show_life("worker", settings_in_use())
    with transaction() as db:
        operator = ensure_tenant(db, OPERATOR)
        redrive(db, operator)
        scope = Scope(db, operator)
        enqueue(scope, WorkKind.SWEEP, "tables")
        enqueue(scope, WorkKind.SWEEP, CAPS, delay_s=worker_settings().cap_look_s)
        ask_for_the_night(db, operator, database_now(db), learning_settings())
        enqueue(scope, WorkKind.SWEEP, ARTIFACTS, delay_s=ARTIFACTS_EVERY_S)
        enqueue(scope, WorkKind.SWEEP, RETENTION, delay_s=retention_settings().retain_every_s)
    return "asked for what is regular"

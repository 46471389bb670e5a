"""Lifecycle of a piece of work: claim, renew, run, and put off after a failure."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import structlog
from sqlalchemy.exc import SQLAlchemyError
from structlog.contextvars import bound_contextvars

from context.errors import AfterturnError
from llm.failures import LlmFailure
from models.database import transaction
from models.database_errors import INNOCENT, Trouble, facts_of, kind_of, trouble_of
from models.due_work.heartbeat import LossRules
from models.due_work.queue import Claim, WorkKind, claim, renew, retry_later
from models.due_work.waiting import WaitsFor, note_denial, note_wait
from models.encryption.keys import TextUnavailableError
from models.ledger.caps import BudgetDeniedError, Denial
from models.providers.circuit_breaker import ProviderParkedError
from models.telemetry.tracing import NO_SPAN, Span, span
from workers.settings import WorkerSettings
from workers.telemetry import INSTANCE, count_work

log = structlog.get_logger()

Handler = Callable[[Claim], str]
"""Function that does the work, finishes the row in the transaction of the result, and returns the outcome."""

NOT_DUE = "not due"
LEASE_LOST = "lease lost"


class LeaseLostError(Exception):
    """Another worker has the work now; the result of this worker is thrown away."""


def run_work(work_id: int, handlers: Mapping[WorkKind, Handler], settings: WorkerSettings) -> str:
    """Do a piece of work, if due and free.

    Safe to call twice and at once: the lease admits a single caller, and results are committed under the
    lease.

    Args:
        work_id: Id of the work.
        handlers: Handler of each kind.
        settings: Leases and limits.

    Returns:
        The outcome, for the log.
    """
    with transaction() as db:
        held = claim(
            db,
            work_id,
            lease_s=settings.lease_s,
            max_crashes=settings.max_crashes,
            rules=rules_of(settings),
        )
    return NOT_DUE if held is None else do_work(held, handlers, settings)


def do_work(held: Claim, handlers: Mapping[WorkKind, Handler], settings: WorkerSettings) -> str:
    """Do a just leased piece of work. Returns the outcome, for the log."""
    began = time.monotonic()
    _tell_claim(held)
    with (
        bound_contextvars(work_id=held.work_id, tenant_id=str(held.tenant_id)),
        _renewed(held, settings),
        _step(held) as step,
    ):
        outcome = _attempt(held, handlers[held.kind], settings)
        step.tell(afterturn__outcome=outcome)
        count_work(held.kind, outcome, took_s=time.monotonic() - began)
        log.info("work_done", kind=held.kind, outcome=outcome, attempts=held.attempts)
    return outcome


def rules_of(settings: WorkerSettings) -> LossRules:
    """Return the taker of leases here, and the rules for expired leases."""
    return LossRules(
        INSTANCE, renew_s=settings.renew_s, max_losses=settings.max_losses, rest_s=settings.dead_rest_s
    )


def _tell_claim(held: Claim) -> None:
    """Trace the claim as an ended step: the work's own step is sent at its end, never after a crash."""
    if held.trace is not None:
        with span(f"claim {held.kind}", kind="consumer", parent=held.trace, **_facts(held)):
            pass


def _step(held: Claim) -> AbstractContextManager[Span]:
    """Begin the span of a piece of work; a sweep runs all day for nobody's request, and has none."""
    if held.kind is WorkKind.SWEEP:
        return nullcontext(NO_SPAN)
    return span(f"work {held.kind}", kind="consumer", parent=held.trace, **_facts(held))


def _facts(held: Claim) -> dict[str, str | int]:
    return {
        "afterturn__tenant_id": str(held.tenant_id),
        "afterturn__work_id": held.work_id,
        "afterturn__attempts": held.attempts,
        "afterturn__crashes": held.crashes,
    }


def _attempt(held: Claim, handler: Handler, settings: WorkerSettings) -> str:
    try:
        return handler(held)
    except LeaseLostError:
        return LEASE_LOST
    except Exception as error:  # noqa: BLE001 (any fault of a handler is one attempt, never the worker's end)
        if not isinstance(error, AfterturnError):
            log.warning("work_failed", work_id=held.work_id, kind=held.kind, **facts_of(error))
        return _put_off_in_the_end(held, _delay_after(error, held, settings), settings)


@dataclass(frozen=True)
class _Delay:
    """Delay and maximum number of attempts of failed work; None: an outage never kills the work.

    An error with a provider's words is also given in our own words.
    """

    error: str
    delay_s: float
    max_attempts: int | None
    denial: Denial | None = None
    own: str | None = None
    waits_for: WaitsFor | None = None
    gates: tuple[str, ...] = ()


def _delay_after(error: Exception, held: Claim, settings: WorkerSettings) -> _Delay:
    delay = backoff_s(held.attempts, settings)
    if isinstance(error, BudgetDeniedError):
        return _Delay(error.message, error.retry_in_s, None, error.denial, waits_for=WaitsFor.CAP)
    if isinstance(error, ProviderParkedError):
        return _Delay(error.message, error.retry_in_s, None, waits_for=WaitsFor.MODEL, gates=error.gates)
    if isinstance(error, LlmFailure):
        return _delay_after_failure(error, delay, settings)
    if isinstance(error, TextUnavailableError):
        return _Delay(error.message, delay, None)
    trouble = trouble_of(error)
    if trouble is Trouble.SLOW:  # by then it may have paid a model: each try may cost as much
        delay = max(delay, settings.slow_pause_s)
    return _Delay(kind_of(error), delay, None if trouble in INNOCENT else settings.max_attempts)


def _delay_after_failure(error: LlmFailure, pause_s: float, settings: WorkerSettings) -> _Delay:
    delay_s = max(error.retry_after_s or pause_s, pause_s)
    own = error.reason if error.detail else None
    own_fault = not (error.transient or error.parks)
    if own_fault:
        return _Delay(error.message, delay_s, settings.max_attempts, own=own)
    gates = (error.model,) if error.model and delay_s > pause_s else ()
    return _Delay(error.message, delay_s, None, own=own, waits_for=WaitsFor.MODEL, gates=gates)


def _spread(delay_s: float) -> float:
    """Add a random delay, so that waiting pieces do not all come at once."""
    return delay_s + random.uniform(0.05, 0.5)  # noqa: S311 (jitter, not a secret)


def _put_off_in_the_end(held: Claim, wait: _Delay, settings: WorkerSettings) -> str:
    """Put work off as soon as the database is back: the outage most likely caused the failure.

    A mere expiry of the lease would look as if the work had killed the worker.
    """
    ends = time.monotonic() + settings.put_off_s
    while True:
        try:
            return _put_off(held, wait, settings)
        except SQLAlchemyError as error:
            if trouble_of(error) not in INNOCENT or time.monotonic() >= ends:
                raise
            log.warning("put_off_failed", work_id=held.work_id, error=kind_of(error))
            time.sleep(min(_spread(0.0), settings.renew_s))


def _put_off(held: Claim, wait: _Delay, settings: WorkerSettings) -> str:
    delay_s = _spread(wait.delay_s)
    if held.kind is WorkKind.PLAN:
        delay_s = min(delay_s, settings.plan_wait_s)  # it is given up then, and whoever asked is told
    with transaction() as db:
        note_wait(db, held, wait.waits_for, wait.gates)
        if wait.denial is not None:
            note_denial(db, held, wait.denial)
        kept = retry_later(
            db,
            held,
            wait.error,
            delay_s=delay_s,
            max_attempts=wait.max_attempts,
            own=wait.own,
            rest_s=settings.dead_rest_s,
        )
    if not kept:
        return LEASE_LOST
    if wait.max_attempts is not None and held.attempts >= wait.max_attempts:
        return f"given up: {wait.own or wait.error}"
    return f"put off {delay_s:.1f} s: {wait.own or wait.error}"


def backoff_s(attempts: int, settings: WorkerSettings) -> float:
    """Compute the wait before the next attempt: doubling, bounded. Waiting work has a row, not a timer."""
    doubled: float = settings.backoff_s * 2 ** min(max(attempts - 1, 0), 30)
    return min(doubled, settings.backoff_max_s)


@contextmanager
def _renewed(held: Claim, settings: WorkerSettings) -> Iterator[None]:
    """Renew the lease while the work runs; a dead worker renews nothing."""
    done = threading.Event()

    def keep() -> None:
        while not done.wait(settings.renew_s):
            try:
                with transaction() as db:
                    if not renew(db, held, lease_s=settings.lease_s):
                        return
            except SQLAlchemyError as error:
                log.warning("renewal_failed", work_id=held.work_id, error=kind_of(error))

    thread = threading.Thread(target=keep, name=f"lease-{held.work_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(timeout=settings.renew_s)

"""The dispatcher: due work becomes hints. It keeps nothing that could be lost, and any number may run."""

import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

import psycopg
import structlog
from celery import Celery
from kombu.exceptions import OperationalError as BrokerError
from sqlalchemy.exc import SQLAlchemyError

from llm.settings import llm_settings
from models.hints import Hint, take_hints
from models.observe import configure_logging
from models.parked_work import release_parked
from models.session import transaction
from models.settings import database_settings, require_settings
from models.starting import or_exit
from models.tracing import close_traces, name_process, span
from models.work import WAKE_CHANNEL, WorkKind
from workers.app import app
from workers.observe import show_life
from workers.schedule import CLOCKS_APART_S, HINTED_UNTIL, TaskName
from workers.settings import WorkerSettings, worker_settings

log = structlog.get_logger()

ROUTES = {
    WorkKind.SUMMARIZE: (TaskName.SUMMARIZE, "summaries"),
    WorkKind.RECALL: (TaskName.INDEX_RECALL, "maintenance"),
    WorkKind.SWEEP: (TaskName.SWEEP, "maintenance"),
    WorkKind.LEARN: (TaskName.LEARN, "learning"),
    WorkKind.PLAN: (TaskName.PLAN, "plans"),
    WorkKind.ARTIFACT: (TaskName.READ_ARTIFACT, "artifacts"),
    WorkKind.CONTEXT_PLAN: (TaskName.PLAN_CONTEXT, "plans"),
    WorkKind.RELABEL: (TaskName.RELABEL, "plans"),
    WorkKind.SHADOW: (TaskName.JUDGE_SHADOWS, "maintenance"),
}
ISOLATION = "isolation"
HEARTBEAT_S = 5.0
TROUBLE_PAUSE_S = 1.0


def dispatch_once(send: Callable[[Hint], None], settings: WorkerSettings) -> int:
    """Send one hint for each piece of work that is due. Returns how many.

    The rows are marked first and the hints sent after the commit: a hint that is lost on the way is
    sent again when its life is over.
    """
    with transaction() as db:
        hints = take_hints(
            db,
            limit=settings.hints_at_once,
            hint_lifetime_s=settings.hint_lifetime_s,
            ahead=settings.hints_ahead,
        )
    for hint in hints:
        send(hint)
    return len(hints)


def look_at_models(settings: WorkerSettings) -> None:
    """Let some of the work go on that waits for a model which may be asked by now."""
    per_minute = llm_settings().llm_calls_per_minute
    with transaction() as db:
        released = release_parked(db, look_s=settings.model_look_s, calls_per_minute=per_minute)
    if released:
        log.info("parked_work_released", released=released)


def hint_sender(celery: Celery, settings: WorkerSettings) -> Callable[[Hint], None]:
    """Send hints by Celery: an id, to the queue of its kind, gone when nobody takes it in time."""

    def send(hint: Hint) -> None:
        task, queue = ROUTES[hint.kind]
        with _traced(hint):
            celery.send_task(
                task,
                args=[hint.work_id],
                queue=ISOLATION if hint.isolated else queue,
                expires=settings.hint_lifetime_s + CLOCKS_APART_S,
                headers={HINTED_UNTIL: hint.until.isoformat()} if hint.until else {},
                retry=False,
                ignore_result=True,
            )

    return send


def _traced(hint: Hint) -> AbstractContextManager[object]:
    """A span of the trace that the work belongs to; work of no trace is hinted at without one."""
    if hint.trace is None:
        return nullcontext()
    return span(f"hint {hint.kind}", kind="producer", parent=hint.trace, afterturn__work_id=hint.work_id)


class Waker:
    """Waits until somebody asks for work that is waited for, or until the next poll."""

    def __init__(self, database_url: str) -> None:
        """Listen at the first wait."""
        self._url = database_url
        self._connection: psycopg.Connection | None = None

    def wait(self, timeout_s: float) -> None:
        """Return at a wake-up, or after the time; without a database after the time."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=3)
                self._connection.execute(f"listen {WAKE_CHANNEL}")
            for _ in self._connection.notifies(timeout=timeout_s, stop_after=1):
                pass
        except psycopg.Error:
            self.close()
            time.sleep(timeout_s)

    def close(self) -> None:
        """Stop listening."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def run(is_over: Callable[[], bool], settings: WorkerSettings) -> None:
    """Dispatch until told to stop, whatever happens to the database or the broker meanwhile.

    Args:
        is_over: Whether to stop; asked between two looks.
        settings: How often to look, and how hints are sent.
    """
    send = hint_sender(app, settings)
    waker = Waker(database_settings().database_url)
    next_beat = next_look = 0.0
    while not is_over():
        try:
            if time.monotonic() >= next_beat:
                show_life("dispatcher")
                next_beat = time.monotonic() + HEARTBEAT_S
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + settings.model_look_s
                look_at_models(settings)
            sent = dispatch_once(send, settings)
        except (SQLAlchemyError, BrokerError, OSError) as error:
            log.warning("dispatch_failed", error=type(error).__name__)
            time.sleep(TROUBLE_PAUSE_S)
            continue
        if sent < settings.hints_at_once:
            waker.wait(settings.poll_s)
    waker.close()
    close_traces()


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    configure_logging()
    name_process("dispatcher")
    with or_exit():
        require_settings()
        settings = worker_settings()
        llm_settings()
    # No lock: a handler runs between any two lines of ours, also where an event's own lock is held.
    asked: list[int] = []

    def ask(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    run(lambda: bool(asked), settings)


if __name__ == "__main__":
    main()

"""`afterturn status`: a live view of waiting work, processes, models and costs."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import SQLAlchemyError

from afterturn.operating import DATA_DIRECTORY, AsJson, print_json, use_running_stack
from afterturn.progress import Stopped, stop_signals
from afterturn.status_view import StatusReading, draw, draw_trouble, judge
from models.base_settings import RELEASE
from models.database import make_engine
from models.database_settings import database_settings
from models.ledger.caps import find_caps
from models.ledger.settings import budget_settings
from models.snapshot import Spend, sum_spend, take_snapshot

PIPED_WIDTH = 120
SPEND_EVERY_S = 10.0
"""Refresh interval of the spend, in seconds, since the sum covers all calls of the day."""

STATEMENT_TIMEOUT_MS = 3_000

app = typer.Typer(add_completion=False)


@app.command()
def status(
    data_dir: Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")] = DATA_DIRECTORY,
    once: Annotated[bool, typer.Option("--once", help="Print one frame and exit.")] = False,
    every_s: Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two looks.")] = 2.0,
    json: AsJson = False,
) -> None:
    """Watch due work, processes, models and costs until Ctrl-C; a single frame without a terminal."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    use_running_stack(data_dir)
    with opened() as engine:
        look = Look(engine)
        if json or once or not console.is_terminal:
            print_once(console, look, as_json=json)
        else:
            watch(console, look, every_s=every_s)


@contextmanager
def opened() -> Iterator[Engine]:
    """Open a pool with short timeouts, to report an unreachable database soon."""
    settings = database_settings()
    brief = {"statement_timeout_ms": STATEMENT_TIMEOUT_MS, "pool_size": 1, "pool_overflow": 0}
    engine = make_engine(settings.model_copy(update=brief), autocommit=True)
    try:
        yield engine
    finally:
        engine.dispose()


class Look:
    """Repeated readings of a database."""

    def __init__(self, engine: Engine) -> None:
        """Know nothing yet."""
        self._engine = engine
        self._spend: tuple[float, Spend] | None = None
        url = make_url(database_settings().database_url)
        self.place = f"{url.host or 'local'}{f':{url.port}' if url.port else ''}/{url.database}"

    def frame(self) -> StatusReading:
        """Read the present state.

        Raises:
            SQLAlchemyError: The database does not answer, or is not migrated.
        """
        now = datetime.now(UTC)
        with self._engine.connect() as db:
            snapshot = take_snapshot(db, now=now)
            caps = find_caps(db, budget_settings().caps)
            if self._spend is None or time.monotonic() - self._spend[0] >= SPEND_EVERY_S:
                self._spend = (time.monotonic(), sum_spend(db, caps.caps, now=now))
        return StatusReading(snapshot, self._spend[1], caps, now, self.place)

    def picture(self, width: int, height: int) -> RenderableType:
        """Draw the present state for a screen, or the reason for a failure."""
        try:
            return draw(self.frame(), width=width, height=height)
        except SQLAlchemyError as error:
            return draw_trouble(self.place, reason_of(error))


def print_once(console: Console, look: Look, *, as_json: bool) -> None:
    """Print a single frame, or a line with the reason for a failure."""
    try:
        frame = look.frame()
        if as_json:
            print_json({"release": RELEASE, "verdict": judge(frame)[0], **vars(frame)})
        else:
            console.print(draw(frame, width=console.width))
    except SQLAlchemyError as error:
        print(f"afterturn: {look.place}: {reason_of(error)}", file=sys.stderr)
        print("Run `make up` first, or set AFTERTURN_DATABASE_URL to a migrated database.", file=sys.stderr)
        raise typer.Exit(1) from None


def watch(console: Console, look: Look, *, every_s: float) -> None:
    """Show frames until stopped."""
    try:
        with stop_signals(), Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(look.picture(console.width, console.height), refresh=True)
                time.sleep(every_s)
    except Stopped:
        return


def reason_of(error: SQLAlchemyError) -> str:
    """Return the first line of the driver's message."""
    return (str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__])[0]

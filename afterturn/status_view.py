"""Picture of `afterturn status`, drawn from values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from io import StringIO

from rich.align import Align
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from models.due_work.heartbeat import MODELS_IN_USE
from models.due_work.queue import WorkKind
from models.ledger.caps import CapsInForce, SaidBy
from models.providers.circuit_breaker import Gate, GateState
from models.retention.tenant_policy import LastRun
from models.snapshot import ALIVE_S, Snapshot, Spend, WorkCount
from models.telemetry.counters import Counted

ROLES = ("dispatcher", "worker", "beat")
"""Roles required for any work, in the order of a piece of work."""

LATE_S, VERY_LATE_S = 60.0, 300.0
NEAR, FULL = 0.8, 1.0
MANY_MESSAGES = 1_000
"""Number of messages in a broker queue above which the queue is not being emptied."""
BAR_CELLS = 12
WIDE, LEFT = 118, 74
MOST_LINES = 12
"""First limit of lines per panel, if the picture is too large."""

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
NOTHING = Text("·", style="bright_black")
STATES = ("due", "running", "later", "put-off", "lost", "dead")
STYLES = {
    "due": "cyan",
    "running": "green",
    "later": "bright_black",
    "put-off": "yellow",
    "lost": "yellow",
    "dead": "bold red",
}


@dataclass(frozen=True)
class StatusReading:
    """State at a moment.

    Attributes:
        snapshot: Queues, roles, models, counts.
        spend: Charges of the present day.
        caps: The workers' caps, as far as reported.
        now: Time of the reading.
        place: The database, without a password.
    """

    snapshot: Snapshot
    spend: Spend
    caps: CapsInForce
    now: datetime
    place: str


def draw(frame: StatusReading, *, width: int, height: int | None = None) -> RenderableType:
    """Draw the whole picture.

    Args:
        frame: The state.
        width: Columns of the screen; a wide screen gets two halves.
        height: Lines of the screen, None for no limit: if space is short, every panel keeps its most
            important lines and counts the rest.
    """
    picture = _picture(frame, width, None)
    for most in range(MOST_LINES, 0, -1):
        if height is None or lines_of(picture, width) <= height:
            return picture
        picture = _picture(frame, width, most)
    return picture


def lines_of(picture: RenderableType, width: int) -> int:
    """Count the lines of a picture."""
    return len(Console(width=width, height=1_000, file=StringIO()).render_lines(picture))


def _picture(frame: StatusReading, width: int, most: int | None) -> RenderableType:
    """Draw all panels; with `most`, limit each panel's lines beside its heading, without wrapping."""
    snapshot = frame.snapshot
    wide = width >= WIDE
    work, minute = _work(snapshot, most, every_kind=wide), _last_minute(snapshot, most)
    processes, models = _processes(snapshot, most), _models(snapshot, frame.now, most)
    money = _money(frame, most)
    if not wide:
        return Group(_title(frame, width), work, minute, _beside(processes, money), models)
    halves = _beside(Group(work, minute), Group(processes, models, money), left=LEFT)
    return Group(_title(frame, width), halves)


def _beside(one: RenderableType, other: RenderableType, *, left: int | None = None) -> Table:
    grid = Table.grid(expand=True)
    grid.add_column(width=left, ratio=None if left else 1)
    grid.add_column(ratio=1)
    grid.add_row(one, other)
    return grid


def _fill(table: Table, rows: Sequence[Sequence[RenderableType]], most: int | None) -> None:
    """Add the first rows, and how many more there are."""
    shown = rows if most is None or len(rows) <= most else rows[: most - 1]
    for row in shown:
        table.add_row(*row)
    if left := len(rows) - len(shown):
        table.add_row(Text(f"… {left} more", style="bright_black"))


def draw_trouble(place: str, reason: str) -> RenderableType:
    """Draw the reason for a failed reading."""
    said = Group(Text("the database does not answer", style="bold red"), Text(reason), Text(place, "dim"))
    return Panel(Align.center(said), title="afterturn", border_style="red", padding=(1, 4))


def _title(frame: StatusReading, width: int) -> Text:
    verdict, style = judge(frame)
    name = Text.assemble((" afterturn ", "bold reverse"), "  ", (f"● {verdict}", style))
    place = Text(f"{frame.place}  {frame.now:%Y-%m-%d %H:%M:%S} UTC", style="bright_black")
    room = width - len(name) - len(place)
    return name.append(" " * room if room > 1 else "\n ").append_text(place)


def judge(frame: StatusReading) -> tuple[str, str]:
    """Summarize the state in a few words, the worst first, with a colour."""
    snapshot = frame.snapshot
    alive = {one.role for one in snapshot.roles if one.alive}
    missing = [role for role in ROLES if role not in alive]
    dead = sum(one.count for one in snapshot.work if one.state == "dead")
    late_s = max((one.oldest_s for one in snapshot.work if one.waits), default=0.0)
    over_caps = sum(one.count for one in snapshot.over_caps)
    if missing:
        return f"no {' and no '.join(missing)} at work", "bold red"
    if late_s >= VERY_LATE_S:
        return f"work has waited for {_age(late_s)}", "bold red"
    worries = (
        (dead > 0, f"{dead} given up: see `afterturn work list`"),
        (any(gate.state is GateState.OPEN for gate in snapshot.gates), "a model is not asked"),
        (
            max(snapshot.queues.values(), default=0) >= MANY_MESSAGES,
            "the broker is full of old messages",
        ),
        (over_caps > 0, f"{over_caps:,} wait for a cap: see `afterturn work list`"),
        (max(frame.spend.fullest.values(), default=0.0) >= NEAR, "a cap is nearly used up"),
        (snapshot.retention is not None and snapshot.retention.is_late, "old things are not deleted"),
    )
    found = next((words for holds, words in worries if holds), None)
    return (found, "bold yellow") if found else ("all is well", "bold green")


def _work(snapshot: Snapshot, most: int | None, *, every_kind: bool) -> RenderableType:
    rows: dict[str, dict[str, WorkCount]] = {kind.value: {} for kind in WorkKind}
    for one in snapshot.work:
        rows.setdefault(one.kind, {})[one.state] = one
    done, busy_s = (_by_first(snapshot, name) for name in (Counted.WORK, Counted.WORK_SECONDS))
    table = Table(box=None, expand=True, header_style="bright_black", padding=(0, 1, 0, 0))
    table.add_column("kind", no_wrap=True)
    for name in ("due", "oldest", *STATES[1:], "/min", "busy"):
        table.add_column(name, justify="right", no_wrap=True)
    lines: list[Sequence[RenderableType]] = []
    for kind in rows if most is None else sorted(rows, key=lambda one: _urgency(rows[one]), reverse=True):
        states = rows[kind]
        if every_kind or states or done.get(kind):
            counts = [_count(states.get(state), state) for state in STATES]
            busy = f"{busy_s.get(kind, 0.0) / MINUTE_S:.1f}"
            line = (
                Text(kind, style="bold" if states else "bright_black"),
                counts[0],
                _oldest([one for one in states.values() if one.waits]),
                *counts[1:],
                _number(done.get(kind, 0.0)),
                NOTHING if busy == "0.0" else Text(busy),
            )
            lines.append(line)
    if not lines:
        lines.append((Text("nothing", style="bright_black"), *[NOTHING] * (len(STATES) + 3)))
    _fill(table, lines, most)
    title = "work" + (", counted up to a bound: there is more" if snapshot.is_cut else "")
    return Panel(table, title=title, title_align="left", border_style="blue")


def _urgency(states: Mapping[str, WorkCount]) -> tuple[bool, float, int]:
    """Sort key by urgency: given-up work first, then long waiting work, then large counts."""
    late_s = max((one.oldest_s for one in states.values() if one.waits), default=0.0)
    return "dead" in states, late_s, sum(one.count for one in states.values())


def _count(one: WorkCount | None, state: str) -> Text:
    return Text(f"{one.count:,}", style=STYLES[state]) if one else NOTHING


def _oldest(waiting: Sequence[WorkCount]) -> Text:
    if not waiting:
        return NOTHING
    oldest_s = max(one.oldest_s for one in waiting)
    style = "bold red" if oldest_s >= VERY_LATE_S else "yellow" if oldest_s >= LATE_S else "cyan"
    return Text(_age(oldest_s), style=style)


def _by_first(snapshot: Snapshot, name: Counted) -> Mapping[str, float]:
    """Sum the last minute's counts by first label."""
    sums: dict[str, float] = {}
    for one in snapshot.totals:
        if one.name == name:
            first = one.labels[0] if one.labels else ""
            sums[first] = sums.get(first, 0.0) + one.last_minute
    return sums


def _last_minute(snapshot: Snapshot, most: int | None) -> RenderableType:
    turns = _by_first(snapshot, Counted.TURNS).get("", 0.0)
    contexts = sum(_by_first(snapshot, Counted.CONTEXTS).values())
    tokens = _by_first(snapshot, Counted.CONTEXT_TOKENS)
    summaries = _by_first(snapshot, Counted.SUMMARIES)
    preflight, reads = (_by_first(snapshot, one) for one in (Counted.PREFLIGHT, Counted.ARTIFACT_READS))
    calls = sum(_by_first(snapshot, Counted.CALLS).values())
    saved, sent = tokens.get("saved", 0.0), tokens.get("sent", 0.0)
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column()
        grid.add_column(justify="right")
    facts = (
        ("turns", _number(turns)),
        ("summaries in force", _number(summaries.get("activated", 0.0))),
        ("calls to models", _number(calls)),
        ("contexts", _number(contexts)),
        ("… prepared", _number(summaries.get("prepared", 0.0))),
        ("tools filtered", _share(preflight.get("filtered", 0.0), sum(preflight.values()))),
        ("history saved", _share(saved, saved + sent)),
        ("… rejected", _number(summaries.get("rejected", 0.0), "yellow")),
        ("artifacts hit", _share(reads.get("exact", 0.0), sum(reads.values()))),
    )
    lines = [
        [cell for name, value in facts[place : place + 3] for cell in (Text(name, "dim"), value)]
        for place in range(0, len(facts), 3)
    ]
    _fill(grid, lines, most)
    return Panel(grid, title="last full minute", title_align="left", border_style="blue")


def _processes(snapshot: Snapshot, most: int | None) -> RenderableType:
    known = {one.role: one for one in snapshot.roles}
    lines: list[tuple[Text, Text]] = []
    roles = [*ROLES, *sorted(known.keys() - set(ROLES))]
    if most is not None:
        roles.sort(key=lambda role: role in known and known[role].alive > 0)
    for role in roles:
        one = known.get(role)
        if one is None:
            lines.append((Text(role), Text("never seen", style="bold red")))
            continue
        style = "green" if one.alive else "bold red"
        count = f"{one.alive}" if one.alive else f"none for {ALIVE_S:g} s"
        seen = Text(f"  seen {_age(one.seen_s)} ago", style="bright_black")
        lines.append((Text(role), Text.assemble(("● ", style), (count, style), seen)))
    lines.append((Text("broker"), _queues(snapshot.queues)))
    lines.append((Text("retention"), _last_run(snapshot.retention)))
    table = _plain(lines, most)
    return Panel(table, title="at work", title_align="left", border_style="blue")


def _queues(queues: Mapping[str, int]) -> Text:
    """Draw the broker's queues; normally nearly empty."""
    if not queues:
        return Text("no dispatcher has said", style="bright_black")
    held = ", ".join(f"{queue} {messages:,}" for queue, messages in queues.items() if messages)
    many = max(queues.values()) >= MANY_MESSAGES
    return Text(held or "no bell waits", style="bold yellow" if many else "bright_black")


def _last_run(run: LastRun | None) -> Text:
    if run is None:
        return Text("never asked for", style="bright_black")
    style = "bold yellow" if run.is_late else "green"
    if run.outcome is None:
        return Text(f"none yet, asked for {_age(run.since_s)} ago", style=style if run.is_late else "dim")
    ran = (f"{_age(run.since_s)} ago", style)
    return Text.assemble(("● ", style), ran, (f"  {run.outcome}", "bright_black"))


def _models(snapshot: Snapshot, now: datetime, most: int | None) -> RenderableType:
    detail = next((one.detail for one in snapshot.roles if one.role == "worker"), {})
    used = [purpose for purpose in MODELS_IN_USE if purpose in detail]
    lines = [(Text(purpose), Text(str(detail[purpose]), style="bold")) for purpose in used]
    gates = sorted(snapshot.gates, key=lambda gate: gate.state is not GateState.OPEN)
    failing = [(_gate_mark(gate), Text(f"{gate.model}: {_gate_words(gate, now)}")) for gate in gates]
    lines = [*lines, *failing] if most is None else [*failing, *lines]
    table = _plain(lines or [(Text("no worker has said which", style="bright_black"), Text(""))], most)
    return Panel(table, title="models", title_align="left", border_style="blue")


def _gate_mark(gate: Gate) -> Text:
    style = {GateState.OPEN: "bold red", GateState.HALF_OPEN: "yellow", GateState.CLOSED: "bright_black"}
    return Text({GateState.OPEN: "not asked"}.get(gate.state, "failing"), style=style[gate.state])


def _gate_words(gate: Gate, now: datetime) -> str:
    wait = f" for {_age((gate.until - now).total_seconds())}" if gate.until and gate.until > now else ""
    return f"{gate.failures} failed{wait}, {gate.reason}"


def _money(frame: StatusReading, most: int | None) -> RenderableType:
    spend, caps = frame.spend, frame.caps.caps
    lines: list[tuple[Text, Text]] = []
    usd_cap = f"${caps.tenant_usd_per_day:,}" if caps.tenant_usd_per_day else ""
    tokens_cap = _short(caps.tenant_tokens_per_day) if caps.tenant_tokens_per_day else ""
    lines.append((Text("charged"), Text(f"${spend.usd:,.2f}  {_short(spend.tokens)} tokens", style="bold")))
    for unit, cap in (("usd", usd_cap), ("tokens", tokens_cap)):
        share = spend.fullest.get(unit)
        words = Text("no cap", style="bright_black") if share is None else _bar(share, cap)
        lines.append((Text(f"cap {unit}"), words))
    if doubt := _doubt(frame.caps):
        lines.append((Text("caps"), Text(doubt, style="yellow")))
    unpriced = sum(one.last_minute for one in frame.snapshot.totals if one.name == Counted.UNPRICED)
    if unpriced:
        lines.append((Text("no price"), Text(f"{unpriced:g} calls in a minute", style="yellow")))
    table = _plain(lines, most)
    return Panel(table, title="money today", title_align="left", border_style="blue")


def _doubt(caps: CapsInForce) -> str:
    """Name the uncertainty about the caps; empty if certain."""
    if caps.said_by is SaidBy.OWN_SETTINGS:
        return "this command's, no worker's"
    return "workers have different ones" if caps.differ else ""


def _bar(share: float, cap: str) -> Text:
    """Draw a bar, full at 1 and red above."""
    filled = min(round(share * BAR_CELLS), BAR_CELLS)
    style = "bold red" if share >= FULL else "yellow" if share >= NEAR else "green"
    rest = BAR_CELLS - filled
    words = (f" {share:.0%}", style), (f" of {cap}", "bright_black")
    return Text.assemble(("━" * filled, style), ("─" * rest, "bright_black"), *words)


def _plain(lines: Sequence[tuple[Text, Text]], most: int | None) -> Table:
    """Draw names and facts; with a line limit, a long fact ends in an ellipsis."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim", min_width=max(name.cell_len for name, _ in lines))
    table.add_column()
    for _, fact in lines:
        fact.overflow, fact.no_wrap = ("fold", False) if most is None else ("ellipsis", True)
    _fill(table, lines, most)
    return table


def _number(value: float, style: str = "") -> Text:
    return Text(_short(value), style=style or "bold") if value else NOTHING


def _share(part: float, whole: float) -> Text:
    return Text(f"{part / whole:.0%}", style="bold") if whole else NOTHING


def _short(value: float | Decimal) -> str:
    """A number in at most five characters: 950, 12.3k, 4.1M."""
    amount = float(value)
    for least, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if amount >= least:
            return f"{amount / size:.3g}{unit}"
    return f"{amount:,.0f}"


def _age(seconds: float) -> str:
    """A time in two units at most: 0 s, 59 s, 3 min, 2 h 5 min, 4 d."""
    whole = max(int(seconds), 0)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min"
    if whole < DAY_S:
        return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S} min"
    return f"{whole // DAY_S} d"

"""Picture of learning: gain over words alone against history size, and drift from night to night."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from models.learning.prior_set import SetFacts, SetState

COLORS = ("#1f6feb", "#d1570c", "#1a7f37", "#8250df", "#b35900", "#0a7ea4")
GREY = "#6e7781"
MOST_CATALOGS = len(COLORS)
REJECTED = "#ffffff"


def draw(sets: Sequence[SetFacts], out: Path) -> None:
    """Draw the judged sets.

    Args:
        sets: Sets with their numbers, in any order; the catalogs with most sets, if colors run out.
        out: Path of the picture; its suffix names the format.
    """
    with rc_context({"date.converter": "concise"}):
        _draw(_by_catalog(sets), out)


def _draw(catalogs: Sequence[tuple[str, list[SetFacts]]], out: Path) -> None:
    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    recall, lift, drift = figure.subplots(3, 1, height_ratios=(3, 2, 2))
    for (name, rows), color in zip(catalogs, COLORS, strict=False):
        _draw_recall(recall, name, rows, color)
        _draw_lift(lift, rows, color)
        _draw_drift(drift, rows, color)
    _label_recall(recall)
    _label_lift(lift)
    _label_drift(drift)
    figure.savefig(out, dpi=130)


def _by_catalog(sets: Sequence[SetFacts]) -> list[tuple[str, list[SetFacts]]]:
    found: dict[str, list[SetFacts]] = defaultdict(list)
    for one in sorted(sets, key=lambda one: one.version):
        found[one.name].append(one)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [(name or "(no catalog)", rows) for name, rows in ordered[:MOST_CATALOGS]]


def _number(one: SetFacts, which: str) -> float:
    numbers: Mapping[str, Any] = one.evaluation[which]
    return float(numbers["recall_at_5"])


def _plans(rows: Sequence[SetFacts]) -> list[float]:
    return [max(one.evidence, 1.0) for one in rows]


def _draw_recall(axes: Axes, name: str, rows: Sequence[SetFacts], color: str) -> None:
    axes.plot(_plans(rows), [_number(one, "words") for one in rows], color=color, ls=":", lw=1.5)
    axes.plot(_plans(rows), [_number(one, "new") for one in rows], color=color, lw=2, label=name)
    _draw_marks(axes, _plans(rows), [_number(one, "new") for one in rows], rows, color)


def _draw_lift(axes: Axes, rows: Sequence[SetFacts], color: str) -> None:
    lifts = [_number(one, "new") - _number(one, "words") for one in rows]
    axes.plot(_plans(rows), lifts, color=color, lw=2)
    _draw_marks(axes, _plans(rows), lifts, rows, color)


def _draw_drift(axes: Axes, rows: Sequence[SetFacts], color: str) -> None:
    known = [one for one in rows if one.drift is not None]
    moved = [float(one.drift or 0.0) for one in known]
    dates: list[Any] = [one.made_at for one in known]
    axes.plot(dates, moved, color=color, lw=1.5)
    _draw_marks(axes, dates, moved, known, color)


def _draw_marks(
    axes: Axes, across: Sequence[Any], up: Sequence[float], rows: Sequence[SetFacts], color: str
) -> None:
    """Draw active sets as filled marks, rejected sets as hollow marks."""
    faces = [color if one.state != SetState.REJECTED else REJECTED for one in rows]
    axes.scatter(across, up, s=34, c=faces, edgecolors=color, linewidths=1.5, zorder=3)


def _label_recall(axes: Axes) -> None:
    axes.set_title("What learning brought, on recent plans that did not teach", loc="left", weight="bold")
    axes.set_ylabel("recall@5")
    axes.set_ylim(0, 1.03)
    axes.plot([], [], color=GREY, ls=":", label="words alone")
    axes.scatter([], [], s=34, c=GREY, label="took effect")
    axes.scatter([], [], s=34, c=REJECTED, edgecolors=GREY, linewidths=1.5, label="rejected")
    axes.legend(loc="lower right", ncols=3, frameon=False)
    _plans_across(axes)


def _label_lift(axes: Axes) -> None:
    axes.set_ylabel("lift over words")
    axes.axhline(0, color=GREY, lw=1)
    axes.set_xlabel("plans in the history (decayed)")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.2f}"))
    _plans_across(axes)


def _label_drift(axes: Axes) -> None:
    axes.set_ylabel("drift a night")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("night")
    _quiet(axes)


def _plans_across(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    _quiet(axes)


def _quiet(axes: Axes) -> None:
    axes.grid(visible=True, color="#d0d7de", lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)

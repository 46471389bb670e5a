"""Picture of learning: the newest night as bars with intervals, and each night's recall and drift by day."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from afterturn.priors import RANKINGS, RECALLS, share_of
from context.types import Share
from models.learning.prior_set import SetState
from models.learning.set_listing import SetFacts

COLORS = ("#1f6feb", "#d1570c", "#1a7f37", "#8250df", "#b35900", "#0a7ea4")
SHADES = {"new": 1.0, "in_force": 0.55, "words": 0.25}
"""Rankings among the bars, with the strength of their color."""

GREY = "#6e7781"
MOST_CATALOGS = len(COLORS)
REJECTED = "#ffffff"
BAR = 0.26
LEAST_DAYS = 6
"""Days across at least, so that two nights do not fill the picture."""


def draw(sets: Sequence[SetFacts], out: Path) -> None:
    """Draw the judged sets.

    Args:
        sets: Sets with their numbers, in any order; the catalogs with most sets, if colors run out.
        out: Path of the picture; its suffix names the format.
    """
    catalogs = _by_catalog(sets)
    nights = len({one.made_at.date() for _, rows in catalogs for one in rows})
    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "errorbar.capsize": 3,
            "date.converter": "concise",
        }
    ):
        panels = 1 if nights == 1 else 3
        figure = Figure(figsize=(11, 4 if panels == 1 else 9), layout="constrained")
        FigureCanvasAgg(figure)
        axes: list[Axes] = list(figure.subplots(panels, 1, squeeze=False)[:, 0])
        _draw_newest(axes[0], catalogs)
        if panels > 1:
            _draw_nights(axes[1], catalogs)
            _draw_drift(axes[2], catalogs)
            _days_across(axes[1:], sets)
        figure.savefig(out, dpi=130)


def _by_catalog(sets: Sequence[SetFacts]) -> list[tuple[str, list[SetFacts]]]:
    found: dict[str, list[SetFacts]] = defaultdict(list)
    for one in sorted(sets, key=lambda one: one.version):
        found[one.name].append(one)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [(name or "(no catalog)", rows) for name, rows in ordered[:MOST_CATALOGS]]


def _draw_newest(axes: Axes, catalogs: Sequence[tuple[str, list[SetFacts]]]) -> None:
    """Draw the newest set of each catalog beside the set in force and words alone."""
    ticks: list[tuple[float, str]] = []
    for place, ((name, rows), color) in enumerate(zip(catalogs, COLORS, strict=False)):
        newest = rows[-1]
        plans = int(newest.evaluation["new"]["plans"])
        for at, recall in enumerate(RECALLS):
            x = place * 2.4 + at
            ticks.append((x, f"{RECALLS[recall]}\n{name}, {plans} plans"))
            found = [(one, share_of(newest.evaluation.get(one, {}), recall)) for one in SHADES]
            bars = [(ranking, share) for ranking, share in found if share is not None]
            for step, (ranking, share) in enumerate(bars):
                _draw_bar(axes, x + (step - (len(bars) - 1) / 2) * BAR, share, color, SHADES[ranking])
    for ranking, shade in SHADES.items():
        axes.bar([0], [0], color=GREY, alpha=shade, label=RANKINGS[ranking])
    axes.set_xticks([x for x, _ in ticks], [label for _, label in ticks])
    axes.set_ylim(0, 1.03)
    axes.set_xlim(-0.6, max(x for x, _ in ticks) + 0.6)
    verdicts = ", ".join(f"{name}: {rows[-1].state}" for name, rows in catalogs)
    day = max(rows[-1].made_at for _, rows in catalogs)
    axes.set_title(f"Newest sets, {day:%Y-%m-%d} ({verdicts})", loc="left", weight="bold")
    axes.set_ylabel("share of tools found, 95 % interval")
    axes.legend(**_beside_title(len(SHADES)))
    axes.grid(axis="y", color="#d0d7de", lw=0.6)
    axes.set_axisbelow(True)


def _draw_bar(axes: Axes, x: float, share: Share, color: str, shade: float) -> None:
    around = [[share.share - share.low], [share.high - share.share]]
    axes.bar([x], [share.share], BAR, color=color, alpha=shade)
    axes.errorbar([x], [share.share], around, fmt="none", ecolor="#24292f", elinewidth=1.2)


def _draw_nights(axes: Axes, catalogs: Sequence[tuple[str, list[SetFacts]]]) -> None:
    for (name, rows), color in zip(catalogs, COLORS, strict=False):
        for ranking, style in (("new", "-"), ("words", ":")):
            known = [(one, share_of(one.evaluation.get(ranking, {}), "recall_at_5")) for one in rows]
            shares = [(one, share) for one, share in known if share is not None]
            days: list[Any] = [one.made_at for one, _ in shares]
            up = [share.share for _, share in shares]
            around = [
                [share.share - share.low for _, share in shares],
                [share.high - share.share for _, share in shares],
            ]
            label = name if ranking == "new" else None
            axes.errorbar(days, up, around, color=color, ls=style, lw=1.5, elinewidth=0.8, label=label)
            if ranking == "new":
                _draw_marks(axes, days, up, [one for one, _ in shares], color)
    axes.set_title("Each night", loc="left", weight="bold")
    axes.set_ylabel("recall@5")
    axes.set_ylim(0, 1.03)
    axes.plot([], [], color=GREY, ls=":", label="words alone")
    axes.scatter([], [], s=34, c=GREY, label="took effect")
    axes.scatter([], [], s=34, c=REJECTED, edgecolors=GREY, linewidths=1.5, label="rejected")
    axes.legend(**_beside_title(len(catalogs) + 3))


def _beside_title(columns: int) -> dict[str, Any]:
    """Place a legend in the line of the title, where nothing is drawn."""
    return {"loc": "lower right", "bbox_to_anchor": (1, 0.99), "ncols": columns, "frameon": False}


def _draw_drift(axes: Axes, catalogs: Sequence[tuple[str, list[SetFacts]]]) -> None:
    for (_, rows), color in zip(catalogs, COLORS, strict=False):
        known = [one for one in rows if one.drift is not None]
        moved = [float(one.drift or 0.0) for one in known]
        days: list[Any] = [one.made_at for one in known]
        axes.plot(days, moved, color=color, lw=1.5)
        _draw_marks(axes, days, moved, known, color)
    axes.set_ylabel("first five that changed")
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _draw_marks(
    axes: Axes, across: Sequence[Any], up: Sequence[float], rows: Sequence[SetFacts], color: str
) -> None:
    """Draw active sets as filled marks, rejected sets as hollow marks."""
    faces = [color if one.state != SetState.REJECTED else REJECTED for one in rows]
    axes.scatter(across, up, s=34, c=faces, edgecolors=color, linewidths=1.5, zorder=3)


def _days_across(panels: Sequence[Axes], sets: Sequence[SetFacts]) -> None:
    days = [one.made_at for one in sets]
    spare = max(timedelta(days=LEAST_DAYS) - (max(days) - min(days)), timedelta(days=1)) / 2
    for axes in panels:
        edges: list[Any] = [min(days) - spare, max(days) + spare]
        axes.set_xlim(edges[0], edges[1])
        axes.grid(color="#d0d7de", lw=0.6)

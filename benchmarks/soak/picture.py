"""The course of a run as a picture: latency, queue, memory and the database over time."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.soak.call import Timed
from benchmarks.soak.samples import Sample
from benchmarks.soak.verdict import by_call, percentiles

SLICE_S = 15.0


def draw(path: Path, calls: Sequence[Timed], samples: Sequence[Sample]) -> None:
    """Write the picture.

    Args:
        path: Where; its suffix says in which format.
        calls: Every call of the steady traffic.
        samples: Every look of the same time.
    """
    figure, axes = plt.subplots(2, 2, figsize=(12, 7), layout="constrained")
    _latency(axes[0][0], calls)
    _queue(axes[0][1], samples)
    _memory(axes[1][0], samples)
    _stores(axes[1][1], samples)
    for row in axes:
        for axis in row:
            axis.set_xlabel("minutes")
            axis.set_ylim(bottom=0)
            axis.grid(visible=True, alpha=0.3)
            axis.legend(loc="best", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _latency(axis: Axes, calls: Sequence[Timed]) -> None:
    axis.set_title("Latency from when a call was due, ms")
    last = max((one.at_s for one in calls), default=0.0)
    starts = [number * SLICE_S for number in range(int(last / SLICE_S) + 1)]
    slices = [by_call(one for one in calls if at <= one.at_s < at + SLICE_S) for at in starts]
    for call, colour in (("turn", "tab:blue"), ("context", "tab:orange")):
        found = [percentiles(grouped.get(call, [])) for grouped in slices]
        minutes = [(at + SLICE_S / 2) / 60 for at in starts]
        axis.plot(minutes, [one.p50 for one in found], color=colour, label=f"{call}, p50")
        axis.plot(minutes, [one.p95 for one in found], color=colour, linestyle="--", label=f"{call}, p95")


def _queue(axis: Axes, samples: Sequence[Sample]) -> None:
    axis.set_title("Queue")
    minutes = [one.at_s / 60 for one in samples]
    axis.plot(minutes, [one.age_s for one in samples], label="oldest due work, s")
    axis.plot(minutes, [one.due for one in samples], label="due, pieces", alpha=0.6)
    axis.plot(minutes, [one.running for one in samples], label="running, pieces", alpha=0.6)


def _memory(axis: Axes, samples: Sequence[Sample]) -> None:
    axis.set_title("Memory of each role's own, MB")
    for role in samples[-1].memory_mb if samples else ():
        axis.plot(
            [one.at_s / 60 for one in samples], [one.memory_mb.get(role, 0) for one in samples], label=role
        )


def _stores(axis: Axes, samples: Sequence[Sample]) -> None:
    axis.set_title("Database and connections")
    minutes = [one.at_s / 60 for one in samples]
    axis.plot(minutes, [one.database_mb for one in samples], label="database, MB")
    axis.plot(minutes, [one.connections for one in samples], label="connections")

"""Measure a quiet stack: processor time and memory of each process, liveness checks and commands.

python -m benchmarks.idle_stack [--quiet-s 60] [--root CHECKOUT]
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save
from benchmarks.soak.samples import descendants

SETTLE_S = 90
"""Seconds before the quiet minute: imports, first heartbeats, first looks, and the end of warming."""

TICKS = os.sysconf("SC_CLK_TCK")
ROOT = Path(__file__).parents[1]
COMMANDS = {"--help": ["--help"], "doctor --help": ["doctor", "--help"], "doctor": ["doctor"]}


def used_s(pid: int) -> float:
    """Processor time of a process and of its ended children, in seconds; 0 for no process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def pss_mb(pid: int) -> float:
    """Memory of a process, shared pages in proportion, in MB; 0 for no process."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))


def measure_quiet(stack: Stack, quiet_s: float) -> dict[str, dict[str, Any]]:
    """Measure each role's processes over a quiet time, with nobody who asks for anything."""
    time.sleep(SETTLE_S)
    stack.poll()
    pids = dict(stack.at.pids)
    before = {role: sum(map(used_s, descendants(pid))) for role, pid in pids.items()}
    began = time.monotonic()
    time.sleep(quiet_s)
    spent = time.monotonic() - began
    figures = {}
    for role, pid in pids.items():
        tree = descendants(pid)
        cpu_s = sum(map(used_s, tree)) - before[role]
        figures[role] = {
            "processes": len(tree),
            "cpu_ms": cpu_s * 1000,
            "percent_of_core": cpu_s / spent * 100,
            "pss_mb": sum(map(pss_mb, tree)),
        }
    return figures


def cpu_of(command: Sequence[str], environment: dict[str, str], cwd: Path = ROOT) -> float:
    """Processor time of a command and its children, in ms."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603 (our own commands)
        command, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def liveness_command(file: Path) -> list[str]:
    """Read the liveness check of the workers' containers, for a file of the measured process."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    kind, script = compose["services"]["dispatcher"]["healthcheck"]["test"]
    if kind != "CMD-SHELL":
        raise ValueError(kind)
    return ["sh", "-c", script.replace("/tmp/alive", str(file))]  # noqa: S108 (the path in the container)


def measure_commands(stack: Stack, root: Path) -> dict[str, float]:
    """Measure the least of five runs of each command of the command line and of the liveness check, in ms."""
    environment = {
        "AFTERTURN_DATABASE_URL": stack.at.database_url,
        "AFTERTURN_BROKER_URL": stack.at.broker_url,
    }
    python = [sys.executable, "-m", "afterturn"]
    alive = Path(stack.at.directory) / "alive"
    alive.touch()
    found = {"liveness check": min(cpu_of(liveness_command(alive), {}) for _ in range(5))}
    for name, given in COMMANDS.items():
        found[name] = min(cpu_of([*python, *given], environment, root) for _ in range(5))
    return found


def main() -> None:
    """Print both tables and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet-s", type=float, default=60)
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout whose commands are measured")
    given, console = parser.parse_args(), Console()
    with Stack(roles=tuple(StackRole)) as stack:
        quiet = measure_quiet(stack, given.quiet_s)
        commands = measure_commands(stack, given.root)
    total = {key: sum(one[key] for one in quiet.values()) for key in next(iter(quiet.values()))}
    table = Table(title=f"A quiet stack for {given.quiet_s:.0f} s: wanted 2 % of a core, API 120 MB")
    for column in ("role", "processes", "CPU, ms", "% of a core", "PSS, MB"):
        table.add_column(column, justify="right")
    for role, one in [*quiet.items(), ("all", total)]:
        table.add_row(
            role,
            str(one["processes"]),
            f"{one['cpu_ms']:.0f}",
            f"{one['percent_of_core']:.2f}",
            f"{one['pss_mb']:.0f}",
        )
    console.print(table)
    table = Table(title="CPU of commands, ms: wanted liveness 50, --help 500")
    table.add_column("command")
    table.add_column("CPU, ms", justify="right")
    for name, cpu_ms in commands.items():
        table.add_row(name, f"{cpu_ms:.0f}")
    console.print(table)
    save("idle_stack", {"quiet": quiet, "all": total, "commands_ms": commands})


if __name__ == "__main__":
    main()

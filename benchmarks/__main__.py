"""Run every benchmark, or the named ones: `python -m benchmarks [NAME …]`."""

import pkgutil
import subprocess
import sys
from pathlib import Path

HELPERS = {
    "__main__",
    "cache_replay",
    "focus_data",
    "focus_designs",
    "focus_prepared",
    "focus_reads",
    "gate_data",
    "gate_talks",
    "past_plans",
    "ranking_data",
    "real_model",
    "report",
    "rouge",
    "soak",
    "token_truth",
    "upgrade",
}


def names() -> list[str]:
    """Every module of this folder that measures something."""
    return sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))


def main() -> None:
    """Each in a process of its own: none inherits another's caches, threads or memory."""
    known = [name for name in names() if name not in HELPERS]
    wanted = sys.argv[1:] or known
    if unknown := set(wanted) - set(known):
        sys.exit(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    failed = []
    for name in wanted:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:  # noqa: S603
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

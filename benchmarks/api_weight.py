"""Measure the API process: its memory beside the worker's, and proof of what it never imports.

python -m benchmarks.api_weight
"""

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import save

ROOT = Path(__file__).parents[1]
PROBE = """
import importlib, resource, sys
{body}
heavy = [name for name in ("litellm", "celery", "kombu", "redis", "llm", "workers") if name in sys.modules]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, ",".join(heavy) or "none")
"""
PROCESSES = {
    "empty Python": "",
    "fastapi alone": "import fastapi",
    "our API, token ranks loaded": (
        "from api.app import make_app; make_app(); from context.tokens import count_text; count_text('warm')"
    ),
    "dispatcher": "import workers.dispatch",
    "worker's parent": "import workers.tasks; from llm.gateway import preload; preload()",
}


def weigh(body: str) -> tuple[int, str]:
    """Memory in MB, and which heavy packages were imported, of a fresh process."""
    probe = subprocess.run(  # noqa: S603 (our own interpreter and text)
        [sys.executable, "-c", PROBE.format(body=body)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        check=True,
    )
    memory, heavy = probe.stdout.split()
    return int(memory), heavy


def main() -> None:
    """Print the table and keep it as JSON."""
    table = Table(title="Memory of a process at rest, MB")
    table.add_column("process")
    table.add_column("MB", justify="right")
    table.add_column("of litellm, celery, kombu, redis, llm, workers it imports")
    results = {}
    for name, body in PROCESSES.items():
        memory, heavy = weigh(body)
        table.add_row(name, str(memory), heavy)
        results[name] = {"mb": memory, "imports": heavy}
    Console().print(table)
    save("api_weight", results)


if __name__ == "__main__":
    main()

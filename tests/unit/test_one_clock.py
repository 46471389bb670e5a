"""Only the database's clock decides: a process whose own is wrong by hours does no harm."""

import ast
from collections.abc import Iterator

from tests.data import ROOT
from tests.unit.sources import python_files

ALLOWED = {
    "api/turns/intake.py": "how far ahead of us a platform's own time may be",
    "api/context/request.py": "when a document was sent, shown and never compared",
    "api/turns/large_results.py": "the same of a tool's result",
    "api/artifacts/attachments.py": "the same of an upload",
    "workers/telemetry.py": "when a piece of work began or ended, shown by Flower and never compared",
    "models/telemetry/logging.py": "when a line of the log was written, shown and never compared",
    "llm/failures.py": "a provider's Retry-After may be a date, which means as long as it is from here",
}
"""Who may look at its own clock, and for what."""


def looks(code: str) -> Iterator[ast.Attribute]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = (node.value.id, node.attr)
            if name in {("datetime", "now"), ("datetime", "utcnow"), ("date", "today"), ("time", "time")}:
                yield node


def test_stored_times_are_written_and_compared_by_the_databases_clock() -> None:
    found = {
        str(file.relative_to(ROOT))
        for folder in ("api", "workers", "llm", "models")
        for file in python_files(folder)
        if any(looks(file.read_text()))
    }
    assert found - ALLOWED.keys() == set()
    assert ALLOWED.keys() - found == set(), "no reason is needed any more"

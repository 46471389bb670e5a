"""Each test is handed out once, and a shared stack's tests to one process."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

from tests.scheduling import StacksFirst

FILES = {
    "tests/acceptance/test_up.py": 2,
    "tests/acceptance/faults/test_disk.py": 1,
    "tests/acceptance/faults/test_models.py": 4,
    "tests/clients/test_chat.py": 3,
    "tests/integration/mcp/test_tools.py": 5,
    "tests/integration/test_work.py": 6,
    "tests/unit/test_tables.py": 9,
    "tests/unit/tokens/test_text.py": 3,
}
COLLECTED = [f"{file}::test_{number}" for file, tests in FILES.items() for number in range(tests)]
ORDER = [
    *("acceptance/faults", "acceptance", "clients"),
    *("integration/test_work.py", "integration/mcp/test_tools.py", "unit/test_tables.py"),
    "unit/tokens/test_text.py",
]


class Process:
    """A test process that notes what it is given."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.shutting_down = False
        self.done = 0
        self.gateway = SimpleNamespace(id="process")

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [COLLECTED[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


def run(number: int) -> list[Process]:
    """Let so many processes take a test in turns until nothing is left."""
    option = SimpleNamespace(loadscopereorder=True)
    config: Any = SimpleNamespace(option=option, getvalue=lambda _: [f"{number}*popen"])
    scheduler, processes = StacksFirst(config), [Process() for _ in range(number)]
    nodes: list[Any] = list(processes)
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, COLLECTED)
    scheduler.schedule()
    while scheduler.has_pending:
        for node in nodes:
            if node.done < len(node.given):
                scheduler.mark_test_complete(node, COLLECTED.index(node.given[node.done]))
                node.done += 1
    return processes


def test_one_process_runs_stacks_first_then_large_files_before_small() -> None:
    [alone] = run(1)
    starts = [f"tests/{start}" for start in ORDER]
    seen = dict.fromkeys(next(start for start in starts if test.startswith(start)) for test in alone.given)
    assert list(seen) == starts


def test_every_test_is_handed_out_once_and_a_stack_to_one_process() -> None:
    processes = run(3)
    assert Counter(test for process in processes for test in process.given) == Counter(COLLECTED)
    for folder in ("tests/acceptance/faults/", "tests/acceptance/test_", "tests/clients/"):
        assert sum(any(test.startswith(folder) for test in process.given) for process in processes) == 1

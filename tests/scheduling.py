"""The order in which test processes take files."""

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

STACKS = ("tests/acceptance/faults", "tests/acceptance", "tests/clients")
"""Folders whose tests share a whole stack: a second process with such tests would start another stack."""

ORDER = (*STACKS, "tests/integration", "")


class StacksFirst(LoadFileScheduling):  # type: ignore[misc]
    """Gives each folder of a shared stack to one process, then whole files.

    Tests of a stack wait for processes more than they compute, so they run beside the others, from the start.
    Short files that only compute come last: no process is left with a long wait while the others have ended.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        folder = file.rpartition("/")[0]
        return folder if folder in STACKS else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = min(self.workqueue, key=_place)
        self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


def _place(scope: str) -> int:
    """Return the place of a folder or file in the order; the larger comes first among equals."""
    return next(place for place, start in enumerate(ORDER) if scope.startswith(start))

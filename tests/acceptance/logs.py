"""What the processes of a stack have logged."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import wait_until


@dataclass(frozen=True)
class Logs:
    """The logs of a running stack, one a role.

    Attributes:
        directory: Where they are.
        soon_s: How long a line is waited for.
    """

    directory: Path
    soon_s: float

    def texts(self) -> dict[str, str]:
        """What every log holds now, by the file's name."""
        return {path.name: path.read_text(errors="replace") for path in self.directory.iterdir()}

    def lines_of(self, role: str) -> list[dict[str, Any]]:
        """What a process has logged; a line that is being written is left out."""
        whole, _, _ = (self.directory / f"{role}.log").read_text(errors="replace").rpartition("\n")
        return [json.loads(line) for line in whole.split("\n") if line.startswith("{")]

    def told_by(self, role: str, event: str) -> list[dict[str, Any]]:
        """The lines of such an event in a process's log."""
        return [line for line in self.lines_of(role) if line.get("event") == event]

    def outcomes(self, work_id: int) -> list[str]:
        """What workers said that came of a piece of work; they say it after their last commit for it."""
        return [line["outcome"] for line in self.told_by("worker", "work_done") if line["work_id"] == work_id]

    def is_ended(self, work_id: int) -> None:
        """Wait until a worker is done with a piece of work, also with one whose row is gone."""
        wait_until(lambda: self.outcomes(work_id), within_s=self.soon_s, what=f"the end of work {work_id}")

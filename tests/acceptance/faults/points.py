"""Trigger points: the moments of a life at which a process may die, found in a healthy one and then armed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOOKS = Path(__file__).with_name("triggers")
"""What a child imports at its start that makes it pass trigger points."""


@dataclass(frozen=True, order=True)
class Point:
    """One moment: what a process is about to do or has just done.

    Attributes:
        what: The process, a side, and the act.
        times: The how manyth such moment of the same life.
    """

    what: str
    times: int = 1

    @property
    def role(self) -> str:
        """The process that comes to it."""
        return self.what.partition(":")[0]

    def __str__(self) -> str:
        """Name it for a failure."""
        return self.what if self.times == 1 else f"{self.what}, {self.times}"


class Triggers:
    """The points that processes pass, and the one at which the first that comes by dies."""

    def __init__(self, place: Path) -> None:
        """Keep them in a directory of their own, which need not exist."""
        self._place, self._is_armed = place, False
        place.mkdir(exist_ok=True)
        self._passed.write_text("")

    @property
    def _passed(self) -> Path:
        return self._place / "passed"

    @property
    def _armed(self) -> Path:
        return self._place / "armed"

    def told(self, role: str) -> Mapping[str, str]:
        """What a process must be given."""
        return {"PYTHONPATH": str(HOOKS), "TRIGGERS": str(self._place), "TRIGGERS_AS": role}

    def begin(self) -> None:
        """Count from here on."""
        self._passed.write_text("")

    def found(self) -> list[Point]:
        """The points that were passed, in their order."""
        seen = Counter[str]()
        points = list[Point]()
        for line in self._passed.read_text().splitlines():
            seen[line] += 1
            points.append(Point(line, seen[line]))
        return points

    def open(self) -> list[str]:
        """The acts that were begun and have not ended."""
        acts = Counter(point.what.replace(": after ", ": before ", 1) for point in self.found())
        return [act for act, sides in acts.items() if sides % 2]

    def arm(self, point: Point) -> None:
        """Count from here on, and let who comes to this point die there."""
        self.begin()
        written = self._place / "written"
        written.write_text(f"{point.times} {point.what}")
        self._is_armed = True
        written.rename(self._armed)

    def disarm(self) -> bool:
        """Let nobody die any more. Returns whether somebody did."""
        self._is_armed = False
        try:
            self._armed.unlink()
        except FileNotFoundError:
            return True
        return False

    @property
    def is_armed(self) -> bool:
        """Whether somebody is to die, or has died, since it was disarmed last."""
        return self._is_armed

    @property
    def has_struck(self) -> bool:
        """Whether the armed point was come to."""
        return not self._armed.exists()

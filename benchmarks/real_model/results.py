"""Figures of one run: versions of summaries, their verdicts, and the facts that they keep."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.served.talks import Talk
from context.shadow.facts import PLANTED, holds, texts_of
from context.text.exact_values import extract_identifiers, normal
from context.types import JsonObject
from llm.settings import EXTRACTIVE

NOTHING = "nobody said"
STAND_IN = "stand-in"
CITATION = re.compile(r"\[\d+(?:[-,\u2013·][^\]\n]*)?\]")
"""Numbers of the messages that a point tells of; nobody said them."""


@dataclass
class Session:
    """One conversation in one stack.

    Attributes:
        talk: The conversation.
        name: Id of the session.
        posted: Times of the last accepted turn of each part.
        versions: All versions of its summary, oldest first.
        served: Share of the planted facts in the window of a request for each.
    """

    talk: Talk
    name: str
    posted: list[datetime] = field(default_factory=list)
    versions: list[JsonObject] = field(default_factory=list)
    served: list[float] = field(default_factory=list)

    @property
    def in_force(self) -> JsonObject | None:
        """The version that requests get."""
        return next((one for one in self.versions if one["state"] == "active"), None)

    def kept(self) -> tuple[int, int]:
        """Count planted facts in the notes in force, and those that the notes cover."""
        notes = self.in_force
        if notes is None:
            return 0, 0
        covered = [m for turn in self.talk.turns for m in turn.messages if m.seq <= notes["to_seq"]]
        said = "\n".join(texts_of(covered))
        facts = [planted.fact for planted in PLANTED if planted.fact in said]
        return sum(holds([notes["text"]], facts)), len(facts)

    def invented(self) -> list[str]:
        """Names and figures of the notes in force that stand nowhere in the conversation."""
        notes = self.in_force
        if notes is None:
            return []
        raws = (message.raw for turn in self.talk.turns for message in turn.messages)
        said = normal("\n".join([*raws, *(turn.text for turn in self.talk.turns)]))
        text = CITATION.sub("", notes["text"])
        return [name for name in extract_identifiers(text) if normal(name) not in said]

    def waits(self) -> list[float]:
        """Seconds from the last turn of a part to each stand-in after it."""
        made = [_time(one["created_at"]) for one in self.versions if one["method"] == STAND_IN]
        before = [[at for at in self.posted if at <= one] for one in made]
        return [(one - max(at)).total_seconds() for one, at in zip(made, before, strict=True) if at]


def _time(written: str) -> datetime:
    return datetime.fromisoformat(written)


def repaired(log: Path) -> list[JsonObject]:
    """Read from a worker's log the accepted drafts that were mended without a call."""
    mends = (json.loads(line) for line in log.read_text().splitlines() if '"notes_mended"' in line)
    return [
        mend
        for mend in mends
        if not mend["reason"] and any(mend[key] for key in ("dropped", "rules", "names", "carried"))
    ]


def summarize_run(sessions: Sequence[Session], log: Path) -> dict[str, Any]:
    """Add up the sessions of a stack."""
    versions = [one for session in sessions for one in session.versions]
    own = [one for one in versions if one["method"] != STAND_IN]
    by_model = [one for one in own if one["model"] != EXTRACTIVE]
    refused = [one for one in own if one["rejected_because"]]
    kept = [session.kept() for session in sessions]
    waits = [wait for session in sessions for wait in session.waits()]
    return {
        "summaries": len(own),
        "by the model": len(by_model),
        "accepted": len(own) - len(refused),
        "mended drafts": len(repaired(log)),
        "refused": dict(Counter(one["rejected_because"] for one in refused)),
        "stand-ins": len(versions) - len(own),
        "seconds to stand-in": [round(one) for one in sorted(waits)],
        "in force": dict(Counter(_maker(session.in_force) for session in sessions)),
        f"in force, {NOTHING}": sum(len(session.invented()) for session in sessions),
        "facts in notes": f"{sum(one for one, _ in kept)} of {sum(of for _, of in kept)}",
        "facts served": _mean([share for session in sessions for share in session.served]),
    }


def _maker(notes: JsonObject | None) -> str:
    return "none" if notes is None else f"{notes['method']} by {notes['model']}"


def _mean(shares: Iterable[float]) -> float | None:
    known = list(shares)
    return round(sum(known) / len(known), 3) if known else None


def show(sides: dict[str, dict[str, Any]]) -> None:
    """Print the sides beside each other."""
    print(f"\n{'':28} " + " ".join(f"{side:34}" for side in sides))
    for key in next(iter(sides.values())):
        print(f"{key:28} " + " ".join(f"{_cell(rows[key]):34}" for rows in sides.values()))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items()) or "-"
    if isinstance(value, list):
        return f"median {median(value)}, {value[0]} to {value[-1]}" if value else "-"
    return "-" if value is None else str(value)

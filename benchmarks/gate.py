"""What the summary gate refuses, by kind of draft: good ones in ten languages, and bad ones made by rule.

Run it from the repository's root: `python -m benchmarks.gate [--drafts FILE] [--leave-one-out]`.

Good drafts are those of the built-in summarizer and faithful rewritings of them. Bad ones change a number, a
name, a date or a negation, add points of another conversation or a false claim of work done, echo the prompt,
go on with the task, repeat one point, or drop a rule. *Refused* is the gate alone; *kept out* counts a draft
too whose spoiled line is gone, or whose rule is back, after mending. With `--leave-one-out` the share of
unsupported points is chosen for each kind on all others, and measured on that kind.

FILE holds JSON lines: `{"messages": [...], "draft": "...", "kind": "...", "spoiled": "..."}`; kinds of good
drafts begin with "good".
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.extractive_summaries import to_messages
from benchmarks.gate_data import Case, Talk, bad_cases, good_cases, read_talks
from benchmarks.report import save
from context.conversation.transcript import render_transcript
from context.summary.gate import DEFAULT_GATE, Covered, Draft, GateSettings, judge_summary
from context.summary.mending import mend_summary
from context.summary.others_words import users_language
from context.tokens.text import count_text
from context.types import JsonObject

GRID = (0.05, 0.15, 0.3)
"""Shares of unsupported points to choose from."""

_OTHER_STEP, _OTHER_START = 7, 13
"""Which talk lends its points to which."""


@dataclass
class Tally:
    """The drafts of one kind: how many, and of those how many were refused, and kept out."""

    drafts: int = 0
    refused: int = 0
    kept_out: int = 0

    def row(self) -> JsonObject:
        """As shares."""
        return {
            "drafts": self.drafts,
            "refused": round(self.refused / self.drafts, 4),
            "kept_out": round(self.kept_out / self.drafts, 4),
        }


def made_cases() -> Iterator[Case]:
    """Make all drafts."""
    talks = read_talks()
    for place, talk in enumerate(talks):
        other = talks[(place * _OTHER_STEP + _OTHER_START) % len(talks)]
        yield from good_cases(talk)
        yield from bad_cases(talk, other, place)


def read_cases(path: Path) -> Iterator[Case]:
    """Read drafts of a file."""
    for row in filter(None, path.read_text().split("\n")):
        drafted = json.loads(row)
        messages = to_messages(drafted["messages"])
        lines = render_transcript(messages)
        covered = Covered(lines, sum(one.tokens for one in messages), None, users_language(lines))
        talk = Talk(str(path), covered.language, covered, "")
        yield Case(talk, drafted["kind"], drafted["draft"], drafted.get("spoiled", ""))


def measure(
    cases: Iterable[Case], settings: GateSettings = DEFAULT_GATE, *, mends: bool = True
) -> dict[str, Tally]:
    """Judge drafts, each alone, and after mending where that is wanted."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for case in cases:
        draft = Draft(case.text, count_text(case.text), "stop")
        verdict = judge_summary(draft, case.talk.covered, settings)
        tally = tallies[case.kind]
        tally.drafts += 1
        tally.refused += not verdict.accepted
        tally.kept_out += mends and _is_kept_out(case, draft, settings)
    return dict(tallies)


def _is_kept_out(case: Case, draft: Draft, settings: GateSettings) -> bool:
    budget = max(case.talk.covered.tokens // 2, 60)
    mended = mend_summary(draft, case.talk.covered, settings, budget_tokens=budget, count=count_text)
    if not mended.verdict.accepted:
        return True
    if case.is_good or not case.spoiled:
        return False
    is_there = case.spoiled in mended.verdict.text
    return is_there if case.kind == "rule dropped" else not is_there


def leave_one_out(cases: list[Case]) -> JsonObject:
    """Choose the share on all kinds but one, and measure it on that one."""
    measured = {share: measure(cases, GateSettings(max_unsupported=share), mends=False) for share in GRID}
    kinds = list(measured[GRID[0]])
    left_out: JsonObject = {}
    for kind in kinds:
        best = max(GRID, key=lambda share, kind=kind: _worth(measured[share], kind))  # type: ignore[misc]
        tally = measured[best][kind]
        left_out[kind] = {"share": best, "refused": round(tally.refused / tally.drafts, 4)}
    return left_out


def _worth(tallies: dict[str, Tally], without: str) -> float:
    """The mean share of right verdicts over the other kinds."""
    others = [(kind, tally) for kind, tally in tallies.items() if kind != without]
    right = (
        1 - tally.refused / tally.drafts if kind.startswith("good") else tally.refused / tally.drafts
        for kind, tally in others
    )
    return sum(right) / max(len(others), 1)


def main() -> None:
    """Print and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drafts", type=Path)
    parser.add_argument("--leave-one-out", action="store_true")
    asked = parser.parse_args()
    cases = list(read_cases(asked.drafts) if asked.drafts else made_cases())
    results: JsonObject = {kind: tally.row() for kind, tally in measure(cases).items()}
    for kind, row in results.items():
        shares = f"refused {row['refused']:.3f}  kept out {row['kept_out']:.3f}"
        print(f"{kind:28} {row['drafts']:5} drafts  {shares}")
    good = [case for case in cases if case.is_good]
    refused = sum(row["refused"] * row["drafts"] for kind, row in results.items() if kind.startswith("good"))
    languages = {case.talk.language for case in cases}
    share = refused / max(len(good), 1)
    print(f"{len(cases)} drafts, {len(languages)} languages; good ones refused: {share:.4f}")
    if asked.leave_one_out:
        results["left_out"] = leave_one_out(cases)
        for kind, row in results["left_out"].items():
            print(f"left out: {kind:28} share {row['share']}  refused {row['refused']:.3f}")
    if asked.drafts is None:
        save("gate", results)


if __name__ == "__main__":
    main()

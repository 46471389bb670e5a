"""A plan from words alone takes a step for each thing that is asked for."""

import pytest

from context.catalog.types import Catalog, Entry, EntryKind
from context.ranking.index import build_index
from context.tool_plans.lexical import lexical_plan
from context.tool_plans.prompt import PlanMode

DEPOT = Catalog(
    tuple(
        Entry(name, EntryKind.PACK, name, description)
        for name, description in (
            ("crate.weigh", "Weigh a crate on the scales."),
            ("crate.move", "Move a crate to another hall."),
            ("label.print", "Print a label for a crate."),
        )
    )
)


def steps(intent: str, mode: PlanMode = PlanMode.PLAN) -> list[str]:
    return [step.tool for step in lexical_plan(intent, DEPOT, build_index(DEPOT), mode).steps]


@pytest.mark.parametrize(
    ("intent", "wanted"),
    [
        ("weigh the crate and print its label", ["crate.weigh", "label.print"]),
        ("print the label, then weigh the crate", ["label.print", "crate.weigh"]),
        ("weighing the crate comes first; then move it", ["crate.weigh", "crate.move"]),
        ("weigh the crate and the box", ["crate.weigh"]),
        ("how heavy is this box", ["crate.weigh"]),
    ],
)
def test_a_verb_of_the_catalog_asks_like_any_other(intent: str, wanted: list[str]) -> None:
    assert steps(intent) == wanted


def test_a_route_takes_one_step_whatever_is_asked_for() -> None:
    assert len(steps("weigh the crate and print its label", PlanMode.ROUTE)) == 1

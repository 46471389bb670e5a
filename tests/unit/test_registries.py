"""Each registry is one table: a new row, and nothing else, adds to it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from context.types import Wire
from context.wire.formats import FORMATS
from models.due_work.kinds import WorkKind, WorkQueue
from models.telemetry.counters import Counted
from tests.unit.sources import PACKAGES, parsed, place, python_files

Table = WorkKind | WorkQueue | Counted

CODE = python_files(*PACKAGES)
KINDS = "models/due_work/kinds.py"
HANDLERS = "workers/tasks.py"
WIRES = "context/wire/"
SHAPERS = {"context/shape/check.py", "context/shape/fit.py"}
"""Rules of providers for the messages of a format, one row each."""


def displays(file: Path) -> Iterator[list[ast.expr]]:
    """The members of each dict, set, list and tuple of a file; of a dict, the keys."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Dict):
            yield [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Set | ast.List | ast.Tuple):
            yield node.elts


def members_in(display: list[ast.expr], enum: type[Table]) -> set[str]:
    """The members of an enum among the members of a display, by name or by value."""
    values = {member.value: member.name for member in enum}
    named = {
        node.attr
        for node in display
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == enum.__name__
    }
    plain = {node.value for node in display if isinstance(node, ast.Constant)}
    return named | {values[value] for value in plain if isinstance(value, str) and value in values}


def tables_of(enum: type[Table]) -> dict[str, set[str]]:
    """The largest table of each file that has most members of an enum."""
    found = {
        place(file): max((members_in(display, enum) for display in displays(file)), key=len, default=set())
        for file in CODE
    }
    return {file: members for file, members in found.items() if len(members) > len(enum) / 2}


def test_a_kind_of_work_is_a_row_of_the_table_and_a_handler() -> None:
    assert tables_of(WorkKind) == {HANDLERS: {kind.name for kind in WorkKind}}


def test_a_task_of_a_kind_is_named_in_the_table_alone() -> None:
    tasks = {kind.task for kind in WorkKind}
    assert len(tasks) == len(WorkKind)
    texts = {
        place(file)
        for file in CODE
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Constant) and node.value in tasks
    }
    assert texts == {KINDS}


def test_a_queue_is_a_row_of_the_table() -> None:
    assert tables_of(WorkQueue) == {}


def test_a_count_is_a_row_of_the_table() -> None:
    assert tables_of(Counted) == {}


def is_told_apart(node: ast.AST) -> bool:
    """Say whether a part of a file decides by the name of a format: compares it, or looks it up."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(is_wire(inner) for side in sides for inner in (side, *ast.iter_child_nodes(side)))
    if isinstance(node, ast.Dict):
        return any(key is not None and is_wire(key) for key in node.keys)
    return isinstance(node, ast.MatchValue) and is_wire(node.value)


def is_wire(node: ast.AST) -> bool:
    """Say whether a part of a file is a member of `Wire`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Wire"


def test_formats_are_told_apart_in_their_folders_alone() -> None:
    found = {place(file) for file in CODE if any(map(is_told_apart, ast.walk(parsed(file))))}
    assert {file for file in found if not file.startswith(WIRES)} == SHAPERS


def test_a_format_is_a_folder_and_a_member_of_wire() -> None:
    folders = {file.parent.name for file in python_files("context/wire") if file.parent.name != "wire"}
    assert folders == {wire.value for wire in Wire}
    assert {wire: form.wire for wire, form in FORMATS.items()} == {wire: wire for wire in Wire}

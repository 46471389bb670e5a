"""Each migration says whether it expands or contracts, and one that expands leaves older code its schema.

The rule makes an upgrade without a stop possible: older code runs on the schema of an expanding step, forward
and back. A contracting step takes away what no code of the release before uses any more.
"""

import importlib.util
import io
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations

from afterturn.migrate import SCRIPTS

BASELINE = "0047"
FILES = [file for file in sorted((SCRIPTS / "versions").glob("*.py")) if not file.name.startswith(BASELINE)]

HARMLESS = re.compile(
    r"""
    create\ (table|sequence)\ | create\ index\ concurrently\ | drop\ index\ concurrently\ if\ exists\ |
    create\ (or\ replace\ )?function\ | comment\ on\ | insert\ into\ | update\ | select\ | with\ | set\ |
    begin\b | commit\b
    """,
    re.VERBOSE,
)
"""Beginnings of statements under which older code goes on; all others but ALTER TABLE are refused."""

HARMLESS_ACTION = re.compile(
    r"""
    validate\ constraint\ | alter\ (column\ )?\w+\ (set\ default\ |drop\ not\ null|set\ statistics\ ) |
    set\ \(| enable\ row\ level\ security
    """,
    re.VERBOSE,
)
ADDS_COLUMN = re.compile(r"add (?!constraint\b)(?:column )?(?:if not exists )?(?P<column>\w+) (?P<rest>.+)")
RESTRICTS = re.compile(r"\b(unique|primary key|references|check|generated)\b")
NEW_TABLE = re.compile(r"create table (\w+) ")
INDEX = re.compile(r"create (?:unique )?index \w+ on (\w+) ")
CHECK = re.compile(r"add constraint (?P<name>\w+) check \(\w+ in \((?P<values>[^()]*)\)\) not valid")
DROPS_CHECK = re.compile(r"drop constraint (?:if exists )?(?P<name>\w+)")


def load(file: Path) -> ModuleType:
    """A migration as a module."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def statements(step: ModuleType, way: str) -> list[str]:
    """The SQL of a way, a statement a text, in small letters and with single spaces."""
    written = io.StringIO()
    context = MigrationContext.configure(
        dialect_name="postgresql", opts={"as_sql": True, "output_buffer": written}
    )
    with Operations.context(context) as operations:
        # A step may ask the database about itself; without one the answer is nothing.
        bind: Any = operations.get_bind()
        bind.scalar = lambda *_: None
        getattr(step, way)()
    bare = re.sub(r"--[^\n]*", "", written.getvalue())
    return [" ".join(part.lower().split()) for part in bare.split(";") if part.strip()]


def actions(statement: str) -> list[str]:
    """The actions of an ALTER TABLE: what stands between commas outside of parentheses and quotes."""
    _, _, told = statement.removeprefix("alter table ").removeprefix("if exists ").partition(" ")
    found, depth, is_quoted = [""], 0, False
    for letter in told:
        is_quoted ^= letter == "'"
        depth += 0 if is_quoted else (letter == "(") - (letter == ")")
        if letter == "," and not depth and not is_quoted:
            found.append("")
        else:
            found[-1] += letter
    return [action.strip() for action in found]


def checks(texts: list[str]) -> dict[str, set[str]]:
    """The values that each check of a list allows, by its name."""
    found = [match for text in texts for match in CHECK.finditer(text)]
    return {match["name"]: set(re.findall(r"'([^']*)'", match["values"])) for match in found}


def breaks(up: list[str], down: list[str]) -> Iterator[str]:
    """The parts of an expanding step that older code may stumble over."""
    allowed, before = checks(up), checks(down)
    wider = {name for name, values in allowed.items() if values >= before.get(name, {None})}
    new = {found[1] for statement in up if (found := NEW_TABLE.match(statement))}
    for statement in up:
        if not statement.startswith("alter table "):
            index = INDEX.match(statement)
            if not HARMLESS.match(statement) and not (index and index[1] in new):
                yield statement
            continue
        for action in actions(statement):
            if not _is_harmless(action, wider):
                yield action


def _is_harmless(action: str, wider: set[str]) -> bool:
    if adds := ADDS_COLUMN.fullmatch(action):
        rest = adds["rest"]
        return not RESTRICTS.search(rest) and ("not null" not in rest or " default " in rest)
    if check := CHECK.fullmatch(action) or DROPS_CHECK.fullmatch(action):
        return check["name"] in wider
    return bool(HARMLESS_ACTION.match(action))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_step_says_whether_it_expands_or_contracts(file: Path) -> None:
    phase = getattr(load(file), "phase", None)
    assert phase in {"expand", "contract"}, f"{file.name} lacks `phase`; see docs/how-to/upgrade.md"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_expanding_step_leaves_older_code_its_schema(file: Path) -> None:
    step = load(file)
    if step.phase == "expand":
        assert list(breaks(statements(step, "upgrade"), statements(step, "downgrade"))) == []


@pytest.mark.parametrize(
    "statement",
    [
        "alter table session drop column model",
        "alter table session rename column model to chat_model",
        "alter table session rename to talk",
        "alter table session add column note text not null",
        "alter table session add note text not null",
        "alter table session add column note text unique",
        "alter table session add column note text default 'a, b' not null, drop column model",
        "alter table session alter column model set not null",
        "alter table session alter model type int",
        "alter table session add constraint ck check (last_seq > 0)",
        "alter table plan add constraint ck check (source in ('asked')) not valid",
        "alter table plan drop constraint if exists ck",
        "create unique index concurrently ix on session (model)",
        "create index ix on session (model)",
        "drop table session",
        "drop function forget",
        "drop index concurrently ix",
        "delete from session",
        "truncate session",
        "create trigger t before insert on session for each row execute function f()",
    ],
)
def test_what_older_code_would_stumble_over_is_found(statement: str) -> None:
    assert list(breaks([statement], []))


@pytest.mark.parametrize(
    "statement",
    [
        "alter table session add column note text",
        "alter table session add column note int not null default 0",
        "alter table session add column if not exists note numeric(10, 2), alter column model drop not null",
        "alter table session alter column model set default ''",
        "create table note (note_id int primary key, session_id text not null unique)",
        "create index concurrently ix on session (model)",
        "update session set model = ''",
    ],
)
def test_what_older_code_does_not_notice_is_let_through(statement: str) -> None:
    assert list(breaks([statement], [])) == []


def test_a_table_of_the_same_step_takes_any_index() -> None:
    table, index = "create table note (note_id int)", "create unique index ix on note (note_id)"
    assert list(breaks([table, index], [])) == []
    assert list(breaks([index], [])) == [index]


def test_a_check_may_allow_more_values_and_never_fewer() -> None:
    def replaced(values: str) -> list[str]:
        new = f"add constraint ck check (source in ({values})) not valid"
        return [f"alter table plan drop constraint if exists ck, {new}"]

    assert list(breaks(replaced("'a', 'b'"), replaced("'a'"))) == []
    assert list(breaks(replaced("'a'"), replaced("'a', 'b'")))
    assert list(breaks(replaced("'b', 'c'"), replaced("'a', 'b'")))

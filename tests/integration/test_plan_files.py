"""Plans of files: imported with their times, once, and exported as rows that import again."""

import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet
from sqlalchemy import text
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from context.priors.prior_set import PriorSet
from context.priors.score import bind_priors, score_priors
from context.priors.state import state_from_bytes
from models import database as session
from models.learning.prior_set import SetState
from models.learning.progress import find_counted
from models.learning.served_set import load_set
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.learning import NAME, catalog_document, learn_now, place, put, shuffled
from tests.integration.sealing import FIRST, Environment, tables_with_traces
from tests.unit.priors.plans import TOOLS

WORD = "zqxharbour"
NOW = datetime.now(UTC).replace(microsecond=0)


def row(intent: str = "play a song", *tools: str, days: float = 0, **more: Any) -> dict[str, Any]:
    at = (NOW - timedelta(days=days)).isoformat()
    return {"intent": intent, "tools": tools or ["play"], "outcome": "ok", "at": at, **more}


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in rows))
    return path


def run(*arguments: object, tenant: str = "first") -> Result:
    return CliRunner().invoke(app, ["plans", *map(str, arguments), "--tenant", tenant])


def stored(columns: str = "*", order: str = "outcome_seq") -> list[Any]:
    with session.read_transaction() as db:
        return list(db.execute(text(f"select {columns} from plan_history order by {order}")))  # noqa: S608


@pytest.mark.usefixtures("tenant_id")
def test_rows_become_plans_with_their_times_in_the_order_of_time_and_without_sessions(tmp_path: Path) -> None:
    rows = [
        row("newest", days=1, catalog="main", user_id="anna"),
        row("oldest", "find", "play", days=400, outcome=["error", "ok"]),
        row("open", days=3, outcome=None),
    ]
    result = run("import", write(tmp_path / "plans.jsonl", rows))
    assert (result.exit_code, result.output) == (0, "imported: 3, known before: 0, bad rows: 0\n")
    oldest, newest, unknown = stored()
    assert [one.intent for one in (oldest, newest, unknown)] == ["oldest", "newest", "open"]
    assert oldest.outcome_at == oldest.created_at == oldest.ready_at == NOW - timedelta(days=400)
    assert [(one["tool"], one["outcome"]) for one in oldest.steps] == [("find", "error"), ("play", "ok")]
    assert (newest.catalog, newest.user_id, newest.source, newest.method) == (
        "main",
        "anna",
        "imported",
        "reported",
    )
    assert (unknown.outcome_at, unknown.outcome_seq) == (None, None)
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from session")).scalar() == 0


@pytest.mark.usefixtures("tenant_id")
def test_a_file_imported_twice_doubles_nothing_and_equal_rows_are_plans_of_their_own(tmp_path: Path) -> None:
    file = write(tmp_path / "plans.jsonl", [row(), row(), row(id="a"), row(id="a"), row(user_id="anna")])
    assert "imported: 4, known before: 1" in run("import", file).output
    assert "imported: 0, known before: 5" in run("import", file).output
    write(file, [row("another"), row(), row()])
    assert "imported: 1, known before: 2" in run("import", file).output
    assert len(stored()) == 5


BAD = [row("good"), "{", row("bad", at="soon"), "", row("also good"), '{"intent": "\\udc80"}', "[]"]


@pytest.mark.usefixtures("tenant_id")
def test_bad_rows_are_named_by_line_and_the_others_go_in_or_with_strict_nothing(tmp_path: Path) -> None:
    file = write(tmp_path / "plans.jsonl", BAD)
    strict = run("import", file, "--strict")
    assert (strict.exit_code, stored()) == (1, [])
    result = run("import", file)
    assert result.exit_code == 1
    named = [line.partition(":")[0] for line in result.stderr.splitlines()]
    assert named == ["line 2", "line 3", "line 6", "line 7"]
    assert result.stdout == "imported: 2, known before: 0, bad rows: 4\n"
    assert [one.intent for one in stored()] == ["good", "also good"]


@pytest.mark.usefixtures("tenant_id")
def test_a_table_is_read_with_lines_inside_cells(tmp_path: Path) -> None:
    file = tmp_path / "plans.csv"
    lines = [
        b"\xef\xbb\xbfat,intent,tools,outcome",
        b'2026-11-01,"play\na song",find|play,ok|error',
        b"2026-11-02,too few",
        b"2026-11-03,\xff,play,ok",
        b"2026-11-04,last,play,",
    ]
    file.write_bytes(b"\n".join(lines) + b"\n")
    result = run("import", file)
    assert [line[:7] for line in result.stderr.splitlines()] == ["line 4:", "line 5:"]
    assert [(one.intent, len(one.steps)) for one in stored()] == [("play\na song", 2), ("last", 1)]
    file.write_text("when,intent\n")
    refused = run("import", file)
    assert (refused.exit_code, "'when'" in refused.output) == (2, True)
    assert run("import", tmp_path / "none.csv").exit_code == 2


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_what_is_exported_imports_again_and_is_the_same(tenant_id: UUID, tmp_path: Path, ending: str) -> None:
    rows = [row(f"intent {at}, “of|bars”\n", "a|b", "c", days=at, outcome=["ok", None]) for at in range(7)]
    run("import", write(tmp_path / "plans.jsonl", [*rows, row(user_id="anna", catalog="main")]))
    out = tmp_path / f"out.{ending}"
    result = run("export", "--out", out)
    assert (result.exit_code, f"{out}: exported plans: 8" in result.output) == (0, True)
    assert "known before: 8" in run("import", out).output
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    assert "imported: 8" in run("import", out, tenant="other").output
    columns = "intent, steps, features, catalog, user_id, created_at, outcome_at"
    told: dict[UUID, list[Any]] = {tenant_id: [], other: []}
    for owner, *values in stored(f"tenant_id, {columns}", "created_at, intent"):
        told[owner].append(values)
    assert told[tenant_id] == told[other]
    filtered = run("export", "--user-id", "anna", "--catalog", "main").stdout.splitlines()
    assert [json.loads(line)["user_id"] for line in filtered] == ["anna"]


@pytest.mark.usefixtures("tenant_id")
def test_a_parquet_table_of_another_system_is_read_in_its_own_types(tmp_path: Path) -> None:
    file = tmp_path / "plans.parquet"
    times = [datetime(2026, 11, 1, 9, 30, 0, 123456, tzinfo=UTC), None, datetime(2026, 11, 3, tzinfo=UTC)]
    columns = {
        "intent": pa.array(["play a song", "no time", "stop"]),
        "tools": pa.array([["find", "play"], ["play"], ["stop"]], pa.list_(pa.large_string())),
        "outcome": pa.array(["ok", "ok", None]).dictionary_encode(),
        "at": pa.array(times, pa.timestamp("ns", tz="Europe/Berlin")),
    }
    parquet.write_table(pa.table(columns), file)
    result = run("import", file)
    assert result.stderr.splitlines() == [
        "line 2: at: must be a time in ISO 8601, such as 2026-11-03T09:30:00Z"
    ]
    assert result.stdout == "imported: 2, known before: 0, bad rows: 1\n"
    first, last = stored()
    assert [step["outcome"] for step in first.steps] == ["ok", "ok"]
    assert (first.outcome_at, last.created_at, last.outcome_at) == (times[0], times[2], None)
    cells = {"intent": ["a"], "tools": ["find|play"], "outcome": ["ok|error"], "at": [date(2026, 11, 2)]}
    parquet.write_table(pa.table(cells), file)
    assert "imported: 1" in run("import", file).output
    assert [step["outcome"] for step in stored("*", "outcome_at")[1].steps] == ["ok", "error"]


@pytest.mark.usefixtures("tenant_id")
def test_a_file_that_is_no_table_of_plans_is_refused_whole(tmp_path: Path) -> None:
    file = tmp_path / "plans.parquet"
    parquet.write_table(pa.table({"intent": ["play"], "when": ["now"]}), file)
    unknown = run("import", file)
    assert (unknown.exit_code, "'when'" in unknown.output) == (2, True)
    for content in (b"", b"PAR1", json.dumps(row()).encode(), file.read_bytes()[:-9]):
        file.write_bytes(content)
        refused = run("import", file)
        assert (refused.exit_code, "no readable Parquet table" in " ".join(refused.output.split())) == (
            2,
            True,
        )
    assert stored() == []
    assert run("import", tmp_path / "none.parquet").exit_code == 2


@pytest.mark.usefixtures("tenant_id")
def test_without_its_library_parquet_is_refused_with_the_name_of_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "afterturn.plan_tables", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("export", "--out", tmp_path / "out.parquet")
    assert (result.exit_code, "`report`" in result.output) == (2, True)


def test_imported_plans_teach_with_their_age(tenant_id: UUID, tmp_path: Path) -> None:
    put(tenant_id, catalog_document())
    steady = [
        row(plan.intent, *(step.tool for step in plan.tools), days=30 - at / 10, catalog=NAME)
        for at, plan in enumerate(shuffled())
    ]
    old, new = TOOLS[0], TOOLS[1]
    moved = [row(f"{WORD} please {at}", old, days=900 - at, catalog=NAME) for at in range(12)]
    moved += [row(f"{WORD} please {at}", new, days=60 - at, catalog=NAME) for at in range(6)]
    run("import", write(tmp_path / "plans.jsonl", [*steady, *moved]))
    assert learn_now(tenant_id).startswith("set 1 active")
    with session.read_transaction() as db:
        counted = find_counted(Scope(db, tenant_id), NAME).state
        made = load_set(db, place(tenant_id), state=SetState.ACTIVE)
    assert counted is not None
    assert made is not None
    today = NOW.timestamp() // 86_400
    assert min(state_from_bytes(counted).days) < today - 60
    priors = score_priors(bind_priors(PriorSet.from_bytes(made.blob), TOOLS), f"{WORD} please")
    assert priors.support[new] > priors.support.get(old, 0.0)


def test_words_of_imported_plans_are_sealed_and_known_again(
    tenant_id: UUID, keys: Environment, tmp_path: Path
) -> None:
    keys.use(FIRST)
    file = write(tmp_path / "plans.jsonl", [row(f"find {WORD}", days=1), row(f"take {WORD}", days=2)])
    assert "imported: 2" in run("import", file).output
    assert tables_with_traces(WORD) == set()
    assert "known before: 2" in run("import", file).output
    assert WORD in run("export").stdout
    assert stored("count(*)", "1")[0][0] == 2
    del tenant_id


def test_plans_of_a_user_are_erased_with_the_user(client: TestClient, tmp_path: Path) -> None:
    run("import", write(tmp_path / "plans.jsonl", [row(f"find {WORD}", user_id="anna"), row("other")]))
    assert client.delete("/v1/users/anna").status_code == 200
    assert [one.intent for one in stored()] == ["other"]


@pytest.mark.usefixtures("tenant_id")
def test_ten_thousand_plans_take_seconds(tmp_path: Path) -> None:
    rows = [
        row(f"book a table for {at} people near street {at % 97}", "find", "book", days=at / 50)
        for at in range(10_000)
    ]
    file = write(tmp_path / "plans.jsonl", rows)
    spent = time.process_time()
    assert "imported: 10,000" in run("import", file).output
    assert time.process_time() - spent < 60, "5 to 11 s on a busy machine; much more where time outgrows rows"


@pytest.mark.usefixtures("tenant_id")
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    run("import", write(tmp_path / "plans.jsonl", [row()]))
    result = run("export", "--out", tmp_path / "none" / "out.csv")
    assert (result.exit_code, "No such file" in result.output) == (2, True)

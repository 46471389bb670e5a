"""A scrape of a large installation: no table of work, calls or priors is read whole."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, TextClause, text

from models import database as session
from models.snapshot import ACTIVE_SETS, ALIVE_S, DEAD_WORK, LIVE_WORK, OVER_CAPS, SPEND, WAITING

pytestmark = pytest.mark.usefixtures("one_day")

MANY = 50_000
FILL = """
    insert into due_work (tenant_id, kind, key, waits_for, waits_since, state, due_at)
    select :tenant, 'summarize', 's' || n, case when n % 2 = 0 then 'cap' else 'model' end, now(),
        case when n % 1000 = 0 then 'ready' when n % 1001 = 0 then 'dead'
        else 'idle' end, now() - n * interval '1 ms' from generate_series(1, :many) as n;
    insert into llm_call
        (tenant_id, purpose, model, state, charged_tokens, charged_usd, created_at, settled_at)
    select :tenant, 'summarize', 'm', 'ok', 10, 0.001, now() - n * interval '1 min', now()
    from generate_series(1, :many) as n;
    insert into prior_set
        (tenant_id, kind, name, version, state, watermark, evidence, evaluation, reason, blob, activated_at)
    select :tenant, 'ranking', 'c' || n % 10, n, case when n <= 10 then 'active' else 'superseded' end,
        0, 0, '{}', '', 'x', now() from generate_series(1, 5000) as n
"""


@pytest.fixture
def large(tenant_id: UUID, engine: Engine) -> None:
    """Tables in which nearly everything is idle, old or superseded, as they are after a year."""
    with engine.begin() as db:
        for statement in FILL.split(";\n"):
            db.execute(
                text(statement),
                {"tenant": tenant_id, "many": MANY} if ":many" in statement else {"tenant": tenant_id},
            )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
        db.execute(text("vacuum analyze due_work, llm_call, prior_set, tenant"))


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Every node of a plan."""
    return [plan, *(node for part in plan.get("Plans", []) for node in nodes(part))]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("statement", "table"),
    [
        (LIVE_WORK, "due_work"),
        (DEAD_WORK, "due_work"),
        (OVER_CAPS, "due_work"),
        (WAITING, "due_work"),
        (ACTIVE_SETS, "prior_set"),
        (SPEND, "llm_call"),
    ],
    ids=("live work", "dead work", "over caps", "waiting", "active sets", "spend"),
)
def test_a_scrape_reads_an_index_and_little_of_it(statement: TextClause, table: str) -> None:
    values = {"most": 20_000, "alive_s": ALIVE_S, "since": datetime.now(UTC).replace(hour=0, minute=0)}
    used = {name: value for name, value in values.items() if f":{name}" in statement.text}
    with session.read_transaction() as db:
        told = db.execute(text(f"explain (analyze, format json) {statement.text}"), used).scalar_one()
    scans = [node for node in nodes(told[0]["Plan"]) if node.get("Relation Name") == table]
    assert scans
    assert {scan["Node Type"] for scan in scans} <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
    read = sum(
        (scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"] for scan in scans
    )
    assert read <= 1_500

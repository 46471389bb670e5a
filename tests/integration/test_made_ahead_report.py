"""What was made ahead of use, used, spent and saved, in the usage and in the shadow report."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.__main__ import app
from models import database as session
from models.tenants.tenant import ensure_tenant, name_tenants

pytestmark = pytest.mark.usefixtures("one_day")

ROWS = [
    ("reading", "request", "text", 0, 7, 3, 52_000, 4_100),
    ("reading", "turn", "json", 2, 5, 1, 30_000, -600),
    ("plan", "request", "", 0, 1_200, 2_300, 610_000, 455_000),
    ("summary", "pause", "", 0, 4, 4, 9_000, 31_000),
    ("summary", "pause", "", 40, 90, 0, 800_000, 0),
]
"""Purpose, origin, kind, days ago, made, used, tokens spent, tokens saved."""


@pytest.fixture(autouse=True)
def counts(tenant_id: UUID) -> None:
    with session.transaction() as db:
        for purpose, origin, kind, days_ago, made, used, spent, saved in ROWS:
            db.execute(
                text(
                    "insert into speculation (tenant_id, day, purpose, origin, kind, made, used, "
                    "spent_tokens, saved_tokens) "
                    "values (:tenant_id, :day, :purpose, :origin, :kind, :made, :used, :spent, :saved)"
                ),
                {
                    "tenant_id": tenant_id,
                    "purpose": purpose,
                    "origin": origin,
                    "kind": kind,
                    "made": made,
                    "used": used,
                    "spent": spent,
                    "saved": saved,
                    "day": (datetime.now(UTC) - timedelta(days=days_ago)).date(),
                },
            )


def report(tenant: str, *arguments: str) -> list[list[str]]:
    """The cells of the rows of purposes, as the command prints them."""
    result = CliRunner().invoke(
        app, ["shadow", "report", "--tenant", tenant, *arguments], env={"COLUMNS": "120"}
    )
    assert result.exit_code == 0, result.output
    cells = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in result.output.splitlines()]
    return [row for row in cells if row[0] in {"reading", "plan", "summary"}]


def test_the_usage_sums_each_purpose_over_its_days(client: TestClient) -> None:
    sums = [
        {"purpose": "plan", "made": 1_200, "used": 2_300, "spent_tokens": 610_000, "saved_tokens": 455_000},
        {"purpose": "reading", "made": 12, "used": 4, "spent_tokens": 82_000, "saved_tokens": 3_500},
        {"purpose": "summary", "made": 4, "used": 4, "spent_tokens": 9_000, "saved_tokens": 31_000},
    ]
    assert client.get("/v1/usage").json()["made_ahead"] == sums
    today = datetime.now(UTC).date().isoformat()
    alone = client.get("/v1/usage", params={"from": today}).json()["made_ahead"]
    assert [one["made"] for one in alone] == [1_200, 7, 4]


def test_the_shadow_report_prints_the_same_sums(tenant_id: UUID) -> None:
    with session.transaction() as db:
        name = name_tenants(db, {tenant_id})[tenant_id]
        ensure_tenant(db, "idle")
    assert report(name) == [
        ["plan", "1,200", "2,300", "610,000", "455,000"],
        ["reading", "12", "4", "82,000", "3,500"],
        ["summary", "4", "4", "9,000", "31,000"],
    ]
    assert report(name, "--days", "1") == [
        ["plan", "1,200", "2,300", "610,000", "455,000"],
        ["reading", "7", "3", "52,000", "4,100"],
        ["summary", "4", "4", "9,000", "31,000"],
    ]
    assert report(name, "--days", "90")[-1] == ["summary", "94", "4", "809,000", "31,000"]
    assert report("idle") == []

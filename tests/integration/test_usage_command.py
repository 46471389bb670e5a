"""`afterturn usage` for an operator: of all tenants who it is, and of one tenant what for."""

import json

import pytest
from typer.testing import CliRunner

from afterturn.__main__ import app
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.test_usage_api import make_call

pytestmark = pytest.mark.usefixtures("one_day")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["usage", *arguments], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.usefixtures("empty_db")
def test_the_tenant_nearest_its_cap_is_found_without_its_name() -> None:
    """An alert says that a tenant has used up a cap; no metric says which."""
    with session.transaction() as db:
        small, large = (ensure_tenant(db, name) for name in ("small", "large"))
    make_call(small)
    for _ in range(3):
        make_call(large, purpose="plan")
    shown = run()
    charged = [line.split(":")[0] for line in shown.splitlines() if line.startswith("today")]
    assert charged == ["today, large", "today, small"]
    assert "summarize" in shown
    assert "plan" in shown
    alone = run("--tenant", "small")
    assert "plan" not in alone
    assert [line for line in alone.splitlines() if line.startswith("today")] == [
        line for line in shown.splitlines() if line.startswith("today, small")
    ]


@pytest.mark.usefixtures("empty_db")
def test_costs_are_json_for_scripts() -> None:
    with session.transaction() as db:
        tenant = ensure_tenant(db, "small")
    make_call(tenant)
    told = json.loads(run("--json"))
    (row,), (today,) = told["days"], told["today"]
    assert (row["purpose"], row["calls"], today["tenant"]) == ("summarize", 1, "small")
    assert row["price_usd"] == pytest.approx(today["usd"])
    assert today["usd"] > 0
    assert told["caps"]["caps"]["tenant_usd_per_day"] == 50


@pytest.mark.usefixtures("empty_db")
def test_without_a_call_it_says_so() -> None:
    shown = run().splitlines()
    assert shown[0] == "no calls"
    assert shown[1].startswith("today: 0 tokens of ")

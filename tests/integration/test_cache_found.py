"""What a provider should find in its cache, beside what turns report of it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.__main__ import app
from api.context.reported_usage import caches, learned_rule, shares
from context.providers.prompt_cache import cache_rule
from context.types import JsonObject
from models import database as session
from models.learning.cache_found import FoundSums, find_found
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.test_tools_context import TOOLS, names

pytestmark = pytest.mark.usefixtures("one_day", "forgetful")

MODEL = "gpt-4o"
LONG = "The pallet stands in hall seven and waits for its papers. " * 150

Usage = Callable[[int, int], JsonObject]

SHAPES: dict[str, Usage] = {
    "chat": lambda sent, cached: {
        "prompt_tokens": sent,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": cached},
    },
    "responses": lambda sent, cached: {
        "input_tokens": sent,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": cached},
    },
    "anthropic": lambda sent, cached: {
        "input_tokens": 20,
        "cache_creation_input_tokens": sent - cached - 20,
        "cache_read_input_tokens": cached,
        "output_tokens": 5,
    },
    "gemini": lambda sent, cached: {
        "promptTokenCount": sent,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": 5,
    },
}


@pytest.fixture
def forgetful() -> None:
    """Let a process that served another test know nothing of its tenants."""
    shares.forget()


class Platform:
    """A chat platform whose provider finds a share of what it should."""

    def __init__(
        self, client: TestClient, *, share: float = 1.0, shape: str = "chat", session_id: str = "s1"
    ) -> None:
        self.client, self.share, self.usage = client, share, SHAPES[shape]
        self.session_id, self.turns = session_id, 0

    def ask(self, question: str = "And now?", **fields: Any) -> dict[str, Any]:
        """The answer to a context request."""
        body = {"model": MODEL, "context_window": 64_000, "max_tokens": 1_000, **fields}
        body["messages"] = [{"role": "user", "content": question}]
        answer = self.client.post(f"/v1/sessions/{self.session_id}/context", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def turn(self, said: str = LONG, *, model: str = MODEL, usage: JsonObject | None = None) -> int:
        """Ask for a context, and report its turn. Returns what was expected of the cache."""
        answer = self.ask(said)
        expected: int = answer["utilization"]["cache"]["expected_tokens"]
        sent = answer["utilization"]["tokens"]["estimated"]
        self.report(said, model, usage or self.usage(sent, int(expected * self.share)))
        return expected

    def report(self, said: str, model: str, usage: JsonObject) -> None:
        self.turns += 1
        event = {
            "turn_id": f"t{self.turns}",
            "model": model,
            "messages": [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}],
            "usage": usage,
        }
        answer = self.client.post(f"/v1/sessions/{self.session_id}/turns", content=json.dumps(event))
        assert answer.status_code == 202, answer.text

    def printed(self) -> list[dict[str, Any]]:
        """The cache's part of the usage."""
        found: list[dict[str, Any]] = self.client.get("/v1/usage").json()["cache"]
        return found


def found(tenant_id: UUID, model: str = MODEL) -> FoundSums:
    with session.read_transaction() as db:
        return find_found(Scope(db, tenant_id), model)


def stands(tenant_id: UUID, *, expected: int, reported: int, days_ago: int = 0) -> None:
    """Let earlier reports say what the provider found."""
    with session.transaction() as db:
        db.execute(
            text(
                "insert into cache_found (tenant_id, day, model, reports, expected_tokens, reported_tokens, "
                "found_tokens) values (:tenant_id, :day, :model, 10, :expected, :reported, :reported) "
                "on conflict (tenant_id, day, model) do update set reports = 10, "
                "expected_tokens = excluded.expected_tokens, reported_tokens = excluded.reported_tokens, "
                "found_tokens = excluded.found_tokens"
            ),
            {
                "tenant_id": tenant_id,
                "day": (datetime.now(UTC) - timedelta(days=days_ago)).date(),
                "model": MODEL,
                "expected": expected,
                "reported": reported,
            },
        )
    shares.forget()


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_turn_reports_is_compared_with_what_its_request_expected(
    client: TestClient, tenant_id: UUID, shape: str
) -> None:
    platform = Platform(client, shape=shape, share=0.5)
    expected = [platform.turn() for _ in range(4)]
    assert expected[0] == 0
    sums = found(tenant_id)
    assert sums.reports == 3
    assert 0.9 * sum(expected) < sums.expected_tokens <= sum(expected)
    assert sums.found_tokens == sums.reported_tokens == sum(int(one * 0.5) for one in expected)
    assert 0.5 < sums.share < 1


def test_the_share_is_drawn_to_the_reports_and_is_in_the_answer(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client, share=0.0)
    shown = []
    for _ in range(6):
        platform.turn()
        shown.append(platform.ask()["utilization"]["cache"]["found_share"])
    assert shown[0] == 1.0
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] == round(found(tenant_id).share, 4) < 0.7


def test_more_than_expected_is_printed_and_counts_as_found(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    platform.turn()
    answer = platform.ask(LONG)
    expected, sent = (
        answer["utilization"]["cache"]["expected_tokens"],
        answer["utilization"]["tokens"]["estimated"],
    )
    platform.report(LONG, MODEL, SHAPES["chat"](sent, sent))
    sums = found(tenant_id)
    assert sums.share == 1.0
    assert sums.reported_tokens == sent > sums.expected_tokens
    assert sums.difference_tokens >= sent - expected


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 30_000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}},
        {"prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}},
        {"prompt_tokens": 3_600, "completion_tokens": 5},
        {"prompt_tokens": 3_600, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 10**9}},
        {"prompt_tokens": 3_600, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": -9}},
    ],
    ids=["several calls", "another request", "nothing of a cache", "more than was sent", "negative"],
)
def test_a_report_that_tells_nothing_of_the_request_teaches_nothing(
    client: TestClient, tenant_id: UUID, usage: JsonObject
) -> None:
    platform = Platform(client)
    platform.turn()
    assert platform.turn(usage=usage) > 0
    assert found(tenant_id).reports == 0


def test_the_answer_of_another_model_teaches_nothing(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    platform.turn()
    assert platform.turn(model="gpt-4.1") > 0
    assert found(tenant_id).reports == found(tenant_id, "gpt-4.1").reports == 0


def test_a_turn_without_a_request_of_its_own_teaches_nothing(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    for _ in range(2):
        platform.turn()
    before = found(tenant_id)
    platform.report("And now?", MODEL, SHAPES["chat"](3_600, 3_000))
    assert found(tenant_id) == before


def test_another_tenant_is_not_concerned(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client, share=0.0)
    for _ in range(3):
        platform.turn()
    assert found(tenant_id).reports == 2
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    client.headers["Authorization"] = f"Bearer {make_key(stranger)}"
    other = Platform(client)
    assert other.ask()["utilization"]["cache"]["found_share"] == 1.0
    assert other.printed() == []


def test_erasing_a_session_keeps_the_sums_as_the_ledgers(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    for _ in range(3):
        platform.turn()
    before = found(tenant_id)
    assert client.delete("/v1/sessions/s1").status_code == 200
    assert found(tenant_id) == before
    with session.read_transaction() as db:
        assert db.execute(text("select from session where cache_after_seq is not null")).all() == []


def test_old_reports_are_printed_and_no_longer_learned(client: TestClient, tenant_id: UUID) -> None:
    stands(tenant_id, expected=900_000, reported=0, days_ago=40)
    assert found(tenant_id) == FoundSums()
    assert Platform(client).printed() == []
    first = (datetime.now(UTC) - timedelta(days=50)).date()
    rows = client.get("/v1/usage", params={"from": str(first)}).json()["cache"]
    assert [(row["model"], row["difference_tokens"]) for row in rows] == [(MODEL, -900_000)]


def test_usage_and_both_commands_print_the_difference(client: TestClient, tenant_id: UUID) -> None:
    stands(tenant_id, expected=400_000, reported=220_000)
    assert Platform(client).printed() == [
        {
            "model": MODEL,
            "reports": 10,
            "expected_tokens": 400_000,
            "reported_tokens": 220_000,
            "found_tokens": 220_000,
            "difference_tokens": -180_000,
            "found_share": 0.6,
        }
    ]
    with session.read_transaction() as db:
        name = str(
            db.execute(text("select name from tenant where tenant_id = :id"), {"id": tenant_id}).scalar_one()
        )
    for command in (["usage", "--tenant", name], ["shadow", "report", "--tenant", name]):
        result = CliRunner().invoke(app, command, env={"COLUMNS": "120"})
        assert result.exit_code == 0, result.output
        [row] = [line for line in result.output.splitlines() if MODEL in line]
        assert [cell.strip() for cell in row.strip("│ ").split("│")] == [
            *(MODEL, "10", "400,000", "220,000", "-180,000", "60.0%")
        ]


def test_a_provider_that_finds_nothing_keeps_no_list_of_tools(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    for _ in range(3):
        platform.turn()
    assert len(names(platform.ask("hey, thanks!", tools=TOOLS))) == len(TOOLS)
    stands(tenant_id, expected=2_000_000, reported=0)
    assert names(platform.ask("hey, thanks!", tools=TOOLS)) == ["message"]


def test_the_found_share_changes_the_price_of_a_cached_token(tenant_id: UUID) -> None:
    assert learned_rule(tenant_id, MODEL).read_share == cache_rule(MODEL).read_share == 0.5
    stands(tenant_id, expected=450_000, reported=200_000)
    assert learned_rule(tenant_id, MODEL).read_share == pytest.approx(0.75)
    assert caches(tenant_id, MODEL)
    stands(tenant_id, expected=450_000, reported=0)
    assert not caches(tenant_id, MODEL)

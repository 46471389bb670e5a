"""Self-calibration: what platforms report corrects the next estimate, and nothing else does."""

import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from afterturn.conversations.formats import read_conversations
from api.context.reported_usage import SETTLED_OBSERVATIONS, calibrations
from api.settings import api_settings
from context.tokens import UNCALIBRATED, Calibration, Count, count_message, estimate, measure_message, total
from context.types import JsonObject
from models import database as session
from models.conversations.summary import NewSummary, store_summary
from models.providers.calibration import find_calibration, keep_calibration
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.data import session_file
from tests.integration.conftest import make_key

MODEL = "gpt-4o"
SYSTEM = "You answer for the depot at the north gate. Be brief and name your source."
WORDS = ["pallet", "gate", "customs", "paper", "truck", "Tuesday", "scale", "hall", "seven", "driver", "seal"]


class Platform:
    """A chat platform whose provider counts `factor` tokens where we count one; it reports every turn."""

    def __init__(
        self, client: TestClient, *, factor: float = 1.3, session_id: str = "s1", **facts: Any
    ) -> None:
        self.client, self.factor, self.session_id = client, factor, session_id
        self.facts: dict[str, Any] = {"model": MODEL, **facts}
        self.random = random.Random(7)  # noqa: S311 (words of a test)
        self.turns = 0

    def say(self, most: int) -> str:
        """Some words."""
        return " ".join(self.random.choices(WORDS, k=self.random.randint(most // 3, most)))

    def turn(self, **usage: Any) -> tuple[dict[str, Any], int]:
        """Ask for a context, send it, report the turn. Returns the context and the provider's count of it."""
        question = {"role": "user", "content": self.say(60)}
        context = self.context([question])
        sent = round(self.factor * (3 + sum(map(count_message, context["messages"]))))
        reply = {"role": "assistant", "content": self.say(300)}
        said = round(self.factor * count_message(reply))
        self.report([question, reply], {"prompt_tokens": sent, "completion_tokens": said, **usage})
        return context, sent

    def context(self, messages: Sequence[JsonObject]) -> dict[str, Any]:
        """Ask for the context of a request."""
        body = {"model": self.facts["model"], "context_window": 128_000, "max_tokens": 1_000}
        answer = self.client.post(
            f"/v1/sessions/{self.session_id}/context",
            json={**body, "system_prompt": SYSTEM, "messages": messages},
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def report(self, messages: Sequence[JsonObject], usage: JsonObject | None) -> JsonObject:
        """Tell that a turn ended."""
        self.turns += 1
        event = {"turn_id": f"t{self.turns}", "messages": messages, "usage": usage, **self.facts}
        answer = self.client.post(f"/v1/sessions/{self.session_id}/turns", content=json.dumps(event))
        assert answer.status_code == 202, answer.text
        return event


def known(tenant_id: UUID, model: str = MODEL) -> Calibration:
    with session.read_transaction() as db:
        return find_calibration(Scope(db, tenant_id), model)


def errors(answers: Sequence[tuple[dict[str, Any], int]]) -> list[float]:
    """How far our estimates were from the provider's counts."""
    return [abs(context["utilization"]["tokens"]["estimated"] - sent) / sent for context, sent in answers]


def test_the_estimate_comes_within_three_percent_of_a_foreign_tokenizer(
    client: TestClient, record_property: Callable[[str, object], None]
) -> None:
    platform = Platform(client)
    answers = [platform.turn() for _ in range(40)]
    record_property("error", [round(error, 3) for error in errors(answers)])
    assert median(errors(answers[:3])) > 0.2
    assert median(errors(answers[20:])) <= 0.03


def test_the_guarantee_covers_a_foreign_tokenizer_once_a_few_reports_told_of_it(
    client: TestClient, record_property: Callable[[str, object], None]
) -> None:
    platform = Platform(client)
    answers = [platform.turn() for _ in range(40)]
    under = [sent - context["certificate"]["input_tokens"] for context, sent in answers]
    record_property("short by", under)
    assert max(under[4:]) <= 0


def test_a_context_says_what_it_was_calibrated_with(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    first = platform.turn()[0]["utilization"]
    assert first["calibration"] == {"factor": 1.0, "observations": 0}
    for _ in range(5):
        platform.turn()
    now = platform.context([{"role": "user", "content": "?"}])["utilization"]["calibration"]
    learned = known(tenant_id)
    assert now == {"factor": round(learned.factor, 4), "observations": learned.observations}
    assert learned.observations >= 3


def test_another_model_starts_again(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    for _ in range(12):
        platform.turn()
    platform.facts["model"] = "gpt-4.1"
    other = platform.turn()[0]["utilization"]
    assert other["calibration"] == {"factor": 1.0, "observations": 0}
    assert known(tenant_id, "gpt-4.1") == UNCALIBRATED
    platform.factor = 1.0
    for _ in range(8):
        platform.turn()
    assert known(tenant_id, "gpt-4.1").factor == pytest.approx(1.0, abs=0.01)
    assert known(tenant_id).factor > 1.1


def test_another_tenant_is_not_concerned(client: TestClient) -> None:
    platform = Platform(client)
    for _ in range(8):
        platform.turn()
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    client.headers["Authorization"] = f"Bearer {make_key(stranger)}"
    assert known(stranger) == UNCALIBRATED
    other = Platform(client).turn()[0]["utilization"]["calibration"]
    assert other == {"factor": 1.0, "observations": 0}


GARBAGE: dict[str, JsonObject] = {
    "zero": {"prompt_tokens": 0},
    "negative": {"prompt_tokens": -5},
    "a word": {"prompt_tokens": "many"},
    "beyond a number": {"prompt_tokens": 10**30},
    "another request's": {"prompt_tokens": 90_000},
    "the new message alone": {"prompt_tokens": 40},
    "a contradiction": {"prompt_tokens_details": {"cached_tokens": 10**9}},
    "of a strange shape": {
        "prompt_tokens_details": [1],
        "completion_tokens_details": "x",
        "server_tool_use": 3,
    },
}


@pytest.mark.parametrize("case", [name for name in GARBAGE if name != "of a strange shape"])
def test_a_report_that_cannot_be_true_changes_nothing(client: TestClient, tenant_id: UUID, case: str) -> None:
    platform = Platform(client)
    for _ in range(6):
        platform.turn()
    before = known(tenant_id)
    assert before.observations
    platform.turn(**GARBAGE[case])
    assert known(tenant_id) == before


def test_a_report_of_a_strange_shape_is_accepted(client: TestClient) -> None:
    platform = Platform(client)
    for _ in range(3):
        platform.turn(**GARBAGE["of a strange shape"])


def test_a_second_delivery_teaches_nothing(client: TestClient, tenant_id: UUID) -> None:
    platform = Platform(client)
    for _ in range(4):
        platform.turn()
    context = platform.context([{"role": "user", "content": "?"}])
    sent = round(1.3 * sum(map(count_message, context["messages"])))
    event = platform.report(
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}], {"prompt_tokens": sent}
    )
    before = known(tenant_id)
    again = client.post("/v1/sessions/s1/turns", content=json.dumps(event))
    assert again.json()["duplicate"] is True
    assert known(tenant_id) == before


def swap_summary(tenant_id: UUID, through: int, words: str) -> None:
    """Put a summary in force that is about as large as what it covers."""
    count = count_message({"role": "user", "content": words})
    new = NewSummary(1, None, 1, through, words, count, count, "m", "normal", "1", "en")
    with session.transaction() as db:
        assert store_summary(Scope(db, tenant_id), "s1", new, activate=True)


def test_a_swap_of_the_summary_between_two_reports_is_no_measurement(
    client: TestClient, tenant_id: UUID
) -> None:
    platform = Platform(client)
    for _ in range(8):
        platform.turn()
    before = known(tenant_id)
    swap_summary(tenant_id, 2, platform.say(200))
    platform.turn()
    assert known(tenant_id) == before
    platform.turn()
    assert known(tenant_id) == before
    for _ in range(4):
        platform.turn()
    after = known(tenant_id)
    assert after.observations > before.observations
    assert before.factor < after.factor < 1.32


def test_reports_while_history_may_be_left_out_are_no_measurement(
    client: TestClient, tenant_id: UUID
) -> None:
    platform = Platform(client, context_window=1_200)
    for _ in range(4):
        platform.turn()
    before = known(tenant_id)
    for _ in range(8):
        platform.turn()
    assert known(tenant_id).observations <= before.observations + 2


def test_a_batch_of_turns_teaches_too(client: TestClient, tenant_id: UUID) -> None:
    lines, sent = [], 900
    for number in range(10):
        talk = [{"role": "user", "content": "why " * 20}, {"role": "assistant", "content": "late " * 80}]
        asked, answered = map(count_message, talk)
        usage = {"prompt_tokens": round(1.3 * (sent + asked)), "completion_tokens": 104}
        lines.append(
            {"session_id": "s1", "turn_id": f"t{number}", "messages": talk, "usage": usage, "model": MODEL}
        )
        sent += asked + answered
    body = "\n".join(map(json.dumps, lines))
    assert client.post("/v1/turns", content=body.encode()).status_code == 200
    assert known(tenant_id).factor > 1.02


def test_turns_of_many_sessions_at_once_teach_without_waiting(client: TestClient, tenant_id: UUID) -> None:
    platforms = [Platform(client, session_id=f"s{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda platform: [platform.turn() for _ in range(5)], platforms))
    learned = known(tenant_id)
    assert 1 <= learned.observations <= 32
    assert 1.0 < learned.factor < 1.32


def test_a_lesson_learned_from_what_is_out_of_date_is_dropped(tenant_id: UUID) -> None:
    first = Calibration(MODEL, 1.1, 1, 0.0)
    with session.transaction() as db:
        assert keep_calibration(Scope(db, tenant_id), UNCALIBRATED, first)
    with session.transaction() as db:
        assert not keep_calibration(Scope(db, tenant_id), UNCALIBRATED, Calibration(MODEL, 2.0, 1, 0.0))
    assert known(tenant_id) == first


def test_a_settled_model_is_sampled(client: TestClient, tenant_id: UUID) -> None:
    settled = Calibration(MODEL, 1.2, SETTLED_OBSERVATIONS, 0.01)
    with session.transaction() as db:
        keep_calibration(Scope(db, tenant_id), UNCALIBRATED, settled)
    platform = Platform(client)
    for _ in range(8):
        platform.turn()
    assert known(tenant_id).observations == SETTLED_OBSERVATIONS + 1
    assert calibrations.is_sampled_out(tenant_id, MODEL)
    calibrations.forget()
    platform.turn()
    assert known(tenant_id).observations == SETTLED_OBSERVATIONS + 2


def test_the_sampling_of_a_settled_model_ends_by_itself(
    client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session.transaction() as db:
        keep_calibration(
            Scope(db, tenant_id), UNCALIBRATED, Calibration(MODEL, 1.2, SETTLED_OBSERVATIONS, 0.01)
        )
    platform, clock, learned = Platform(client), time.monotonic, []
    for passed_s in (0.0, 0.0, 0.0, api_settings().calibration_settled_every_s + 1.0):
        monkeypatch.setattr(time, "monotonic", lambda passed_s=passed_s: clock() + passed_s)
        platform.turn()
        learned.append(known(tenant_id).observations - SETTLED_OBSERVATIONS)
    assert learned == [0, 1, 1, 2]


@pytest.mark.data
def test_a_recorded_sessions_usage_makes_its_later_contexts_known(
    client: TestClient, tenant_id: UUID, record_property: Callable[[str, object], None]
) -> None:
    """Each context is predicted with what was learned before it: what it grew by since the first report."""
    recorded = read_conversations(session_file())[0]
    model = next(event.model for event in recorded.events if event.model)
    first, last, grown, plain, corrected = 0, 0, Count(0, 0), [], []
    for event in recorded.events:
        factor = known(tenant_id, model).factor
        assert client.post("/v1/sessions/s1/turns", json=event.body()).status_code == 202
        counts = [measure_message(message) for message in event.messages]
        reported = (event.usage or {}).get("prompt_tokens", 0)
        if reported and reported < last:
            first = 0  # the platform compacted its own context
        if reported and not first:
            first, grown = reported, Count(0, 0)
        elif reported:
            guess = estimate(grown + total(counts[:-1]), model)
            if reported - first >= 1_000:
                actual = reported - first
                plain.append(abs(guess - actual) / actual)
                corrected.append(abs(guess * factor - actual) / actual)
        grown += counts[-1] if reported == first else total(counts)
        last = reported or last
    half = len(plain) // 2
    result = {"plain": median(plain[half:]), "corrected": median(corrected[half:])}
    record_property("error of later contexts", result)
    assert result["corrected"] <= 0.03, result
    assert result["corrected"] < result["plain"] / 2, result

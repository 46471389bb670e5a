"""Making plans: what small models fail at, what is tried then, and what is kept whatever happens."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.priors.prior_set import make_prior_set
from context.priors.state import State, learn
from context.priors.types import JoinedPlan, ToolOutcome
from llm.gateway import Gateway
from llm.requests import CompletionReply, CompletionRequest
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models import database as session
from models.due_work.queue import WorkKind, WorkState, enqueue
from models.learning.prior_set import NewSet, SetKind, SetPlace, SetState, keep_set
from models.ledger.caps import Caps
from models.scope import Scope
from tests.integration.planning import CATALOG, MODEL, Planning, tools_of
from tests.integration.works import make_due
from tests.unit.tool_plans.catalogs import MULTI_INTENT, SMALL_GUIDE
from workers.jobs.lifecycle import LEASE_LOST, Handler, run_work
from workers.jobs.tool_plan import make_plan
from workers.settings import WorkerSettings

pytestmark = pytest.mark.usefixtures("one_day")

UNSURE = "please do something about the text"


@pytest.fixture
def room(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Planning:
    """A small model that is asked once; what comes before that is for tests of its own."""
    server.reset()
    found = Planning(client, tenant_id, server)
    found.set_profile(filter_pass=False)
    return found


@pytest.fixture
def passing(room: Planning) -> Planning:
    """A small model that first chooses ids where ranking is unsure."""
    room.set_profile(filter_pass=True)
    return room


def answer(*tools: str, **head: Any) -> Step:
    """The model answers with these steps."""
    steps = [{"order": n, "tool": tool, "args": {}, "rationale": "r"} for n, tool in enumerate(tools, 1)]
    return Step(Mode.OK, json.dumps({"steps": steps, "gap": None, **head}))


def prompts(server: ScriptedServer) -> list[str]:
    return ["\n".join(message["content"] for message in seen.body["messages"]) for seen in server.requests]


def test_several_intents_behind_a_paste_are_planned_by_a_small_model(room: Planning) -> None:
    plan = room.make(MULTI_INTENT, Step(Mode.EMPTY_OVER, over_bytes=16_000))
    assert (plan.status, plan.method, plan.more_steps_likely) == ("ready", "llm", True)
    assert tools_of(plan) == ["memory.remember"]
    assert plan.compaction is not None
    assert plan.compaction["after_bytes"] <= 10_000 < plan.compaction["before_bytes"]
    assert plan.compaction["hidden"] > 0


def test_the_same_prompt_fails_uncompacted_and_is_asked_again_for_less(room: Planning) -> None:
    room.make_strong()
    silent = Step(Mode.EMPTY_OVER, over_bytes=16_000, times=2)
    plan = room.make(MULTI_INTENT, silent)
    assert tools_of(plan) == ["memory.remember"]
    assert plan.usage is not None
    assert (plan.usage["first_try"], plan.usage["calls"], plan.usage["failed_calls"]) == ("empty", 2, 1)
    first, second = prompts(room.server)
    assert len(first.encode()) > 16_000 >= len(second.encode())


def test_a_reliable_model_plans_all_of_it_at_once(room: Planning) -> None:
    room.make_strong()
    plan = room.make(MULTI_INTENT)
    assert tools_of(plan) == ["memory.remember", "blog.draft", "image.generate"]
    assert len(room.server.requests) == 1
    assert plan.call_ids


def test_a_model_that_keeps_a_schema_is_held_to_it(room: Planning) -> None:
    room.make_strong(strict_json=True)
    plan = room.make("draft a blog")
    [seen] = room.server.requests
    assert seen.body["response_format"]["json_schema"]["strict"] is True
    assert plan.steps[0]["args"] == {}


def test_a_model_without_schemas_gets_none(room: Planning) -> None:
    room.make("draft a blog")
    assert "response_format" not in room.server.requests[0].body


def test_two_plans_from_one_catalog_share_their_beginning_byte_for_byte(room: Planning) -> None:
    room.make_strong(prefix_cache=True)
    room.make("draft a blog")
    room.make(MULTI_INTENT, context="they like short texts")
    first, second = (seen.body["messages"][0] for seen in room.server.requests)
    assert first == second
    assert first["content"].startswith("<catalog>")


@pytest.mark.parametrize("mode", [Mode.FENCED, Mode.THINK, Mode.THINK_UNCLOSED])
def test_wrapping_around_an_answer_is_taken_off(room: Planning, mode: Mode) -> None:
    assert tools_of(room.make("draft a blog", mode)) == ["blog.draft"]


def test_an_invented_tool_becomes_a_gap(room: Planning) -> None:
    plan = room.make("fax it", answer("fax.send", "blog.draft"))
    assert tools_of(plan) == ["blog.draft"]
    assert plan.gap_warning == "the catalog has no 'fax.send'"


def test_a_tool_that_was_hidden_and_exists_is_no_gap(room: Planning) -> None:
    plan = room.make("draft a blog", answer("payment.refund"))
    assert tools_of(plan) == ["payment.refund"]


def test_a_pipeline_is_planned_instead_of_its_parts(room: Planning) -> None:
    room.put_catalog(SMALL_GUIDE)
    plan = room.make("draft a blog article and publish it", answer("blog.draft", "blog.publish"))
    assert tools_of(plan) == ["flow.blog"]


def test_a_route_is_one_pick(room: Planning) -> None:
    plan = room.make("draft a blog", answer("blog.draft", "image.generate"), mode="route")
    assert (plan.mode, tools_of(plan)) == ("route", ["blog.draft"])


@pytest.mark.parametrize(
    ("steps", "cause"),
    [
        ([Mode.EMPTY, Mode.EMPTY], "empty"),
        ([Mode.CUT_OFF, Mode.CUT_OFF], "truncated"),
        ([Mode.CONTENT_FILTER], "refused"),
        ([Mode.REFUSAL], "refused"),
        ([Step(Mode.OK, "Draft it first."), Step(Mode.OK, "Draft it first.")], "malformed"),
        ([Mode.EMPTY, Step(Mode.OK, '{"steps": [{"tool": "blog.dr')], "truncated"),
        ([Mode.CONTEXT_LENGTH, Mode.CONTEXT_LENGTH], "too-large"),
    ],
    ids=str,
)
def test_an_answer_that_is_none_fails_with_its_cause(room: Planning, steps: list[Any], cause: str) -> None:
    plan = room.make("draft a blog", *steps)
    assert (plan.status, plan.failure, plan.steps) == ("failed", cause, [])
    assert len(plan.call_ids) == len(steps)
    assert room.find_work(plan.plan_id) is None


def test_a_context_that_was_too_long_is_asked_again_for_less(room: Planning) -> None:
    plan = room.make("draft a blog", Mode.CONTEXT_LENGTH)
    assert tools_of(plan) == ["blog.draft"]
    first, second = prompts(room.server)
    assert len(second) < len(first)


def test_a_model_that_is_away_leaves_the_plan_wanted(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    assert room.do(plan_id, Mode.UNAVAILABLE).startswith("put off")
    assert room.plan(plan_id).status == "wanted"
    assert room.work(plan_id).last_error is not None
    document = room.client.get(f"/v1/plans/{plan_id}").json()
    assert document["due_work"]["state"] == "ready"
    assert "503" not in document["status"]


def test_a_plan_over_its_cap_waits(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    assert (
        room.do(plan_id, caps=Caps(tenant_tokens_per_day=200_000, tenant_usd_per_day=None))
        == "1 steps by llm"
    )
    second = room.ask("draft a blog")
    with session.transaction() as db:
        db.execute(text("update llm_call set charged_tokens = 200000"))
    assert room.do(second, caps=Caps(tenant_tokens_per_day=200_000)).startswith("put off")
    assert room.plan(second).status == "wanted"


def test_a_plan_that_waited_too_long_is_given_up_visibly(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    assert room.do(plan_id, wait_s=0) == "expired"
    assert (room.plan(plan_id).status, room.plan(plan_id).failure) == ("failed", "expired")
    assert room.server.count == 0


def test_a_plan_that_expires_keeps_its_last_error_and_what_it_cost(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    room.do(plan_id, Mode.UNAVAILABLE)
    make_due()
    assert room.do(plan_id, wait_s=0) == "expired"
    plan = room.plan(plan_id)
    assert "retry-backoff (server)" in str(plan.failure_detail)
    assert plan.usage is not None
    assert (plan.usage["calls"], plan.usage["failed_calls"], len(plan.call_ids)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("mode", "cause"), [(Mode.MISSING_MODEL, "missing-model"), (Mode.BAD_REQUEST, "invalid-request")]
)
def test_what_no_waiting_mends_ends_at_once_with_its_cause(room: Planning, mode: Mode, cause: str) -> None:
    plan = room.make("draft a blog", mode)
    assert (plan.status, plan.failure, len(plan.call_ids)) == ("failed", cause, 1)
    assert plan.failure_detail
    assert room.find_work(plan.plan_id) is None


def test_a_first_pass_that_finds_no_model_ends_the_plan(passing: Planning) -> None:
    plan = passing.make(UNSURE, Mode.MISSING_MODEL)
    assert (plan.failure, len(plan.call_ids)) == ("missing-model", 1)


def test_a_fallback_that_does_not_exist_leaves_the_plan_to_its_own_model(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    steps = (Mode.UNAVAILABLE, Mode.MISSING_MODEL)
    assert room.do(plan_id, *steps, llm_fallback_models="openai/other").startswith("put off")
    assert room.plan(plan_id).status == "wanted"


def test_the_builtin_model_plans_from_words_alone(room: Planning) -> None:
    plan = room.make(MULTI_INTENT, model="extractive")
    assert (plan.status, plan.method) == ("ready", "lexical")
    assert tools_of(plan) == ["memory.remember", "blog.draft", "image.generate"]
    assert room.server.count == 0


def test_a_first_pass_over_the_whole_catalog_helps_an_unsure_ranking(passing: Planning) -> None:
    picks = Step(Mode.OK, json.dumps({"ids": ["video.subtitle", "nothing.such"]}))
    plan = passing.make(UNSURE, picks, answer("video.subtitle"))
    first, second = prompts(passing.server)
    assert "video.subtitle: " in first
    assert "payment.refund: " in first
    assert '"name":"video.subtitle"' in second
    assert plan.compaction is not None
    assert plan.compaction["filter_pass"] == "used"
    assert plan.compaction["after_bytes"] <= 10_000
    assert tools_of(plan) == ["video.subtitle"]


@pytest.mark.parametrize(
    "broken", [Mode.EMPTY, Mode.SERVER_ERROR, Step(Mode.OK, "all of them"), Mode.REFUSAL]
)
def test_a_first_pass_that_fails_keeps_the_lexical_result(passing: Planning, broken: Mode | Step) -> None:
    plan = passing.make(UNSURE, broken, answer("blog.draft"))
    assert plan.compaction is not None
    assert plan.compaction["filter_pass"] == "failed"
    assert tools_of(plan) == ["blog.draft"]


def test_a_first_pass_that_chooses_nothing_has_not_failed(passing: Planning) -> None:
    plan = passing.make(UNSURE, Step(Mode.OK, '{"ids": []}'), answer("blog.draft"))
    assert plan.compaction is not None
    assert plan.compaction["filter_pass"] == "none"
    assert tools_of(plan) == ["blog.draft"]


def test_an_empty_answer_is_a_plan_that_found_nothing(room: Planning) -> None:
    plan = room.make(MULTI_INTENT, Step(Mode.OK, "[]"))
    assert (plan.status, tools_of(plan)) == ("ready", [])
    assert plan.gap_warning


def test_the_ledger_has_every_call_of_a_plan(passing: Planning) -> None:
    plan_id = passing.ask(UNSURE)
    work_id = passing.work(plan_id).work_id
    passing.do(plan_id, Step(Mode.OK, '{"ids": ["blog.draft"]}'), answer("blog.draft"))
    with session.read_transaction() as db:
        rows = db.execute(text("select call_id, purpose, work_id from llm_call order by call_id")).all()
    assert [row.purpose for row in rows] == ["rank", "plan"]
    assert [row.call_id for row in rows] == passing.plan(plan_id).call_ids
    assert {row.work_id for row in rows} == {work_id}


def test_a_plan_that_is_made_leaves_no_work_behind(room: Planning) -> None:
    plan = room.make("draft a blog")
    assert room.find_work(plan.plan_id) is None


def test_a_plan_that_is_answered_is_not_made_again(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    room.do(plan_id)
    with session.transaction() as db:
        enqueue(Scope(db, room.tenant_id), WorkKind.PLAN, str(plan_id))
    assert room.do(plan_id) == "answered before"
    assert room.server.count == 1


def test_a_plan_whose_lease_was_lost_is_left_to_whoever_has_it(room: Planning) -> None:
    """What a late worker made would end the work of the one that is at it."""
    plan_id = room.ask("draft a blog")
    gateway = Gateway(LlmSettings(llm_api_base=room.server.base_url, llm_api_key="sk-test"), Caps())

    def overtaken(request: CompletionRequest) -> CompletionReply:
        with session.transaction() as db:
            db.execute(text("update due_work set lease = gen_random_uuid() where kind = 'plan'"))
        return gateway.complete(request)

    handlers: dict[WorkKind, Handler] = {
        WorkKind.PLAN: lambda held: make_plan(held, complete=overtaken, most_wait_s=900)
    }
    assert run_work(room.work(plan_id).work_id, handlers, WorkerSettings()) == LEASE_LOST
    assert room.plan(plan_id).status == "wanted"
    assert room.work(plan_id).state == WorkState.RUNNING


def test_a_plan_of_an_erased_session_leaves_nothing(room: Planning) -> None:
    turn = {"turn_id": "t1", "messages": [{"role": "user", "content": "hello"}]}
    room.client.post("/v1/sessions/s1/turns", json=turn)
    plan_id = room.ask("draft a blog", session_id="s1")
    with session.transaction() as db:
        db.execute(text("delete from session"))
    assert room.do(plan_id) == "the plan is gone"
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from plan_history")).scalar() == 0


def test_a_catalog_that_changed_meanwhile_is_planned_from_as_it_was(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    room.put_catalog(SMALL_GUIDE)
    room.do(plan_id)
    assert "audio." in prompts(room.server)[0] or "blog.outline" in prompts(room.server)[0]


def test_a_catalog_that_is_gone_fails_the_plan(room: Planning) -> None:
    plan_id = room.ask("draft a blog")
    with session.transaction() as db:
        db.execute(text("delete from catalog"))
    assert room.do(plan_id) == "failed: catalog-gone"
    assert room.plan(plan_id).failure == "catalog-gone"


def test_the_words_of_a_plan_are_not_logged(room: Planning, capsys: pytest.CaptureFixture[str]) -> None:
    room.make("draft a blog about marigolds", Mode.REFUSAL)
    room.make("draft a blog about marigolds")
    captured = capsys.readouterr()
    assert "marigold" not in captured.out + captured.err


def test_a_plan_names_its_model_its_catalog_and_its_prompt(room: Planning) -> None:
    plan = room.make("draft a blog")
    assert (plan.model, plan.catalog, plan.source) == (MODEL, CATALOG, "asked")
    assert plan.usage is not None
    assert plan.usage["prompt"] == "plan-1/single"
    assert plan.usage["answered_by"]
    assert plan.duration_ms is not None


def learn_that(tenant_id: UUID, intent: str, tool: str, *, blob: bytes | None = None) -> None:
    """Put a set of priors in force: twenty plans for this, and as many for each of five other things."""
    others = ["mail.send", "repo.clone", "web.search", "audio.mix", "video.cut"]
    plans = [(intent, tool), *((f"please {other.replace('.', ' ')}", other) for other in others)]
    state = State()
    learn(
        state,
        [
            JoinedPlan(said, [ToolOutcome(used, ok=True)], day=20_000)
            for said, used in plans
            for _ in range(20)
        ],
    )
    made = blob or make_prior_set(state).to_bytes()
    new = NewSet(SetState.ACTIVE, made, 1, 40.0, {}, None, "test")
    with session.transaction() as db:
        keep_set(db, SetPlace(tenant_id, SetKind.RANKING, CATALOG), new, keep=3)


def test_what_was_learned_moves_a_plan_that_words_cannot_tell(room: Planning, tenant_id: UUID) -> None:
    intent = "zork the frobnicator"
    assert tools_of(room.make(intent, model="extractive")) == []
    learn_that(tenant_id, intent, "sheet.chart")
    assert tools_of(room.make(intent, model="extractive")) == ["sheet.chart"]


def test_what_was_learned_keeps_a_tool_in_a_small_catalog(room: Planning, tenant_id: UUID) -> None:
    intent = "zork the frobnicator"
    room.make(intent)
    learn_that(tenant_id, intent, "sheet.chart")
    room.make(intent)
    before, after = (
        next((line for line in prompt.splitlines() if line.startswith('{"name":"sheet.chart"')), "")
        for prompt in (prompts(room.server)[0], prompts(room.server)[-1])
    )
    assert len(before) < len(after), "a trimmed entry or none becomes a whole one"


def test_damaged_priors_cost_the_priors_and_never_the_plan(room: Planning, tenant_id: UUID) -> None:
    learn_that(tenant_id, "draft a blog", "sheet.chart", blob=b"damaged")
    assert tools_of(room.make("draft a blog")) == ["blog.draft"]

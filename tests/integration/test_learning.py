"""Learning from plans: what is counted, what takes effect, what is safe to do twice."""

import json
from threading import Thread
from uuid import UUID

import pytest
from sqlalchemy import text

from context.priors.prior_set import PriorSet
from context.priors.score import bind_priors, score_priors
from context.priors.state import state_from_bytes
from context.priors.types import JoinedPlan, feature_keys
from models import database as session
from models.due_work.queue import WorkKind, find_work
from models.learning.prior_set import (
    NewSet,
    SetState,
    activate_set,
    keep_set,
    roll_back,
)
from models.learning.progress import LearningCounts, find_counted, keep_counted
from models.learning.served_set import load_set
from models.learning.settings import LearningSettings
from models.plans.outcome import find_erased_plans, note_erased_plans
from models.scope import Scope
from models.telemetry.counters import Counted, flush, read_counts
from tests.integration.learning import (
    NAME,
    SETTINGS,
    catalog_document,
    in_force,
    learn_now,
    place,
    put,
    sets,
    shuffled,
    steps_of,
    store_plans,
    work_off,
)
from tests.integration.watching import forget_counts
from tests.unit.priors.plans import DAY, TOOLS, history, numbers_of, plan, went
from workers.jobs.learn.night import CATALOG, NIGHT, TENANTS, ask_for_the_night


def counted_numbers(tenant_id: UUID) -> tuple[object, ...]:
    with session.read_transaction() as db:
        data = find_counted(Scope(db, tenant_id), NAME).state
    assert data is not None
    return numbers_of(state_from_bytes(data))


@pytest.fixture
def taught(tenant_id: UUID) -> UUID:
    """A tenant with a catalog and enough plans to teach and to judge."""
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled())
    return tenant_id


def test_a_set_that_foresees_recent_plans_better_than_words_takes_effect(taught: UUID) -> None:
    assert learn_now(taught).startswith("set 1 active: better than words alone")
    (one,) = sets(taught)
    assert (one.state, one.version, one.is_kept) == ("active", 1, True)
    assert one.evaluation["new"]["recall_at_5"] > one.evaluation["words"]["recall_at_5"]
    assert one.drift is not None


def test_what_took_effect_is_what_plans_taught(taught: UUID) -> None:
    learn_now(taught)
    with session.read_transaction() as db:
        stored = load_set(db, place(taught), state=SetState.ACTIVE)
    assert stored is not None
    priors = score_priors(bind_priors(PriorSet.from_bytes(stored.blob), TOOLS), "forecast of rain")
    assert max(priors, key=priors.__getitem__) == "weather"


def test_the_newest_plans_judge_and_do_not_teach_yet(taught: UUID) -> None:
    learn_now(taught)
    taught_plans = counted_numbers(taught)[-1]
    assert taught_plans == len(history()) - SETTINGS.holdout(len(history()))


def test_learning_in_parts_counts_exactly_what_learning_at_once_counts(tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    plans = shuffled(20)
    for start in range(0, len(plans), 40):
        store_plans(tenant_id, plans[start : start + 40])
        learn_now(tenant_id)
    in_parts = counted_numbers(tenant_id)
    with session.transaction() as db:
        db.execute(text("delete from learning_state"))
    learn_now(tenant_id)
    assert counted_numbers(tenant_id) == in_parts


def test_without_new_plans_a_night_changes_nothing(taught: UUID) -> None:
    learn_now(taught)
    before = counted_numbers(taught)
    assert "too few" in learn_now(taught)
    assert counted_numbers(taught) == before
    assert len(sets(taught)) == 1


def test_a_set_that_is_no_better_is_rejected_with_its_numbers(taught: UUID) -> None:
    learn_now(taught)
    noise = [plan(f"nonsense{number}", TOOLS[number % len(TOOLS)]) for number in range(60)]
    store_plans(taught, noise)
    outcome = learn_now(taught)
    assert outcome.startswith("set 2 rejected: no better than")
    newest = sets(taught)[0]
    assert newest.state == "rejected"
    assert set(newest.evaluation) == {"words", "new", "in_force"}
    with session.read_transaction() as db:
        assert in_force(db, taught) == 1


def test_a_better_set_supersedes_the_one_in_force(tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(10, tools=TOOLS[:6]))
    assert learn_now(tenant_id).startswith("set 1 active")
    store_plans(tenant_id, shuffled(20, seed=2))
    assert learn_now(tenant_id).startswith("set 2 active: better than the set in force")
    assert [one.state for one in sets(tenant_id)] == ["active", "superseded"]


def test_few_plans_prove_nothing(tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(1))
    assert "too few to teach and to judge" in learn_now(tenant_id)
    assert sets(tenant_id) == []


def test_only_steps_whose_outcome_is_known_teach(tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    two = [JoinedPlan("forecast rain", [went("weather"), went("mail")], DAY)] * 3
    store_plans(tenant_id, two, known=1)
    store_plans(tenant_id, shuffled(4))
    learn_now(tenant_id)
    good = counted_numbers(tenant_id)[2]
    assert isinstance(good, dict)
    assert good["weather"] > good["mail"]


def test_a_plan_that_ends_in_two_parts_teaches_each_step_once(tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    whole = JoinedPlan("forecast rain", [went("weather"), went("mail", ok=False)], DAY)
    (plan_id,) = store_plans(tenant_id, [whole], known=1)
    store_plans(tenant_id, shuffled(4))
    learn_now(tenant_id)
    with session.transaction() as db:
        db.execute(
            text(
                "update plan_history set outcome_seq = nextval('plan_outcome_seq'),"
                " steps = cast(:steps as jsonb) where plan_id = :plan_id"
            ),
            {"plan_id": plan_id, "steps": json.dumps(steps_of(whole))},
        )
    more = shuffled(4, seed=3)
    store_plans(tenant_id, more)
    learn_now(tenant_id)
    in_two = counted_numbers(tenant_id)
    with session.transaction() as db:
        db.execute(text("delete from learning_state"))
    learn_now(tenant_id)
    assert counted_numbers(tenant_id) == in_two


def test_plans_that_name_no_catalog_are_learned_by_the_names_of_their_tools(tenant_id: UUID) -> None:
    store_plans(tenant_id, shuffled(), catalog=None)
    assert learn_now(tenant_id, "").startswith("set 1 active")


def test_one_tenant_learns_nothing_of_another(taught: UUID) -> None:
    with session.transaction() as db:
        other = db.execute(
            text("insert into tenant (name) values ('other') returning tenant_id")
        ).scalar_one()
    assert learn_now(other).startswith("0 new plans")
    learn_now(taught)
    assert sets(other) == []


def test_two_workers_at_once_count_everything_once(taught: UUID) -> None:
    outcomes: list[str] = []
    workers = [Thread(target=lambda: outcomes.append(learn_now(taught))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    at_once = counted_numbers(taught)
    assert sum(outcome.startswith("set ") for outcome in outcomes) == 1
    with session.transaction() as db:
        db.execute(text("delete from learning_state"))
    learn_now(taught)
    assert counted_numbers(taught) == at_once


def test_what_was_counted_meanwhile_by_another_is_not_overwritten(taught: UUID) -> None:
    with session.transaction() as db:
        scope = Scope(db, taught)
        assert keep_counted(scope, NAME, seen=0, counted=LearningCounts(7, b"theirs"))
        assert not keep_counted(scope, NAME, seen=3, counted=LearningCounts(9, b"late"))
        assert find_counted(scope, NAME).watermark == 7


def test_counts_that_cannot_be_read_are_counted_anew(taught: UUID) -> None:
    learn_now(taught)
    before = counted_numbers(taught)
    with session.transaction() as db:
        db.execute(text("update learning_state set state = 'garbage'"))
    learn_now(taught)
    assert counted_numbers(taught) == before


def test_another_half_life_counts_anew(taught: UUID) -> None:
    learn_now(taught)
    shorter = LearningSettings(learn_holdout_least=10, learn_half_life_days=5)
    learn_now(taught, settings=shorter)
    with session.read_transaction() as db:
        data = find_counted(Scope(db, taught), NAME).state
    assert data is not None
    assert state_from_bytes(data).half_life_days == 5


def test_in_observe_mode_a_better_set_takes_effect_when_later_plans_confirm_it(taught: UUID) -> None:
    observing = LearningSettings(learn_holdout_least=10, learn_observe_first=True)
    learn_now(taught, settings=observing)
    assert [one.state for one in sets(taught)] == ["observing"]
    store_plans(taught, shuffled(4, seed=5))
    learn_now(taught, settings=observing)
    states = {one.version: one.state for one in sets(taught)}
    assert states[1] == "active"
    with session.read_transaction() as db:
        assert in_force(db, taught) == 1


def test_erased_plans_are_forgotten_and_their_sets_serve_no_more(taught: UUID) -> None:
    learn_now(taught)
    with session.transaction() as db:
        db.execute(text("delete from plan_history where intent like '%forecast%'"))
        note_erased_plans(Scope(db, taught), {NAME: 3})
    learn_now(taught)
    with session.read_transaction() as db:
        assert find_erased_plans(Scope(db, taught), NAME) == 0
    newest, old = sets(taught)
    assert (old.state, old.is_kept) == ("rejected", False)
    assert newest.version == 2
    pairs = counted_numbers(taught)[0]
    assert isinstance(pairs, dict)
    assert not {feature for feature, _ in pairs} & set(feature_keys("forecast"))


def test_where_all_plans_are_erased_words_alone_are_left(taught: UUID) -> None:
    learn_now(taught)
    with session.transaction() as db:
        db.execute(text("delete from plan_history"))
        note_erased_plans(Scope(db, taught), {NAME: 96})
    assert "no plans are left" in learn_now(taught)
    with session.read_transaction() as db:
        assert in_force(db, taught) is None


def test_what_is_learned_holds_no_word_of_an_intent(taught: UUID) -> None:
    learn_now(taught)
    with session.read_transaction() as db:
        for table in ("prior_set", "learning_state"):
            rows = db.execute(text(f"select t::text from {table} as t")).scalars().all()  # noqa: S608
            assert rows
            assert not any("forecast" in row or "household" in row for row in rows)


def test_a_set_can_be_put_in_force_and_taken_out_again(taught: UUID) -> None:
    learn_now(taught)
    store_plans(taught, [plan(f"nonsense{number}", TOOLS[number % 8]) for number in range(60)])
    learn_now(taught)
    with session.transaction() as db:
        assert activate_set(db, place(taught), 2, reason="by hand")
        assert in_force(db, taught) == 2
        assert roll_back(db, place(taught), reason="by hand") == 1
        assert roll_back(db, place(taught), reason="by hand") is None
        assert in_force(db, taught) is None
        with pytest.raises(LookupError):
            roll_back(db, place(taught), reason="by hand")
        assert not activate_set(db, place(taught), 99, reason="by hand")


def test_only_the_newest_sets_keep_their_bytes(taught: UUID) -> None:
    few = LearningSettings(learn_holdout_least=10, learn_keep_sets=2)
    learn_now(taught, settings=few)
    for seed in range(4):
        store_plans(taught, [plan(f"nonsense{seed}{n}", TOOLS[n % 8]) for n in range(30)])
        learn_now(taught, settings=few)
    kept = {one.version: one.is_kept for one in sets(taught)}
    assert kept == {1: True, 2: False, 3: False, 4: True, 5: True}


def test_a_night_is_asked_for_once_whoever_ticks(taught: UUID) -> None:
    with session.transaction() as db:
        now = db.execute(text("select timestamptz '2030-01-02 04:00+00'")).scalar_one()
        early = now.replace(hour=1)
        assert not ask_for_the_night(db, taught, early, SETTINGS)
        assert ask_for_the_night(db, taught, now, SETTINGS)
        assert not ask_for_the_night(db, taught, now, SETTINGS)


def test_a_night_leads_from_the_installation_to_each_catalog(taught: UUID) -> None:
    soon = LearningSettings(learn_holdout_least=10, learn_spread_s=0)
    assert learn_now(taught, settings=soon, key=TENANTS) == "1 tenants asked to learn"
    assert work_off(taught, NIGHT, soon).startswith("1 catalogs to learn")
    assert work_off(taught, CATALOG + NAME, soon).startswith("set 1 active")
    assert work_off(taught, NIGHT, soon) == "not due"
    with session.read_transaction() as db:
        assert find_work(Scope(db, taught), WorkKind.LEARN, CATALOG + "other") is None


def test_what_was_given_up_in_a_night_is_tried_in_the_next(taught: UUID) -> None:
    """A deployment that failed at three o'clock must not be the end of all learning."""
    soon = LearningSettings(learn_holdout_least=10, learn_spread_s=0)
    learn_now(taught, settings=soon, key=TENANTS)
    work_off(taught, NIGHT, soon)
    with session.transaction() as db:
        db.execute(text("update due_work set state = 'dead', last_error = 'x' where key <> 'tenants'"))
    assert work_off(taught, NIGHT, soon) == "not due"
    learn_now(taught, settings=soon, key=TENANTS)
    assert work_off(taught, NIGHT, soon).startswith("1 catalogs to learn")
    assert work_off(taught, CATALOG + NAME, soon).startswith("set 1 active")


def judged(state: SetState) -> NewSet:
    return NewSet(state, b"a set", 1, 1.0, {}, None, "as judged")


def counted_in_vain() -> float:
    flush()
    with session.read_transaction() as db:
        known = {(name, labels): value for name, labels, value, _ in read_counts(db)}
    return known.get((Counted.PRIOR_SETS, ("ranking", "in vain")), 0.0)


def test_rejections_are_in_vain_from_the_third_in_a_row_on_and_not_by_hand(tenant_id: UUID) -> None:
    forget_counts()
    found = []
    rejected, active = SetState.REJECTED, SetState.ACTIVE
    for state in (active, rejected, rejected, rejected, rejected, active, rejected, rejected, rejected):
        with session.transaction() as db:
            version = keep_set(db, place(tenant_id), judged(state), keep=30, most_rejected=3)
            if version == 6:
                roll_back(db, place(tenant_id), reason="by hand")
        found.append(counted_in_vain())
    assert found == [0, 0, 0, 1, 2, 2, 2, 2, 3]

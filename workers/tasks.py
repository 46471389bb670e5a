"""The Celery tasks: an id in, a job called, a word for the log out."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from celery import current_task

from context.gate import GateSettings
from llm.gateway import complete
from llm.settings import llm_settings
from models.budget import budget_settings
from models.clock import present
from models.dead_work import redrive
from models.learning_settings import learning_settings
from models.retention_run import OPERATOR, RETENTION
from models.retention_settings import retention_settings
from models.session import transaction
from models.settings import artifact_settings, compression_settings, recall_settings
from models.shadow_settings import shadow_settings
from models.tenant import ensure_tenant
from models.work import WorkKind, want
from workers.app import app
from workers.jobs.context_plan import plan_contexts
from workers.jobs.learn import ask_for_the_night, learn
from workers.jobs.lifecycle import Handler, run_work
from workers.jobs.plan import make_plan
from workers.jobs.precompute import precompute_artifact
from workers.jobs.recall import index_session
from workers.jobs.relabel import relabel_session
from workers.jobs.shadow import judge_shadows
from workers.jobs.summarize import summarize_session
from workers.jobs.sweep import ARTIFACTS, ARTIFACTS_EVERY_S, CAPS, sweep
from workers.observe import settings_in_use, show_life
from workers.schedule import HINTED_UNTIL, TaskName
from workers.settings import precompute_settings, worker_settings

LATE_S = 60
"""So late does a hint still count. Workers that are slower than hints come find none but late ones: to pass
over all of them would be to do nothing at all."""


def _handlers() -> Mapping[WorkKind, Handler]:
    settings = compression_settings()
    thresholds = settings.thresholds
    return {
        WorkKind.SUMMARIZE: partial(
            summarize_session,
            complete=complete,
            llm=llm_settings(),
            thresholds=thresholds,
            gate=GateSettings(min_progress=thresholds.min_progress),
            activation=settings.activation_settings,
            ride_price_share=settings.ride_price_share,
        ),
        WorkKind.RECALL: partial(index_session, settings=recall_settings()),
        WorkKind.SWEEP: partial(
            sweep, llm=llm_settings(), caps=budget_settings().caps, cap_look_s=worker_settings().cap_look_s
        ),
        WorkKind.LEARN: partial(learn, settings=learning_settings()),
        WorkKind.PLAN: partial(make_plan, complete=complete, most_wait_s=worker_settings().plan_wait_s),
        WorkKind.ARTIFACT: partial(
            precompute_artifact,
            complete=complete,
            llm=llm_settings(),
            settings=precompute_settings(),
            ttl_s=artifact_settings().artifact_summary_ttl_s,
        ),
        WorkKind.RELABEL: partial(relabel_session, complete=complete, llm=llm_settings()),
        WorkKind.SHADOW: partial(judge_shadows, settings=shadow_settings()),
        WorkKind.CONTEXT_PLAN: partial(plan_contexts, complete=complete, llm=llm_settings()),
    }


def _do(work_id: int) -> str:
    """Do the work of the hint that led here, unless the hint was over long ago."""
    told = current_task.request.get(HINTED_UNTIL)
    until = datetime.fromisoformat(told) + timedelta(seconds=LATE_S) if told else None
    return run_work(work_id, _handlers(), worker_settings(), until=until)


@app.task(name=TaskName.SUMMARIZE)
def summarize(work_id: int) -> str:
    """Safe to run twice: the lease admits one worker, the commit compares the base."""
    return _do(work_id)


@app.task(name=TaskName.INDEX_RECALL)
def index_recall(work_id: int) -> str:
    """Safe to run twice: the index moves on by compare-and-set, from where it ends."""
    return _do(work_id)


@app.task(name=TaskName.SWEEP)
def sweep_tables(work_id: int) -> str:
    """Safe to run twice: it settles what is unsettled, and nothing else."""
    return _do(work_id)


@app.task(name=TaskName.READ_ARTIFACT)
def prepare_artifact(work_id: int) -> str:
    """Safe to run twice: the lease admits one worker, and what is stored is the same for the same content."""
    return _do(work_id)


@app.task(name=TaskName.PLAN)
def plan_intent(work_id: int) -> str:
    """Safe to run twice: the lease admits one worker, and a plan that is answered stays as it is."""
    return _do(work_id)


@app.task(name=TaskName.PLAN_CONTEXT)
def plan_context(work_id: int) -> str:
    """Safe to run twice: the lease admits one worker, and a plan that is there stays as it is."""
    return _do(work_id)


@app.task(name=TaskName.RELABEL)
def relabel(work_id: int) -> str:
    """Safe to run twice: the lease admits one worker, and a decision is labelled once."""
    return _do(work_id)


@app.task(name=TaskName.LEARN)
def learn_from_plans(work_id: int) -> str:
    """Safe to run twice: the lease admits one worker, and counts move on by compare-and-set."""
    return _do(work_id)


@app.task(name=TaskName.JUDGE_SHADOWS)
def judge_shadow_reads(work_id: int) -> str:
    """Safe to run twice: a record is judged once, and its digests go with it."""
    return _do(work_id)


@app.task(name=TaskName.TICK)
def tick() -> str:
    """Safe to run twice: both ask for the same row. Running at all proves that tasks are drained.

    What is regular is never given up: the next tick gives it another life.
    """
    show_life("worker", settings_in_use())
    with transaction() as db:
        operator = ensure_tenant(db, OPERATOR)
        redrive(db, operator)
        want(db, operator, WorkKind.SWEEP, "tables")
        want(db, operator, WorkKind.SWEEP, CAPS, delay_s=worker_settings().cap_look_s)
        ask_for_the_night(db, operator, present(db), learning_settings())
        want(db, operator, WorkKind.SWEEP, ARTIFACTS, delay_s=ARTIFACTS_EVERY_S)
        want(db, operator, WorkKind.SWEEP, RETENTION, delay_s=retention_settings().retain_every_s)
    return "asked for what is regular"

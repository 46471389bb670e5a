"""Learning from the command line: learn now, and report the results."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from pydantic import ValidationError

from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
)
from afterturn.priors import (
    describe_evaluation,
    describe_set,
    print_canary,
    print_changes,
    print_evaluation,
)
from context.types import JsonObject
from models.database import Transaction, transaction
from models.due_work.queue import Claim, WorkKind, claim, enqueue, find_work
from models.learning.prior_set import SetKind, SetState
from models.learning.progress import catalogs_with_outcomes
from models.learning.set_listing import SetFacts, list_sets
from models.learning.settings import LearningSettings
from models.scope import Scope
from models.telemetry.counters import flushing
from workers.jobs.learn.night import CATALOG, NIGHT, ask_for_catalogs, learn
from workers.jobs.learn.ranking import Trial, try_ranking
from workers.jobs.lifecycle import do_work, rules_of
from workers.settings import worker_settings

app = typer.Typer(help="Learn from plans now; show what learning brought.", add_completion=False)

Tenant = Annotated[str, typer.Option(help="Whose plans.")]
OneCatalog = Annotated[str | None, typer.Option(help="Only this catalog's plans.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]
Out = Annotated[Path, typer.Option(help="The picture: its ending says whether PNG or SVG.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Judge and print; store nothing.")]
HalfLife = Annotated[float | None, typer.Option(help="Days until a plan counts half, in this run.")]
Holdout = Annotated[float | None, typer.Option(help="Share of the newest plans that judge, in this run.")]
Examples = Annotated[
    int, typer.Option(min=0, help="Intents of a dry run that got better, and that got worse.")
]
Wait = Annotated[float, typer.Option(min=0, help="Seconds to wait for a worker with the same work.")]

MOST_SETS = 1_000
PAUSE_S = 0.2
NO_CATALOG = "(no catalog)"


@app.callback(invoke_without_command=True)
def learn_now(  # noqa: PLR0913 (each is an option of the command)
    context: typer.Context,
    *,
    tenant: Tenant = FIRST_TENANT,
    catalog: OneCatalog = None,
    dry_run: DryRun = False,
    half_life: HalfLife = None,
    holdout: Holdout = None,
    examples: Examples = 5,
    wait_s: Wait = 600,
    json: AsJson = False,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Learn from plans with new outcomes now, instead of at night.

    As at night: count new outcomes, judge the resulting set on the newest plans, and activate only a better
    set. Safe beside the nightly run: waits until a worker with the same work is done. A dry run counts all
    plans anew, judges, shows intents that got better and worse, and stores nothing.
    """
    if context.invoked_subcommand is not None:
        return
    settings = _settings(half_life, holdout)
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
    if dry_run:
        _try(owner, catalog, settings, None if json else examples)
        return
    with flushing():
        run = _LearnRun(owner, settings, time.monotonic() + wait_s, is_silent=json)
        if catalog is not None:
            names = [catalog]
        else:
            run.do("habits", NIGHT)
            with Scope.write(owner) as scope:
                names = ask_for_catalogs(scope)
        for name in names:
            if run.do(name or NO_CATALOG, CATALOG + name):
                run.show_newest(name)
    if json:
        print_json(run.told)
    raise typer.Exit(1 if run.failed else 0)


def _settings(half_life: float | None, holdout: float | None) -> LearningSettings:
    asked = {"learn_half_life_days": half_life, "learn_holdout_share": holdout}
    named: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    try:
        return LearningSettings(**named)
    except ValidationError as error:
        first = error.errors()[0]
        raise typer.BadParameter(f"{first['loc'][0]}: {first['msg']}") from None


def _try(tenant_id: UUID, catalog: str | None, settings: LearningSettings, examples: int | None) -> None:
    """Try the learning of each catalog; without a number of examples, print all that was found as JSON."""
    with Scope.read(tenant_id) as scope:
        names = [catalog] if catalog is not None else catalogs_with_outcomes(scope)
    if examples is None:
        print_json([_describe_trial(name, try_ranking(tenant_id, name, settings=settings)) for name in names])
        return
    if not names:
        print("no plan has an outcome yet")
    for name in names:
        trial = try_ranking(tenant_id, name, settings=settings)
        print(f"{name or NO_CATALOG}: dry run, nothing was stored: {trial.reason}")
        print_evaluation(trial.evaluation)
        if trial.evaluation:
            print_changes(trial.changes, examples)


def _describe_trial(name: str, trial: Trial) -> JsonObject:
    changes = list(map(asdict, trial.changes))
    rankings = describe_evaluation(trial.evaluation)
    return {"catalog": name, "reason": trial.reason, "rankings": rankings, "changes": changes}


@dataclass
class _LearnRun:
    """A run of learning from the command line, with its settings and its end."""

    tenant_id: UUID
    settings: LearningSettings
    ends_at: float
    is_silent: bool = False
    failed: bool = False
    told: list[JsonObject] = field(default_factory=list)

    def do(self, what: str, key: str) -> bool:
        """Do a piece of learning here, after a worker that is at it; print each outcome.

        Returns:
            True when a set was made.
        """
        made = False
        with Scope.read(self.tenant_id) as scope:
            found = find_work(scope, WorkKind.LEARN, key)
        told = found.finished_at if found else None
        while True:
            with transaction() as db:
                scope = Scope(db, self.tenant_id)
                enqueue(scope, WorkKind.LEARN, key)
                found = find_work(scope, WorkKind.LEARN, key)
                held = self._claim(db, found.work_id) if found else None
            if found and found.finished_at != told:
                told = found.finished_at
                made |= self._tell(what, f"by a worker: {found.last_outcome}", found.last_outcome or "")
            if held:
                outcome = do_work(held, {WorkKind.LEARN: self._learn}, worker_settings())
                return self._tell(what, outcome, outcome) or made
            if time.monotonic() > self.ends_at:
                self.failed = True
                return self._tell(what, "a worker is at it, or it waits for a retry", "") or made
            time.sleep(PAUSE_S)

    def _learn(self, held: Claim) -> str:
        return learn(held, settings=self.settings)

    @staticmethod
    def _claim(db: Transaction, work_id: int) -> Claim | None:
        """Lease the work in the transaction that asks for it, so that no worker comes before."""
        settings = worker_settings()
        return claim(
            db,
            work_id,
            lease_s=settings.lease_s,
            max_crashes=settings.max_crashes,
            rules=rules_of(settings),
        )

    def _tell(self, what: str, said: str, outcome: str) -> bool:
        self.told.append({"what": what, "outcome": said})
        if not self.is_silent:
            print(f"{what}: {said}")
        return outcome.startswith("set ")

    def show_newest(self, name: str) -> None:
        """Add the newest set of a catalog to its outcome."""
        with Scope.read(self.tenant_id) as scope:
            sets = list_sets(scope, kind=SetKind.RANKING, name=name, most=1)
        for one in sets:
            self.told[-1]["set"] = describe_set(one)
            if not self.is_silent:
                print_evaluation(one.evaluation)
                print_canary(one)


def _print_canaries(sets: Sequence[SetFacts]) -> None:
    for one in sets:
        if one.state == SetState.CANARY:
            print(f"{one.name}: set {one.version}")
            print_canary(one)


@app.command()
def report(
    out: Out = Path("learning.png"),
    tenant: Tenant = FIRST_TENANT,
    catalog: OneCatalog = None,
    data_dir: DataDir = DATA_DIRECTORY,
    json: AsJson = False,
) -> None:
    """Draw the results of learning: the newest night with intervals, and recall and drift by day."""
    if not json and out.suffix not in {".png", ".svg"}:
        raise typer.BadParameter(f"{out}: the picture ends in .png or .svg")
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
        sets = list_sets(Scope(db, owner), kind=SetKind.RANKING, name=catalog, most=MOST_SETS)
    judged = [one for one in sets if one.evaluation.get("new", {}).get("plans")]
    if json:
        print_json([describe_set(one) for one in judged])
        return
    _print_canaries(judged)
    if not judged:
        print(
            "nothing was judged yet: `afterturn learn` makes the first set, once enough plans have outcomes"
        )
        raise typer.Exit(1)
    try:
        from afterturn.learning_picture import draw  # noqa: PLC0415 (slow to import, and in no image)
    except ModuleNotFoundError as error:
        print(f"the package {error.name} is missing here: draw from a checkout, after `make venv`")
        raise typer.Exit(1) from None

    try:
        draw(judged, out)
    except OSError as error:
        raise typer.BadParameter(f"{out}: {error.strerror}") from None
    print(f"{out}: sets: {len(judged):,}, catalogs: {len({one.name for one in judged}):,}")

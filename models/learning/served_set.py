"""Sets of priors as they serve: the set in force, the canary of a share of sessions, and their bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog
from sqlalchemy import ColumnElement, RowMapping, select, text

from context.priors.canary import is_served
from context.priors.prior_set import PriorSet
from context.priors.score import BoundPriors, bind_priors
from context.priors.types import CorruptPriorsError
from models.database import Transaction
from models.encryption.keys import TextCipher, TextUnavailableError
from models.learning.prior_set import PriorSetRow, SetKind, SetPlace, SetState
from models.plans.from_turns import TurnPlan
from models.scope import Scope

log = structlog.get_logger()

WORDS_ALONE = 0
"""Version stored with a plan that no set ranked."""


@dataclass(frozen=True)
class StoredSet:
    """A usable set."""

    version: int
    blob: bytes
    watermark: int


@dataclass(frozen=True)
class ServedSets:
    """The sets of a catalog that serve now.

    Attributes:
        in_force: The version in force; None for words alone.
        canary: The version of the canary; None without one.
        share: Share of sessions served the canary.
        salt: Name of the canary, which decides the sessions.
    """

    in_force: int | None = None
    canary: int | None = None
    share: float = 0.0
    salt: str = ""

    def version_for(self, session_id: str | None) -> int | None:
        """Choose the version for a session, the same for all its requests; without one, the set in force."""
        if self.canary is None or session_id is None:
            return self.in_force
        return self.canary if is_served(session_id, salt=self.salt, share=self.share) else self.in_force


_SERVED = text(
    """
    select made.name, made.version, made.state, canary.share
    from prior_set as made
    left join prior_canary as canary on canary.tenant_id = made.tenant_id and canary.name = made.name
        and canary.version = made.version and made.state = 'canary' and canary.ends_at > now()
    where made.tenant_id = :tenant_id and made.kind = :kind and made.name = any(:names)
        and (made.state = 'active' or canary.share is not null)
    """
)
"""A canary serves no longer than it may, also where no worker ends it."""


def find_served_sets(scope: Scope, names: Sequence[str]) -> dict[str, ServedSets]:
    """Find the sets that rank now, by catalog; a catalog without any is left out."""
    values = {"kind": SetKind.RANKING.value, "names": list(names)}
    found: dict[str, ServedSets] = {}
    for row in scope.execute(_SERVED, **values).mappings():
        found[row["name"]] = _with_row(found.get(row["name"], ServedSets()), scope.tenant_id, row)
    return found


def name_prior_sets(scope: Scope, plans: Sequence[TurnPlan]) -> list[TurnPlan]:
    """Add to plans of turns the set of priors served to their session, unless a plan names its set.

    A catalog without any set, perhaps one of the client alone, is ranked by nothing that could be compared.
    """
    names = sorted({str(plan.row["catalog"]) for plan in plans if plan.row and _is_unnamed(plan)})
    served = find_served_sets(scope, names) if names else {}
    return [_named(plan, served) if _is_unnamed(plan) else plan for plan in plans]


def _is_unnamed(plan: TurnPlan) -> bool:
    return bool(plan.row and plan.row["catalog"] and plan.row["prior_set"] is None)


def _named(plan: TurnPlan, served: Mapping[str, ServedSets]) -> TurnPlan:
    row = plan.row or {}
    if row["catalog"] not in served:
        return plan
    version = served[row["catalog"]].version_for(plan.session_id)
    return replace(plan, row={**row, "prior_set": version or WORDS_ALONE})


def _with_row(known: ServedSets, tenant_id: UUID, row: RowMapping) -> ServedSets:
    if row["state"] == SetState.ACTIVE:
        return ServedSets(row["version"], known.canary, known.share, known.salt)
    salt = f"{tenant_id}/{row['name']}/{row['version']}"
    return ServedSets(known.in_force, row["version"], row["share"], salt)


def load_set(db: Transaction, place: SetPlace, *, state: SetState) -> StoredSet | None:
    """Load the newest set of a state, with the bytes; returns None without such a set.

    Raises:
        TextUnavailableError: The set is sealed, and the tenant's key is not available.
    """
    return _load(db, place, PriorSetRow.state == state)


def load_version(db: Transaction, place: SetPlace, version: int) -> StoredSet | None:
    """Load a version in any state, with the bytes; returns None without the version or its bytes.

    Raises:
        TextUnavailableError: The set is sealed, and the tenant's key is not available.
    """
    return _load(db, place, PriorSetRow.version == version)


def _load(db: Transaction, place: SetPlace, wanted: ColumnElement[bool]) -> StoredSet | None:
    row = db.execute(
        select(PriorSetRow.version, PriorSetRow.blob, PriorSetRow.watermark)
        .where(place.here(), wanted, PriorSetRow.blob.is_not(None))
        .order_by(PriorSetRow.version.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    blob = TextCipher(db, place.tenant_id).open_bytes(
        "prior_set.blob", row.blob or b"", *place.row(row.version)
    )
    return StoredSet(row.version, blob, row.watermark)


def load_bound_priors(
    db: Transaction, place: SetPlace, version: int, entry_ids: Sequence[str]
) -> BoundPriors | None:
    """Load a version for a catalog's entries; returns None when words alone rank.

    An unreadable set is passed over: a request is never refused for an unreadable set.
    """
    try:
        found = load_version(db, place, version)
        return bind_priors(PriorSet.from_bytes(found.blob), entry_ids) if found else None
    except (CorruptPriorsError, TextUnavailableError) as error:
        log.warning("prior_set_unreadable", because=error.message)
        return None

"""Sets of priors of a catalog over HTTP: list them, and go back to the set before."""

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.catalogs import PriorSetEntry, PriorSets, SetInForce
from api.catalogs.routes import CatalogName
from api.http.call import Body, BodyCall, documented
from api.http.errors import ProblemError, committed, not_found
from models.database import Transaction, read_transaction
from models.learning.prior_set import OtherSetError, SetKind, SetPlace, roll_back
from models.learning.set_listing import list_sets
from models.tenants.tenant import Caller

router = APIRouter(prefix="/v1/catalogs", tags=["catalogs"])

MOST_SETS = 50


class SetToRollBack(Body):
    """The set to take out of force."""

    version: int = Field(
        ge=1,
        description="The set in force, as the caller knows it. Another one in force is a conflict, so that a "
        "repeated call takes no second set back.",
    )


@router.get("/{name}/priors", **answers(PriorSets, "list_priors", "List sets of priors"))
def show_priors(name: CatalogName, call: BodyCall) -> Response:
    """Answer with the newest sets of priors for a catalog's rankings: figures, judgement, and times."""
    caller = call.caller("read")
    with read_transaction() as db:
        found = list_sets(db, caller.tenant_id, kind=SetKind.RANKING, name=name, most=MOST_SETS)
    names = PriorSetEntry.model_fields
    answer = {"sets": [{field: getattr(one, field) for field in names} for one in found]}
    return Response(orjson.dumps(answer), media_type="application/json")


@router.post(
    "/{name}/priors/rollback",
    openapi_extra=documented(SetToRollBack),
    **answers(SetInForce, "roll_back_priors", "Roll back the set of priors in force"),
)
def roll_back_priors(name: CatalogName, call: BodyCall) -> Response:
    """Take the set in force out of use: the set before serves again, or words alone.

    The set keeps its evaluation; the key and the time are added to its reason.
    """
    caller, wanted = call.caller("admin"), call.body(SetToRollBack)
    place = SetPlace(caller.tenant_id, SetKind.RANKING, name)

    def go_back(db: Transaction) -> int | None:
        reason = f"taken out of force {_by(caller)}"
        return roll_back(db, place, reason=reason, version=wanted.version)

    try:
        before = committed(go_back)
    except OtherSetError as error:
        raise ProblemError(
            "priors-conflict",
            f"version: set {error.version} is in force and not set {wanted.version}; nothing was changed",
            field="version",
            in_force=error.version,
        ) from None
    except LookupError:
        raise not_found("set of priors in force") from None
    return Response(orjson.dumps({"in_force": before}), media_type="application/json")


def _by(caller: Caller) -> str:
    """Name the key of a deed; the key itself is never shown."""
    return f"over HTTP by key {caller.key_id}"
